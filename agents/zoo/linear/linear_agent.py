"""Base of agents that model the mean reward as linear in features of the arms."""

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
    """Return the features of the arms, one row of norm at most 1 for each arm.

    The coordinates z (``action_features``, or the points of a box) are centred and scaled into the
    unit ball. A constant is added as the first feature: x = (1, z) / sqrt 2. Arms without
    coordinates have unit vectors as features.
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
    """Base of the linear agents: features, centring of the rewards, and confidence bounds.

    Pseudo-code::

        x_a <- features of arm a (``arm_features``)
        theta <- ridge regression of the rewards on the features of what was chosen
        bound_a <- x_a' theta + width radius |x_a|,  radius = sigma (...) + sqrt(lam) S

    The papers assume |theta' x| <= S = 1 and a known sigma. Here, the middle of
    ``RewardScale.interval`` is subtracted from every reward, and S is in units of half the width of
    this interval. Choices therefore do not depend on the unit of the rewards.

    Args:
        regulariser: Penalty lam; the default 0.1 is the value in the experiments of
            [@russac2019weighted].
        bound: Bound S on the norm of theta.
        width: Factor by which the radius is multiplied when arms are compared. The proofs assume a
            factor of 1; with a smaller factor, the agent explores less.
        delta: Probability with which a confidence bound may fail; by default 1 / T for the horizon
            T.
        common: Arguments of every agent for arms, see :class:`ArmAgent`.
    """

    longest = 1.0
    """Largest norm of a feature vector."""

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
        """Compute the features; subclasses also create their regressions."""
        self.x = arm_features(self._problem, self._arms)

    @property
    def dim(self) -> int:
        """Number of features."""
        return int(self.x.shape[1])

    def new_ridge(self) -> Ridge:
        """Return a regression without observations."""
        return Ridge(self.dim, self.lam)

    @property
    def middle(self) -> float:
        """Middle of the interval of rewards, which is subtracted from every reward."""
        return sum(self.scale.interval) / 2.0

    @property
    def penalty(self) -> float:
        """Part of the radius that is due to the penalty: sqrt(lam) S."""
        low, high = self.scale.interval
        return math.sqrt(self.lam) * self.bound * (high - low) / 2.0

    def radius(self, ridge: Ridge) -> float:
        """Return the radius of the confidence ellipsoid around the coefficients of a regression."""
        return self.scale.sigma * self.noise_radius(ridge) + self.penalty

    def noise_radius(self, ridge: Ridge) -> float:
        """Return the part of the radius that is due to the noise, in units of sigma."""
        return ellipsoid_radius(ridge, lam=self.lam, delta=self.delta, longest=self.longest)

    def bounds(self, ridge: Ridge, radius: float | None = None) -> Array:
        """Return the upper confidence bounds of the arms."""
        mean, deviation = ridge.predict(self.x, self.middle)
        radius = self.radius(ridge) if radius is None else radius
        return mean + self.width * radius * deviation
