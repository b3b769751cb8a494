"""Base of the agents that choose from finitely many arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.arrays import Array, Rng
from agents.base import Problem, is_valid_reward, time_of
from agents.saving import Saveable
from agents.zoo.arms.rewards import Means, RewardScale

MAX_BOX_ARMS = 100_000
"""Maximum number of points to which a box is discretised."""


def arms_of(problem: Problem, count: int) -> NDArray[Any]:
    """Return all arms, shape (n,), or ``count`` points of a box, shape (count, d)."""
    if problem.n_actions is not None:
        return np.arange(problem.n_actions)
    if not isinstance(count, int) or not 1 <= count <= MAX_BOX_ARMS:
        raise ValueError(f"box_arms must be a whole number in [1, {MAX_BOX_ARMS}], got {count!r}")
    dim = problem.dim
    if dim == 1:
        return np.linspace(-1.0, 1.0, count, dtype=np.float32)[:, None]
    from scipy.stats import qmc  # slow to import, and not always needed

    spread = np.asarray(qmc.Halton(dim, scramble=False).random(count), dtype=np.float32)
    return 2.0 * spread - 1.0


def nearest_arm(arms: NDArray[Any], action: Any) -> int:
    """Return the number of the arm that equals an action or is closest to it."""
    if arms.ndim == 1:
        return int(action)
    distance = np.square(arms - np.asarray(action, dtype=np.float64)).sum(axis=1)
    return int(distance.argmin())


class ArmAgent(Saveable):
    """Base of the agents for finitely many arms; a subclass defines how to choose and to learn.

    Pseudo-code::

        start()                                  tables for ``n_arms`` arms, at first or again
        warm start: learn(arm, reward, t) for each of the past
        act: arm <- choose(t, observation)
        update: unless the reward is missing, learn(arm, reward, t)

    A box is discretised into ``box_arms`` points, which are evenly spaced on a line and form a
    Halton sequence in more dimensions. An action of another policy is treated as the point closest
    to it.

    ``learn`` receives rewards in their original unit. Before the call, ``self.scale`` (see
    :class:`RewardScale`) has observed the reward. The scale provides ``sigma``, ``width`` and
    ``unit(reward)``. A reward of NaN is ignored. An infinite reward or an invalid action raises an
    error and changes nothing. Rewards may arrive late and in any order; ``t`` is the time of the
    decision.

    A subclass must set its attributes before it calls ``super().__init__``, because that method
    calls ``start``.

    Args:
        scale: Standard deviation sigma of the noise. The default is the problem's ``noise_std`` or,
            if that is unknown or 0, the standard deviation of the rewards so far.
        box_arms: Number of points to which a box is discretised.
    """

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        scale: float | None = None,
        box_arms: int = 20,
    ) -> None:
        self._arms = arms_of(problem, box_arms)
        self._finite = problem.n_actions is not None
        self.n_arms = len(self._arms)
        self.horizon = problem.likely_horizon
        self.scale = RewardScale(problem, scale)
        self.start()
        for past in problem.past_decisions():
            self.update(*past)

    def start(self) -> None:
        """Create the statistics of ``self.n_arms`` arms."""
        raise NotImplementedError

    def choose(self, t: float, observation: Array) -> int:
        """Return the arm for time t."""
        raise NotImplementedError

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Learn from a finite reward of an arm chosen at time t."""
        raise NotImplementedError

    def act(self, observation: Array) -> Any:
        """Choose an arm and return it as an action."""
        arm = self.choose(time_of(observation), observation)  # may replace ``self._arms``
        return int(arm) if self._finite else self._arms[arm].copy()

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Learn from a reward; ignore a missing reward (NaN)."""
        t, reward = float(observation[0]), float(reward)
        if not is_valid_reward(reward, t):
            return
        if not (self._finite and type(action) is int and 0 <= action < self.n_arms):
            action = nearest_arm(self._arms, self._problem.checked(action))
        if not self.scale.known:
            self.scale.observe(reward)
        self.learn(action, reward, t)

    def any_of(self, arms: Sequence[int] | NDArray[np.integer[Any]]) -> int:
        """Return one of the given arms, drawn uniformly; return a single arm without a draw."""
        return int(arms[int(self._rng.integers(len(arms)))]) if len(arms) > 1 else int(arms[0])

    def best_of(self, values: list[float] | Array) -> int:
        """Return the arm with the greatest value; ties are broken at random."""
        if isinstance(values, list):  # several times faster than NumPy for a few arms
            top = max(values)
            if values.count(top) == 1:
                return values.index(top)
            return self.any_of([arm for arm, value in enumerate(values) if value == top])
        return self.any_of(np.flatnonzero(values == values.max()))

    def highest_bound(self, means: Means, width: float) -> int:
        """Return an untried arm, or the arm with the greatest ``mean + width / sqrt(count)``."""
        if means.untried:
            return self.any_of([arm for arm, n in enumerate(means.count) if not n])
        pairs = zip(means.mean, means.narrow, strict=True)
        return self.best_of([mean + width * narrow for mean, narrow in pairs])

    def best_draw(self, means: Means, deviation: float) -> int:
        """Return an untried arm, or the arm with the greatest draw.

        Each draw is from ``N(mean, deviation^2 / count)``.
        """
        if means.untried:
            return self.any_of([arm for arm, n in enumerate(means.count) if not n])
        draws = self._rng.standard_normal(self.n_arms)
        return self.best_of(np.array(means.mean) + deviation * draws * np.array(means.narrow))
