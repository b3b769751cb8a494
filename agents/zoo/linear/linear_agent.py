"""Base of agents whose mean reward is linear in features of the arms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import not_negative, positive, share
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.linear.ridge import Ridge, ellipsoid_radius


def arm_features(problem: Problem, arms: NDArray[Any]) -> Array:
    """Return a row of features for each arm, of norm at most 1.

    Coordinates (``action_features``, or the point of the box) are centred, shrunk to the unit ball
    and joined by a constant: x = (1, z) / sqrt 2. Arms without coordinates are unit vectors.
    """
    if problem.n_actions is not None and problem.action_features is None:
        return np.eye(len(arms))
    known = problem.action_features
    points = np.asarray(arms if known is None else known, dtype=np.float64)
    points = points - (points.max(axis=0) + points.min(axis=0)) / 2.0
    longest = float(np.linalg.norm(points, axis=1).max())
    ones = np.ones((len(points), 1))
    features: Array = np.hstack([ones, points / longest if longest > 0 else points])
    return features / math.sqrt(2.0)


class LinearAgent(ArmAgent):
    """Base of the linear agents: features, confidence bounds, and what they are scaled with.

    Pseudo-code::

        x_a <- features of arm a (``arm_features``)
        theta <- ridge regression of the rewards on the features of what was chosen
        bound_a <- x_a' theta + width radius |x_a|,  radius = sigma (...) + sqrt(lam) S

    The papers suppose |theta' x| <= S = 1 and know sigma. Here rewards are counted from the middle
    of ``RewardScale.interval`` and S in units of half its width, which is the same in any unit.

    Args:
        regulariser: lam, the penalty; 0.1 as in the experiments of [@russac2019weighted].
        bound: S, on the norm of theta.
        width: A factor of the radius where arms are compared: 1 as proved; less explores less.
        delta: Probability with which a confidence bound may fail; by default one over the horizon.
        common: Arguments of every agent for arms, see :class:`ArmAgent`.
    """

    longest = 1.0
    """Norm of the longest features."""

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        regulariser: float = 0.1,
        bound: float = 1.0,
        delta: float | None = None,
        width: float = 1.0,
        **common: Any,
    ) -> None:
        self.lam, self.bound = positive("regulariser", regulariser), not_negative("bound", bound)
        self.width = not_negative("width", width)
        usual = 1.0 / max(problem.likely_horizon, 2)
        self.delta = usual if delta is None else share("delta", delta)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Compute the features; subclasses add regressions."""
        self.x = arm_features(self._problem, self._arms)

    @property
    def dim(self) -> int:
        """Number of features."""
        return int(self.x.shape[1])

    def new_ridge(self) -> Ridge:
        """Return a regression that has seen nothing."""
        return Ridge(self.dim, self.lam)

    @property
    def middle(self) -> float:
        """Middle of the rewards, from which they are counted."""
        return sum(self.scale.interval) / 2.0

    @property
    def penalty(self) -> float:
        """sqrt(lam) S, the penalty's share of the radius."""
        low, high = self.scale.interval
        return math.sqrt(self.lam) * self.bound * (high - low) / 2.0

    def radius(self, ridge: Ridge) -> float:
        """Return the radius of the confidence ellipsoid about a regression."""
        return self.scale.sigma * self.noise_radius(ridge) + self.penalty

    def noise_radius(self, ridge: Ridge) -> float:
        """Return the noise's share of the radius, in units of sigma."""
        return ellipsoid_radius(ridge, lam=self.lam, delta=self.delta, longest=self.longest)

    def bounds(self, ridge: Ridge, radius: float | None = None) -> Array:
        """Return upper confidence bounds of the arms."""
        mean, deviation = ridge.predict(self.x, self.middle)
        radius = self.radius(ridge) if radius is None else radius
        return mean + self.width * radius * deviation
