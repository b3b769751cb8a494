"""State-space posterior: exact to round-off, at a cost per step that does not grow with t."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.gp.arrays import Actions, Array, Finite
from agents.gp.belief import Belief
from agents.gp.features import Features, find_features
from agents.gp.kernel import Kernel
from agents.gp.posterior import Gradient, Prediction, gaussian_sample, require_finite


class StateSpace:
    """Kernels with finite features: any action kernel, constant, periodic and decaying time.
    """

    def __init__(
        self,
        kernel: Kernel,
        actions: Actions,
        noise_variance: float,
        features: Features | None = None,
    ) -> None:
        self.kernel, self.actions, self.noise_variance = kernel, actions, noise_variance
        self.features = features or find_features(kernel, actions)
        self._phi = self.features.phi(actions.points()) if isinstance(actions, Finite) else None
        self.reset()

    def reset(self) -> None:
        """Forget all observations."""
        self._belief = Belief(self.features)
        self.count, self.log_evidence = 0, 0.0

    @property
    def name(self) -> str:
        """Engine and number of features."""
        return f"state-space ({self.features.size} features)"

    def observe(self, action: Any, t: float, y: float) -> None:
        """Rank-one update."""
        require_finite(t, y)
        phi = self._features(action)[0]
        self.log_evidence += self._belief.update(phi, t, y, self.noise_variance)
        self.count += 1

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Mean and variance of f(., t)."""
        phi, now = self._features(actions), self._belief.at(t)
        variance = np.einsum("qi,qi->q", phi @ now.covariance, phi)
        return Prediction(phi @ now.mean, np.maximum(variance, 0.0))

    def gradient(self, t: float, actions: Any) -> Gradient:
        """Prediction with its derivatives."""
        points, now = self.actions.points(actions), self._belief.at(t)
        phi, slope = self.features.phi(points), self.features.slope(points)
        spread = phi @ now.covariance
        variance = np.maximum(np.einsum("qi,qi->q", spread, phi), 0.0)
        mean_slope, variance_slope = slope @ now.mean, 2 * np.einsum("qdi,qi->qd", slope, spread)
        return Gradient(phi @ now.mean, variance, mean_slope, variance_slope)

    def sample(self, t: float, rng: np.random.Generator, actions: Any = None) -> Array:
        """One draw of f(., t), shape (q,)."""
        phi, now = self._features(actions), self._belief.at(t)
        return phi @ gaussian_sample(now.mean, now.covariance, rng)

    def _features(self, actions: Any) -> Array:
        if self._phi is None:
            return self.features.phi(self.actions.points(actions))
        return self._phi if actions is None else self._phi[np.atleast_1d(actions)]
