"""What all Gaussian-process agents share: the wiring of their parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from agents.arrays import Rng
from agents.base import Problem, is_news, time_of
from agents.checks import flag, number, positive
from agents.gp import (
    Array,
    ContextSquaredExponential,
    Fit,
    Kernel,
    Normaliser,
    Posterior,
    Prediction,
    parse_beta,
)
from agents.saving import Saveable
from agents.zoo.gp import training
from agents.zoo.gp.parts import (
    ActionSpaceMap,
    ContextView,
    Model,
    Notice,
    Prior,
    RewardNormalisation,
    context_columns,
)
from agents.zoo.gp.prior import action_kernel_of, actions_of


class GPAgent(Saveable):
    """A model, a scale of rewards, a context view and exploration; subclasses choose the model.

    Rewards are brought to the scale of the prior (mean 0, variance 1) once and for all: by
    ``prior_mean`` and ``prior_scale`` if they are given, by the warm start if there is one, by the
    problem's ``reward_scale`` if it has one, otherwise by the first ten rewards, until which
    actions are chosen for their uncertainty alone. (The paper does not say how it normalises.)
    Every ``act`` counts as a step of the exploration schedule.

    With ``context_length_scale`` the agent looks at the contexts that an observation shows: the
    reward is f(action, context, t), its kernel that of the agent times a squared exponential over
    contexts [@krause2011contextual]. The posterior is exact, and grows with time. Past decisions of
    a warm start have no contexts; they then set the scale of the rewards and are not learned from.

    Args:
        model: What is believed and how it is learned; ``Model(clock)`` has the time kernel
            ``clock``, keeps every reward, and chooses by upper confidence bounds.
        action_kernel: "se", "matern" or "linear" (a . b / d in units of the box, at most 1); arms
            without coordinates are independent.
        length_scale: Of "se" and "matern", in the unit of the action coordinates.
        nu: Smoothness of "matern".
        beta: Exploration: "paper", "steady", "printed", "theorem" (that is, "finite" or "box"),
            "constant:VALUE" or a number; any of these as "NAME*FACTOR", for a sqrt(beta_t) that is
            the other times the factor.
        noise_variance: On the scale of the prior; by default the problem's (at least 1e-6), or the
            paper's 0.5.
        prior_mean: Of the rewards before anything is seen, in their unit; with ``prior_scale``.
        prior_scale: Standard deviation of the mean rewards before anything is seen.
        fit_warm_start: Whether to fit length-scales, noise and the scale of the rewards to the warm
            start by evidence.
        engine: "auto", "state-space" or "incremental"; ``agent.posterior.name`` says which it is.
        context_length_scale: Of the reward over contexts, in their unit; None ignores contexts.
        restart_on: Name of an entry of the observation ("changed" in ``PeriodicGP-Shift-v0``).
            When it is above 0, all observations are forgotten, and rewards of earlier decisions
            that arrive later are ignored. Where there is no such entry, nothing is.
    """

    kept = ("model", "_rewards", "_contexts", "_steps")

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        model: Model,
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
        restart_on: str | None = None,
    ) -> None:
        if context_length_scale is not None and not model.takes_contexts:
            raise ValueError("this agent looks at no contexts: leave out context_length_scale")
        self.model, self._space = model, ActionSpaceMap(problem)
        self._beta = parse_beta(beta, actions_of(problem))
        length_scale, nu = number("length_scale", length_scale), number("nu", nu)
        over_actions = action_kernel_of(problem, action_kernel, length_scale, nu)
        self._kernel: Kernel = over_actions * model.clock
        self._look_at_contexts(context_length_scale)
        self._given_noise, self._engine = noise_variance, engine
        self._rewards = RewardNormalisation.of(problem, prior_mean, prior_scale)
        self._steps, self._notice = 0, Notice(problem, restart_on)
        if flag("fit_warm_start", fit_warm_start):
            noise = self._noise_variance()
            self._adopt(
                training.fit_warm_start(self._kernel, self._contexts.actions, self._space, noise)
            )
        self._begin()
        self._learn_from_warm_start()

    def _look_at_contexts(self, length_scale: float | None) -> None:
        """Contexts of the problem, if there are any and if they are to be looked at."""
        columns: tuple[int, ...] = ()
        if length_scale is not None:
            over_contexts = ContextSquaredExponential(
                positive("context_length_scale", length_scale)
            )
            columns = context_columns(self._problem)
            self._kernel = self._kernel * over_contexts if columns else self._kernel
        self._contexts = ContextView(actions_of(self._problem), columns)

    @property
    def posterior(self) -> Posterior:
        """What is believed at the moment, on the scale of the prior."""
        return self.model.posterior

    @property
    def scale(self) -> Normaliser | None:
        """The scale of the rewards, once there is one."""
        return self._rewards.normaliser

    def act(self, observation: Array) -> Any:
        """Choose by the model's acquisition at the time of the observation: UCB as a rule."""
        t = time_of(observation)
        if self._notice.tells(observation):
            self._begin()
        self._contexts.enter(self._contexts.read(observation))
        self.model.advance(t)
        self._steps += 1
        return self._space.to_space(self._acquisition.choose(t, self._beta(self._steps)))

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Learn from a reward, late and out of order if need be; a NaN is ignored."""
        t, reward = float(observation[0]), float(reward)
        if not is_news(reward, t) or t < self._notice.since:
            return
        taken = self._space.from_space(self._problem.checked(action))
        placed = self._contexts.place(taken, self._contexts.read(observation))
        if self.scale is not None:
            self.model.observe(placed, t, self._rewards.forward(reward))
        elif self._rewards.keep(placed, t, reward):
            self._begin()
            for past in self._rewards.release():
                if past.t >= self._notice.since:
                    self.model.observe(past.action, past.t, self._rewards.forward(past.reward))
        else:
            self.model.visit(placed, t)

    def belief(self, t: float, actions: Any = None) -> tuple[Array, Array]:
        """Mean and standard deviation of the mean reward at time t, in units of the reward.

        Before ten rewards are seen where no scale is known, in units of the prior. An agent that
        looks at contexts answers for the one in which it last chose. An agent that forgets is asked
        about the present and the future: for a past t its belief is not smoothed, that is, rewards
        that came after t do not count as they should (with a decaying kernel and the state-space
        engine), or all are weighed or dropped as of now (windows, blocks and discounts).

        Args:
            t: When.
            actions: Arms, or box actions (q, d) in [-1, 1]; all arms if None.
        """
        return self._rewards.backward(self.predict(t, self._space.asked(actions)))

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Mean and variance of f(., t) on the scale of the prior, in the kernel's coordinates."""
        return self.model.predict(self._view, t, actions)

    def _begin(self) -> None:
        """Start without observations, on the scale known now."""
        horizon, noise = self._problem.horizon, self._noise_variance()
        self.model.begin(Prior(self._kernel, self._contexts.actions, noise, horizon, self._engine))
        self.rebuild()

    def rebuild(self) -> None:
        """Choose by the model's posterior from now on."""
        self._view = self._contexts.show(self.posterior)
        self._acquisition = self.model.acquisition(self._view, self._rng)

    def state(self) -> dict[str, Any]:
        """All that has changed; when the world did, too, if the agent listens for it."""
        told = {"notice": self._notice.state()} if self._notice.heeded else {}
        return {**super().state(), **told}

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        if self._notice.heeded:
            self._notice.restore(state["notice"])
        super().restore(state)

    def _noise_variance(self) -> float:
        return self._rewards.noise_variance(self._problem.noise_std, self._given_noise)

    def _learn_from_warm_start(self) -> None:
        """Take in past decisions, unless contexts matter: theirs are not known."""
        if not self._contexts:
            for past in self._problem.past_decisions():
                self.update(*past)

    def _adopt(self, found: Fit) -> None:
        self._kernel, self._given_noise = found.kernel, found.noise_variance
        self._rewards = RewardNormalisation(found.normaliser)

    @classmethod
    def train(
        cls,
        problem: Problem,
        envs: VectorEnv[Any, Any, Any],
        *,
        steps: int,
        rng: Rng,
        settings: Mapping[str, Any],
    ) -> dict[str, NDArray[Any]]:
        """Hyper-parameters by evidence, and a prior around the settings, from random actions.

        Of every world that was met 200 steps count, and of at most eight worlds.

        Args: see :class:`agents.base.Trainable`.
        """
        agent = cls(problem, rng, **settings)
        if agent._contexts:
            raise ValueError("training looks at no contexts: leave out context_length_scale")
        stretches = training.random_stretches(agent._space, envs, steps, rng)
        actions, noise = agent._contexts.actions, agent._noise_variance()
        return training.fit_stretches(agent._kernel, actions, stretches, noise)

    @classmethod
    def after_training(
        cls,
        problem: Problem,
        rng: Rng,
        learned: Mapping[str, NDArray[Any]],
        settings: Mapping[str, Any],
    ) -> GPAgent:
        """An agent with these hyper-parameters, otherwise as fresh as any."""
        agent = cls(problem, rng, **settings)
        agent._adopt(training.unpacked(agent._kernel, learned))
        agent._begin()
        agent._learn_from_warm_start()
        return agent
