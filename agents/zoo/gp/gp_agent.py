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
from agents.zoo.gp import training
from agents.zoo.gp.coordinates import Coordinates
from agents.zoo.gp.prior import action_kernel_of, actions_of, noise_variance_of, scale_of

SCALE_SETTING_REWARDS = 10
"""Rewards that set the scale, where nothing is known about it beforehand."""


class GPAgent(Saveable):
    """A Gaussian process over actions and time, and upper confidence bounds.

    Pseudo-code::

        posterior <- new_posterior()                     in start(), at first and after a change
        act:    advance(t);  a_t <- choose(t, beta_t)
        update: learn(a, t, y) for a reward y on the scale of the prior,
                visit(a, t) as long as rewards have no scale

    A subclass gives the time kernel; one that learns or chooses otherwise overrides some of
    ``start``, ``advance``, ``learn``, ``visit``, ``choose`` and ``predict``.

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
        time_kernel: Covariance over time; it is multiplied by that of the actions.
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

    Attributes:
        kernel: Prior covariance over actions, contexts and time.
        posterior: Current belief, on the scale of the prior.
        scale: Scale of the rewards; None until it is known.
    """

    takes_contexts: ClassVar[bool] = True
    engines: ClassVar[tuple[str, ...]] = ("auto", "state-space", "incremental")
    acquisition: ClassVar[type[Any]] = UCB
    """Rule by which actions are chosen: made from a posterior and a generator."""
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
        self._waiting: list[Any] = []  # action, time and reward, as long as there is no scale
        is_name = restart_on is None or isinstance(restart_on, str)
        require(is_name, "restart_on must be the name of an entry of the observation", restart_on)
        names = problem.observation_fields
        self._alarms = [i for i, name in enumerate(names) if name == restart_on]
        self._since = -math.inf  # when the world last changed
        if flag("fit_warm_start", fit_warm_start):
            self._adopt(training.fit_warm_start(self))
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
        """Learn from a reward, which may be late or out of order; a NaN is ignored."""
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
        """Return mean and standard deviation of the mean reward at time t, in units of the reward.

        Until a scale is known, they are in units of the prior. Agents with contexts use the context
        of their last choice. For agents that forget, t should be in the present or the future: the
        belief about a past t is not smoothed by later rewards (decaying kernels in state space), or
        uses the present weights (windows, blocks and discounts).

        Args:
            t: Time.
            actions: Arms, or box actions (q, d) in [-1, 1]; all arms if None.
        """
        mean, variance = self.predict(t, self.coordinates.to_kernel(actions))
        scale = self.scale or Normaliser()
        return scale.backward(mean), scale.scale * np.sqrt(variance)

    def start(self) -> None:
        """Start without observations."""
        self.posterior = self.new_posterior()

    def new_posterior(self, kernel: Kernel | None = None) -> Posterior:
        """Return a posterior without observations, of the agent's kernel or another one."""
        return make_posterior(
            kernel or self.kernel,
            self.coordinates.actions,
            self.noise_variance,
            horizon=self._problem.horizon,
            engine=self._engine,
        )

    def new_mixture(self, kernels: Sequence[Kernel], weights: Array | None = None) -> Mixture:
        """Return a mixture of posteriors of several kernels, with equal weights by default."""
        members = make_members(
            kernels,
            self.coordinates.actions,
            self.noise_variance,
            horizon=self._problem.horizon,
            engine=self._engine,
        )
        return Mixture(members, weights)

    def advance(self, t: float) -> None:
        """Prepare for a decision at time t: forget what is too old for it."""

    def choose(self, t: float, beta: float) -> Any:
        """Return the action for time t, in the coordinates of the kernel."""
        return self._rule.choose(t, beta)

    def learn(self, action: Any, t: float, y: float) -> None:
        """Take in a reward on the scale of the prior."""
        self.posterior.observe(action, t, y)

    def visit(self, action: Any, t: float) -> None:
        """Take in where an action was taken, as long as rewards have no scale."""
        self.learn(action, t, 0.0)

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return mean and variance of f(., t) on the scale of the prior."""
        return self._view.predict(t, actions)

    def rebuild(self) -> None:
        """Choose by the current posterior from now on."""
        self._view = self.coordinates.view(self.posterior)
        self._rule = self.acquisition(self._view, self._rng)

    def _begin(self) -> None:
        self.start()
        self.rebuild()

    def _set_scale(self) -> None:
        """Learn again from all rewards so far, now that they are enough to set a scale."""
        waiting, self._waiting = self._waiting, []
        scale = self.scale = Normaliser.of([reward for _, _, reward in waiting])
        self._begin()
        for action, t, reward in waiting:
            if t >= self._since:
                self.learn(action, t, float(scale.forward(reward)))

    def _learn_from_warm_start(self) -> None:
        """Take in past decisions, unless contexts matter: theirs are not known."""
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
        """Fit hyper-parameters by evidence, with a prior around the settings, to random actions.

        Of every world that was met 200 steps count, and of at most eight worlds.

        Args: see :class:`agents.base.Trainable`.
        """
        agent = cls(problem, rng, **settings)
        if agent.coordinates.have_contexts:
            raise ValueError("training does not support contexts: leave out context_length_scale")
        return training.fit_worlds(agent, envs, steps, rng)

    @classmethod
    def after_training(
        cls,
        problem: Problem,
        rng: Rng,
        learned: Mapping[str, NDArray[Any]],
        settings: Mapping[str, Any],
    ) -> GPAgent:
        """Return an agent with these hyper-parameters, otherwise as fresh as any."""
        agent = cls(problem, rng, **settings)
        agent._adopt(training.unpacked(agent.kernel, learned))
        agent._begin()
        agent._learn_from_warm_start()
        return agent
