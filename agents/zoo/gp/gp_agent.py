"""Base of all Gaussian-process agents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from agents.arrays import Rng
from agents.base import Problem, is_valid_reward, time_of
from agents.checks import flag, number, one_of, positive, require
from agents.gp import (
    UCB,
    Array,
    ContextSquaredExponential,
    Fit,
    Kernel,
    Mixture,
    Normaliser,
    Posterior,
    Prediction,
    make_posterior,
    parse_beta,
)
from agents.gp.posteriors.mixture import make_members
from agents.saving import Saveable
from agents.zoo.gp import warm_start
from agents.zoo.gp.coordinates import Coordinates
from agents.zoo.gp.prior import action_kernel_of, actions_of, noise_variance_of, scale_of

SCALE_SETTING_REWARDS = 10
"""Number of rewards that determine the scale if it is not known beforehand."""


class GPAgent(Saveable):
    """Base of the agents whose belief is a Gaussian process over actions and time.

    Pseudo-code::

        posterior <- new_posterior()                     in start(), at first and after a change
        act:    advance(t);  a_t <- choose(t, beta_t)
        update: learn(a, t, y) for a reward y on the scale of the prior,
                visit(a, t) as long as rewards have no scale

    A subclass provides the time kernel. A subclass that learns or chooses differently also
    overrides some of the methods ``start``, ``advance``, ``learn``, ``visit``, ``choose`` and
    ``predict``.

    Rewards are standardised to the scale of the prior (mean 0, variance 1). The mean and the scale
    of the rewards are set only once, from the first of these sources that is available:
    ``prior_mean`` and ``prior_scale``, the warm start, the problem's ``reward_scale``, or the first
    ten rewards. In the last case, actions are chosen only by their uncertainty until ten rewards
    have arrived. ([@cai2021periodic] does not state how it normalises rewards.) Every call to
    ``act`` counts as a step of the exploration schedule.

    With ``context_length_scale`` the agent uses the contexts in the observations. The mean reward
    is then f(action, context, t), and its kernel is the kernel over actions and time times a
    squared exponential over contexts [@krause2011contextual]. The posterior is exact, and its cost
    per step grows with time. Past decisions of a warm start have no contexts. They can set the
    scale of the rewards, but the agent does not learn from them.

    Args:
        time_kernel: Covariance over time, which is multiplied by the covariance over actions.
        action_kernel: "se", "matern" or "linear". The linear kernel is a . b / d for actions in
            units of the box, so its values are at most 1. Arms without coordinates are independent.
        length_scale: Length-scale of "se" and "matern", in the unit of the action coordinates.
        nu: Smoothness of "matern".
        beta: Exploration schedule: "paper", "steady", "printed", "theorem" (which means "finite" or
            "box", depending on the actions), "constant:VALUE" or a number. Each of these may be
            followed by ``*FACTOR``, which multiplies sqrt(beta_t) by the factor.
        noise_variance: Variance of the noise on the scale of the prior. The default is the variance
            that the problem states (at least 1e-6), or 0.5, as in [@cai2021periodic], if the
            problem states no variance.
        prior_mean: Prior mean of the rewards, in their unit; requires ``prior_scale``.
        prior_scale: Prior standard deviation of the mean rewards, in their unit; requires
            ``prior_mean``.
        fit_warm_start: True to fit the hyper-parameters of the kernel (such as length-scales), the
            noise variance and the scale of the rewards to the warm start, by maximising the
            evidence.
        engine: "auto", "state-space" or "incremental". ``agent.posterior.name`` is the name of the
            engine in use.
        context_length_scale: Length-scale of the kernel over contexts, in the unit of the contexts;
            if None, the agent ignores contexts.
        restart_on: Name of an entry of the observation ("changed" in ``PeriodicGP-Shift-v0``). If
            the entry is above 0, all observations are forgotten, and rewards of earlier decisions
            that arrive later are ignored. If the observation has no such entry, nothing is
            forgotten.

    Attributes:
        kernel: Prior covariance over actions, contexts and time.
        posterior: Current belief, on the scale of the prior.
        scale: Scale of the rewards; None until it is known.
    """

    takes_contexts: ClassVar[bool] = True
    engines: ClassVar[tuple[str, ...]] = ("auto", "state-space", "incremental")
    acquisition: ClassVar[type[Any]] = UCB
    """Class of the acquisition rule, which is created from a posterior and a random generator."""
    posterior: Posterior

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        time_kernel: Kernel,
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
        looks = context_length_scale is not None
        if looks and not self.takes_contexts:
            raise ValueError("this agent does not support contexts: leave out context_length_scale")
        self._beta = parse_beta(beta, actions_of(problem))
        length_scale, nu = number("length_scale", length_scale), number("nu", nu)
        over_actions = action_kernel_of(problem, action_kernel, length_scale, nu)
        self.kernel: Kernel = over_actions * time_kernel
        self.coordinates = Coordinates(problem, contexts=looks)
        if context_length_scale is not None:
            length_scale = positive("context_length_scale", context_length_scale)
            if self.coordinates.have_contexts:
                self.kernel = self.kernel * ContextSquaredExponential(length_scale)
        self._given_noise, self._engine = noise_variance, one_of("engine", engine, self.engines)
        self.scale = scale_of(problem, prior_mean, prior_scale)
        self._steps = 0
        self._waiting: list[Any] = []  # action, time and reward until the scale is known
        is_name = restart_on is None or isinstance(restart_on, str)
        require(is_name, "restart_on must be the name of an entry of the observation", restart_on)
        names = problem.observation_fields
        self._alarms = [i for i, name in enumerate(names) if name == restart_on]
        self._since = -math.inf  # time of the last change of the world
        if flag("fit_warm_start", fit_warm_start):
            self._adopt(warm_start.fit_warm_start(self))
        self._begin()
        self._learn_from_warm_start()

    @property
    def noise_variance(self) -> float:
        """Variance of the noise on the scale of the prior."""
        return noise_variance_of(self._problem, self.scale, self._given_noise)

    def act(self, observation: Array) -> Any:
        """Choose an action for the time of the observation."""
        t = time_of(observation)
        if any(observation[entry] > 0 for entry in self._alarms):
            self._since = t
            self._begin()
        self.coordinates.enter(observation)
        self.advance(t)
        self._steps += 1
        return self.coordinates.action(self.choose(t, self._beta(self._steps)))

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Learn from a reward, which may be late or out of order; ignore a reward of NaN."""
        t, reward = float(observation[0]), float(reward)
        if not is_valid_reward(reward, t) or t < self._since:
            return
        placed = self.coordinates.placed(action, observation)
        if self.scale is not None:
            self.learn(placed, t, float(self.scale.forward(reward)))
            return
        self._waiting.append((placed, t, reward))
        if len(self._waiting) == SCALE_SETTING_REWARDS:
            self._set_scale()
        else:
            self.visit(placed, t)

    def belief(self, t: float, actions: Any = None) -> tuple[Array, Array]:
        """Return mean and standard deviation of the mean reward at time t, in the unit of rewards.

        Until the scale of the rewards is known, the values are on the scale of the prior. Agents
        with contexts use the context of their last choice. For agents that forget, t should lie in
        the present or the future. For a past t and a decaying kernel, the state-space engine
        derives the belief only from its current state; this belief is less accurate than the exact
        posterior. Agents with windows, blocks or discounts apply the current weights of the
        observations, not the weights at time t.

        Args:
            t: Time.
            actions: Arms, or points of a box as an array of shape (q, d) with values in [-1, 1];
                all arms if None.
        """
        mean, variance = self.predict(t, self.coordinates.to_kernel(actions))
        scale = self.scale or Normaliser()
        return scale.backward(mean), scale.scale * np.sqrt(variance)

    def start(self) -> None:
        """Create the posterior, without observations."""
        self.posterior = self.new_posterior()

    def new_posterior(self, kernel: Kernel | None = None) -> Posterior:
        """Return a posterior without observations, by default for the kernel of the agent."""
        return make_posterior(
            kernel or self.kernel,
            self.coordinates.actions,
            self.noise_variance,
            horizon=self._problem.horizon,
            engine=self._engine,
        )

    def new_mixture(self, kernels: Sequence[Kernel], weights: Array | None = None) -> Mixture:
        """Return a mixture of the posteriors of several kernels, with equal weights by default."""
        members = make_members(
            kernels,
            self.coordinates.actions,
            self.noise_variance,
            horizon=self._problem.horizon,
            engine=self._engine,
        )
        return Mixture(members, weights)

    def advance(self, t: float) -> None:
        """Prepare for a decision at time t; a subclass may forget old observations here."""

    def choose(self, t: float, beta: float) -> Any:
        """Return the action for time t, in the coordinates of the kernel."""
        return self._rule.choose(t, beta)

    def learn(self, action: Any, t: float, y: float) -> None:
        """Learn from a reward on the scale of the prior."""
        self.posterior.observe(action, t, y)

    def visit(self, action: Any, t: float) -> None:
        """Observe 0 instead of a reward of unknown scale.

        The posterior mean remains 0, and only the posterior variance decreases.
        """
        self.learn(action, t, 0.0)

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return mean and variance of f(., t) on the scale of the prior."""
        return self._view.predict(t, actions)

    def rebuild(self) -> None:
        """Create the view of the current posterior, and the acquisition rule that uses the view."""
        self._view = self.coordinates.view(self.posterior)
        self._rule = self.acquisition(self._view, self._rng)

    def _begin(self) -> None:
        self.start()
        self.rebuild()

    def _set_scale(self) -> None:
        """Set the scale from the rewards so far, and learn again from these rewards."""
        waiting, self._waiting = self._waiting, []
        scale = self.scale = Normaliser.of([reward for _, _, reward in waiting])
        self._begin()
        for action, t, reward in waiting:
            if t >= self._since:
                self.learn(action, t, float(scale.forward(reward)))

    def _learn_from_warm_start(self) -> None:
        """Learn from past decisions, unless the agent uses contexts, which these decisions lack."""
        if not self.coordinates.have_contexts:
            for past in self._problem.past_decisions():
                self.update(*past)

    def _adopt(self, fitted: Fit) -> None:
        self.kernel, self._given_noise = fitted.kernel, fitted.noise_variance
        self.scale = fitted.normaliser

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
        """Fit hyper-parameters to rewards of random actions in other worlds.

        The fit maximises the product of the evidence and a prior density, which is centred on the
        settings. The fit uses at most eight worlds and at most 200 steps of each.

        The arguments are described in :class:`agents.base.Trainable`.
        """
        agent = cls(problem, rng, **settings)
        if agent.coordinates.have_contexts:
            raise ValueError("training does not support contexts: leave out context_length_scale")
        return warm_start.fit_worlds(agent, envs, steps, rng)

    @classmethod
    def after_training(
        cls,
        problem: Problem,
        rng: Rng,
        learned: Mapping[str, NDArray[Any]],
        settings: Mapping[str, Any],
    ) -> GPAgent:
        """Return a new agent with the hyper-parameters that ``train`` returned."""
        agent = cls(problem, rng, **settings)
        agent._adopt(warm_start.unpacked(agent.kernel, learned))
        agent._begin()
        agent._learn_from_warm_start()
        return agent
