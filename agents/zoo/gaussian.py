"""What all Gaussian-process agents share: a belief, a scale of rewards, a way to choose."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Experience, Problem
from agents.gp import (
    UCB,
    ActionKernel,
    Actions,
    Box,
    Finite,
    Index,
    Kernel,
    Linear,
    Matern,
    Normaliser,
    Posterior,
    SquaredExponential,
    TimeKernel,
    fit,
    from_state,
    make_posterior,
    parse_beta,
    to_state,
)
from agents.storage import Saveable

Array = NDArray[np.float64]

PAPER_NOISE_VARIANCE = 0.5
"""The paper's sigma^2 on rewards of unit scale, for problems that do not tell their noise."""
FIRST_REWARDS = 10
"""Rewards seen before a scale is set, where nothing is known about it."""


class GPAgent(Saveable):
    """Upper confidence bounds on a Gaussian process; subclasses choose the time kernel.

    Rewards are brought to the scale of the prior (mean 0, variance 1) once and for all: by the
    warm start if there is one; not at all if the problem tells its noise, which then is in units
    of the prior as in the paper; otherwise by the first ten rewards.

    Args:
        problem: What is known.
        rng: Breaks ties.
        clock: Time kernel.
        action_kernel: "se", "matern" or "linear"; arms without coordinates are independent.
        length_scale: Of the action kernel, in the unit of the action coordinates.
        nu: Smoothness of "matern".
        beta: Exploration: "paper", "finite", "box", "constant:VALUE" or a number (``parse_beta``).
        noise_variance: On the scale of the prior; by default the problem's, or the paper's 0.5.
        fit_warm_start: Whether to fit length-scales, variance and noise to the warm start by
            evidence.
        engine: "auto", "state-space" or "incremental"; ``agent.posterior.name`` says which it is.
    """

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        clock: TimeKernel,
        action_kernel: str = "se",
        length_scale: float = 1.0,
        nu: float = 2.5,
        beta: str | float = "paper",
        noise_variance: float | None = None,
        fit_warm_start: bool = False,
        engine: str = "auto",
    ) -> None:
        self._actions = _actions(problem)
        self._beta = parse_beta(beta, self._actions)
        self._normaliser = _first_normaliser(problem)
        self._waiting: list[tuple[Any, float, float]] = []
        self._steps = 0
        kernel: Kernel = _action_kernel(problem, action_kernel, length_scale, nu) * clock
        noise = _noise_variance(problem, self._normaliser, noise_variance)
        if fit_warm_start:
            kernel, noise = self._fitted(kernel, noise)
        self.posterior: Posterior = make_posterior(
            kernel, self._actions, noise, horizon=problem.horizon, engine=engine
        )
        self._ucb = UCB(self.posterior, rng)
        self._relive(problem.warm_start)

    def act(self, observation: Array) -> Any:
        """Maximise mean + sqrt(beta_t) * standard deviation at the time of the observation."""
        self._steps += 1
        return self._to_space(self.choose(float(observation[0]), self._beta(self._steps)))

    def choose(self, t: float, beta: float) -> Any:
        """An action in the coordinates of the kernel."""
        return self._ucb.choose(t, beta)

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Learn from a reward, late and out of order if need be; a NaN is ignored."""
        self._learn(action, float(observation[0]), float(reward))

    def belief(self, t: float, actions: Any = None) -> tuple[Array, Array]:
        """Mean and standard deviation of the mean reward at time t, in units of the reward.

        Args:
            t: When.
            actions: Arms, or box actions (q, d) in [-1, 1]; all arms if None.
        """
        if self._problem.n_actions is None:
            actions = np.asarray(actions, dtype=np.float64) * self._problem.action_half_width
        mean, variance = self.posterior.predict(t, actions)
        scale = self._normaliser or Normaliser()
        return scale.backward(mean), scale.scale * np.sqrt(variance)

    def _relive(self, past: Experience | None) -> None:
        if past is not None:
            for t, action, reward in zip(past.t, past.action, past.reward, strict=True):
                self._learn(action, float(t), float(reward))

    def _learn(self, action: Any, t: float, reward: float) -> None:
        if math.isnan(reward):
            return
        if self._normaliser is None:
            self._wait(action, t, reward)
            return
        y = float(self._normaliser.forward(reward))
        self.posterior.observe(self._from_space(action), t, y)

    def _wait(self, action: Any, t: float, reward: float) -> None:
        """Without a scale yet, learn only where we have been; then see it all again."""
        self._waiting.append((action, t, reward))
        self.posterior.observe(self._from_space(action), t, 0.0)
        if len(self._waiting) == FIRST_REWARDS:
            self._normaliser = Normaliser.of([past[2] for past in self._waiting])
            self.posterior.reset()
            for past in self._waiting:
                self._learn(*past)
            self._waiting = []

    def _fitted(self, kernel: Kernel, noise: float) -> tuple[Kernel, float]:
        past = self._problem.warm_start
        if past is None or self._normaliser is None:
            raise ValueError("fit_warm_start needs a problem with a warm start")
        known = np.isfinite(past.reward)
        actions = np.array([self._from_space(action) for action in past.action[known]])
        data = actions, past.t[known], self._normaliser.forward(past.reward[known])
        found = fit(kernel, self._actions, data, noise, fit_mean=False, fit_scale=False)
        return found.kernel, found.noise_variance

    def _from_space(self, action: Any) -> Any:
        """From the action space to the coordinates of the kernel."""
        if self._problem.n_actions is not None:
            return int(action)
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
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        self.posterior = self._ucb.posterior = from_state(state["posterior"])
        scale = state["normaliser"]
        self._normaliser = None if scale is None else Normaliser(*scale)
        self._waiting = [tuple(past) for past in state["waiting"]]
        self._steps = int(state["steps"])


def main_period(problem: Problem, period: float | None) -> float:
    """The given period, or the problem's; an error if nobody knows."""
    known = period if period is not None else problem.period
    if known is None:
        raise ValueError(
            "this agent needs a period and the problem tells none: give one, as in "
            "periodic-gp-ucb:period=24"
        )
    return float(known)


def _actions(problem: Problem) -> Actions:
    if problem.n_actions is None:
        half_width = np.full(problem.action_space.shape or (1,), problem.action_half_width)
        return Box(-half_width, half_width)
    if problem.action_features is None:
        return Finite.arms(problem.n_actions)
    return Finite(problem.action_features)


def _action_kernel(problem: Problem, kind: str, length_scale: float, nu: float) -> ActionKernel:
    if problem.n_actions is not None and problem.action_features is None:
        return Index()
    kinds: dict[str, ActionKernel] = {
        "se": SquaredExponential(length_scale),
        "matern": Matern(nu, length_scale),
        "linear": Linear(),
    }
    if kind not in kinds:
        raise ValueError(f"action_kernel must be one of {', '.join(kinds)}, got {kind!r}")
    return kinds[kind]


def _first_normaliser(problem: Problem) -> Normaliser | None:
    if problem.warm_start is not None and len(problem.warm_start.reward):
        return Normaliser.of(problem.warm_start.reward[np.isfinite(problem.warm_start.reward)])
    return None if problem.noise_std is None else Normaliser()


def _noise_variance(problem: Problem, scale: Normaliser | None, given: float | None) -> float:
    if given is not None:
        return float(given)
    if problem.noise_std is None or scale is None:
        return PAPER_NOISE_VARIANCE
    # A noiseless world still needs a positive variance to invert.
    return max((problem.noise_std / scale.scale) ** 2, 1e-6)
