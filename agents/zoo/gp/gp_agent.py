"""What all Gaussian-process agents share: a belief, a scale of rewards, a way to choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from agents.base import Experience, Problem, is_news, time_of
from agents.checks import number, positive
from agents.gp import (
    UCB,
    Actions,
    ContextSquaredExponential,
    InContext,
    InThisContext,
    Kernel,
    Mixture,
    Normaliser,
    Posterior,
    Prediction,
    Predictive,
    fit,
    from_state,
    make_posterior,
    parse_beta,
    to_state,
)
from agents.gp.parameters import free_parameters, get, put
from agents.gp.posteriors.mixture import make_members
from agents.saving import Saveable
from agents.zoo.gp.prior import (
    action_kernel_of,
    actions_of,
    context_columns,
    finite_context,
    first_normaliser,
    noise_variance_of,
    same_actions,
)
from agents.zoo.gp.training import random_stretches

Array = NDArray[np.float64]

FIRST_REWARDS = 10
"""Rewards seen before a scale is set, where nothing is known about it."""


class GPAgent(Saveable):
    """Upper confidence bounds on a Gaussian process; subclasses choose the time kernel.

    Rewards are brought to the scale of the prior (mean 0, variance 1) once and for all: by
    ``prior_mean`` and ``prior_scale`` if they are given, by the warm start if there is one, by the
    problem's ``reward_scale`` if it tells one, otherwise by the first ten rewards, until which
    actions are chosen for their uncertainty alone. (The paper does not say how it normalises.)
    Every ``act`` counts as a step of the exploration schedule.

    With ``context_length_scale`` the agent looks at the contexts that an observation shows: the
    reward is f(action, context, t), its kernel that of the agent times a squared exponential over
    contexts [@krause2011contextual]. The posterior is exact, and grows with time. Past decisions of
    a warm start have no contexts; they then set the scale of the rewards and are not learned from.

    Args:
        problem: What is known.
        rng: Breaks ties.
        clock: Time kernel.
        action_kernel: "se", "matern" or "linear"; arms without coordinates are independent.
        length_scale: Of the action kernel, in the unit of the action coordinates.
        nu: Smoothness of "matern".
        beta: Exploration: "paper", "calm", "printed", "theorem" (that is, "finite" or "box"),
            "constant:VALUE" or a number (``parse_beta``).
        noise_variance: On the scale of the prior; by default the problem's (at least 1e-6), or the
            paper's 0.5.
        prior_mean: Of the rewards before anything is seen, in their unit; with ``prior_scale``.
        prior_scale: Standard deviation of the mean rewards before anything is seen.
        fit_warm_start: Whether to fit length-scales, noise and the scale of the rewards to the warm
            start by evidence.
        engine: "auto", "state-space" or "incremental"; ``agent.posterior.name`` says which it is.
        context_length_scale: Of the reward over contexts, in their unit; None ignores contexts.
    """

    posterior: Posterior
    _view: Predictive

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        clock: Kernel,
        action_kernel: str = "se",
        length_scale: float = 1.0,
        nu: float = 2.5,
        beta: str | float = "paper",
        noise_variance: float | None = None,
        prior_mean: float | None = None,
        prior_scale: float | None = None,
        fit_warm_start: bool = False,
        engine: str = "auto",
        context_length_scale: float | None = None,
    ) -> None:
        self._actions: Actions = actions_of(problem)
        self._beta = parse_beta(beta, self._actions)
        length_scale, nu = number("length_scale", length_scale), number("nu", nu)
        self._kernel: Kernel = action_kernel_of(problem, action_kernel, length_scale, nu) * clock
        self._columns: tuple[int, ...] = ()
        if context_length_scale is not None:
            self._look_at_contexts(positive("context_length_scale", context_length_scale))
        self._given_noise, self._engine = noise_variance, engine
        self._normaliser = first_normaliser(problem, prior_mean, prior_scale)
        self._waiting: list[tuple[Any, float, float]] = []
        self._steps = 0
        if fit_warm_start not in (True, False):
            raise ValueError(f"fit_warm_start is true or false, got {fit_warm_start!r}")
        if fit_warm_start:
            self._fit()
        self._begin()
        self._relive(problem.warm_start)

    def _look_at_contexts(self, length_scale: float) -> None:
        self._columns = context_columns(self._problem)
        if not self._columns:
            return
        self._actions = InContext(actions_of(self._problem), len(self._columns))
        self._kernel = self._kernel * ContextSquaredExponential(length_scale)

    def act(self, observation: Array) -> Any:
        """Maximise mean + sqrt(beta_t) * standard deviation at the time of the observation."""
        t = time_of(observation)
        self._see(observation)
        self._steps += 1
        return self._to_space(self.choose(t, self._beta(self._steps)))

    def choose(self, t: float, beta: float) -> Any:
        """An action in the coordinates of the kernel."""
        return self._ucb.choose(t, beta)

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Learn from a reward, late and out of order if need be; a NaN is ignored."""
        context = np.array(observation, dtype=np.float64)[list(self._columns)]
        self._learn(action, float(observation[0]), float(reward), context)

    def belief(self, t: float, actions: Any = None) -> tuple[Array, Array]:
        """Mean and standard deviation of the mean reward at time t, in units of the reward.

        Before ten rewards are seen where no scale is known, in units of the prior. An agent that
        looks at contexts answers for the one in which it last chose.

        Args:
            t: When.
            actions: Arms, or box actions (q, d) in [-1, 1]; all arms if None.
        """
        if self._problem.n_actions is None:
            if actions is None:
                raise ValueError("actions must be given for a box: an array (q, d) in [-1, 1]")
            actions = np.asarray(actions, dtype=np.float64) * self._problem.action_half_width
        mean, variance = self.predict(t, actions)
        scale = self._normaliser or Normaliser()
        return scale.backward(mean), scale.scale * np.sqrt(variance)

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Mean and variance of f(., t) on the scale of the prior, in the kernel's coordinates."""
        return self._view.predict(t, actions)

    def _begin(self) -> None:
        """A posterior without observations, on the scale known now."""
        noise = noise_variance_of(self._problem, self._normaliser, self._given_noise)
        self._look(self.prior(noise))

    def _look(self, posterior: Posterior) -> None:
        """Choose by this posterior from now on."""
        self.posterior, self._view = posterior, posterior
        if self._columns:
            self._view = InThisContext(posterior)
        self._ucb = UCB(self._view, self._rng)

    def _see(self, observation: Array) -> None:
        """The context of the moment."""
        if isinstance(self._view, InThisContext):
            context = np.array(observation, dtype=np.float64)[list(self._columns)]
            self._view.context = finite_context(context)

    def prior(self, noise_variance: float) -> Posterior:
        """The belief before anything is seen; an agent with several kernels overrides it."""
        return make_posterior(
            self._kernel,
            self._actions,
            noise_variance,
            horizon=self._problem.horizon,
            engine=self._engine,
        )

    def mixture(
        self, kernels: Sequence[Kernel], noise_variance: float, prior: Array | None = None
    ) -> Mixture:
        """A belief over several kernels, all equally likely beforehand if there is no ``prior``."""
        options: dict[str, Any] = {"horizon": self._problem.horizon, "engine": self._engine}
        return Mixture(make_members(kernels, self._actions, noise_variance, **options), prior)

    def _relive(self, past: Experience | None) -> None:
        if past is not None and not self._columns:
            for t, action, reward in zip(past.t, past.action, past.reward, strict=True):
                self._learn(action, float(t), float(reward), np.empty(0))

    def _learn(self, action: Any, t: float, reward: float, context: Array) -> None:
        if not is_news(reward, t):
            return
        placed = self._placed(self._problem.checked(action), finite_context(context))
        if self._normaliser is None:
            self._wait(placed, t, reward)
        else:
            self.observe(placed, t, float(self._normaliser.forward(reward)))

    def _placed(self, action: Any, context: Array) -> Any:
        """An action of the space as the posterior knows it."""
        mine = self._from_space(action)
        if isinstance(self._actions, InContext):
            return self._actions.joined(mine, context)[0]
        return mine

    def observe(self, action: Any, t: float, y: float) -> None:
        """Take in a reward on the scale of the prior."""
        self.posterior.observe(action, t, y)

    def _wait(self, action: Any, t: float, reward: float) -> None:
        """Without a scale yet, learn only where we have been; then see it all again."""
        self._waiting.append((action, t, reward))
        if len(self._waiting) < FIRST_REWARDS:
            self.observe(action, t, 0.0)
            return
        self._normaliser = Normaliser.of([past[2] for past in self._waiting])
        self._begin()
        waiting, self._waiting = self._waiting, []
        for action, t, reward in waiting:
            self.observe(action, t, float(self._normaliser.forward(reward)))

    def _fit(self) -> None:
        past = self._problem.warm_start
        if past is None or self._columns or not np.isfinite(past.reward).any():
            raise ValueError("fit_warm_start needs a problem with a warm start")
        known = np.isfinite(past.reward)
        checked = [self._problem.checked(action) for action in past.action[known]]
        actions = np.array([self._from_space(action) for action in checked])
        noise = noise_variance_of(self._problem, self._normaliser, self._given_noise)
        data = (actions, past.t[known], past.reward[known])
        found = fit(self._kernel, self._actions, [data], noise)
        self._adopt(found.kernel, found.normaliser, found.noise_variance)

    def _adopt(self, kernel: Kernel, normaliser: Normaliser, noise_variance: float) -> None:
        self._kernel, self._normaliser = kernel, normaliser
        self._given_noise = noise_variance

    @classmethod
    def train(
        cls,
        problem: Problem,
        envs: VectorEnv[Any, Any, Any],
        *,
        steps: int,
        rng: np.random.Generator,
        settings: Mapping[str, Any],
    ) -> dict[str, NDArray[Any]]:
        """Hyper-parameters by evidence, and a prior around the settings, from random actions.

        Of every world that was met 200 steps count, and of at most eight worlds: more would take
        long and change little.

        Args: see :class:`agents.base.Trainable`.
        """
        agent = cls(problem, rng, **settings)
        if agent._columns:
            raise ValueError("training looks at no contexts: leave out context_length_scale")
        stretches = random_stretches(agent._from_space, envs, steps, rng)
        noise = noise_variance_of(problem, agent._normaliser, agent._given_noise)
        found = fit(agent._kernel, agent._actions, stretches, noise, spread=1.0, starts=3, scan=30)
        free = free_parameters(found.kernel)
        scale = found.normaliser
        return {
            "kernel": get(found.kernel, free),
            "scale": np.array([scale.mean, scale.scale]),
            "noise_variance": np.array(found.noise_variance),
        }

    @classmethod
    def after_training(
        cls,
        problem: Problem,
        rng: np.random.Generator,
        learned: Mapping[str, NDArray[Any]],
        settings: Mapping[str, Any],
    ) -> GPAgent:
        """An agent with these hyper-parameters, otherwise as fresh as any."""
        agent = cls(problem, rng, **settings)
        kernel = put(agent._kernel, free_parameters(agent._kernel), learned["kernel"])
        mean, scale = learned["scale"].tolist()
        agent._adopt(kernel, Normaliser(mean, scale), float(learned["noise_variance"]))
        agent._waiting = []
        agent._begin()
        agent._relive(problem.warm_start)
        return agent

    def _from_space(self, action: Any) -> Any:
        """From the action space to the coordinates of the kernel."""
        if self._problem.n_actions is not None:
            return action
        return np.asarray(action, dtype=np.float64) * self._problem.action_half_width

    def _to_space(self, action: Any) -> Any:
        if self._problem.n_actions is not None:
            return int(action)
        scaled = np.asarray(action) / self._problem.action_half_width
        return np.clip(scaled, -1.0, 1.0).astype(np.float32)

    def state(self) -> dict[str, Any]:
        """The posterior, the scale of the rewards, and the number of decisions."""
        scale = self._normaliser
        return {
            "posterior": to_state(self.posterior),
            "normaliser": None if scale is None else [scale.mean, scale.scale],
            "waiting": [[np.asarray(a).tolist(), t, r] for a, t, r in self._waiting],
            "steps": self._steps,
            "context": self._view.context if isinstance(self._view, InThisContext) else None,
        }

    @staticmethod
    def _revived(action: Any) -> Any:
        return np.array(action) if isinstance(action, list) else action

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        posterior = from_state(state["posterior"])
        if not same_actions(posterior.actions, self._actions):
            raise ValueError("the belief is about other actions than the problem has")
        self._look(posterior)
        if isinstance(self._view, InThisContext):
            self._view.context = np.array(state["context"])
        scale = state["normaliser"]
        self._normaliser = None if scale is None else Normaliser(*scale)
        self._waiting = [(self._revived(a), t, reward) for a, t, reward in state["waiting"]]
        self._steps = int(state["steps"])
