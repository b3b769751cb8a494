"""Interface of all posteriors."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from agents.arrays import Array, Rng
from agents.gp.actions import Actions, Integers
from agents.gp.kernels.base import Kernel


class Prediction(NamedTuple):
    """Posterior mean and variance of f at q actions, each of shape (q,)."""

    mean: Array
    variance: Array


class Gradient(NamedTuple):
    """Prediction with its derivatives with respect to the action, of shape (q, d)."""

    mean: Array
    variance: Array
    mean_slope: Array
    variance_slope: Array


class Predictive(Protocol):
    """Interface of a posterior for acquisition functions; see :class:`Posterior`."""

    @property
    def kernel(self) -> Kernel:
        """Prior covariance of the mean rewards."""

    @property
    def actions(self) -> Actions:
        """Set of the actions to choose from."""

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return the mean and variance of f(., t).

        For a time before the newest observation, the prediction of a state-space posterior with
        decay is an approximation (see :class:`StateSpace`), and so is that of a mixture of such
        posteriors. All other posteriors are exact at any time.
        """

    def gradient(self, t: float, actions: Any) -> Gradient:
        """Return the prediction with its derivatives, for actions in a box."""

    def sample(self, t: float, rng: Rng, actions: Any = None) -> Array:
        """Return one joint draw of f(., t) at q actions, shape (q,)."""

    def contenders(self, t: float, beta: float) -> Integers | None:
        """Return arms that include all maximisers of mean + sqrt(beta) * sd; None for all arms."""


class Posterior(Predictive, Protocol):
    """Belief about f after observations y = f(a, t) + N(0, noise_variance).

    An action is an arm number for a ``Finite`` set and a point of shape (d,) for a ``Box``.
    Several actions are given as an array of arm numbers or points. ``actions=None`` stands for all
    arms.

    >>> import numpy as np
    >>> from agents.gp import Finite, Periodic, SquaredExponential, make_posterior
    >>> kernel = SquaredExponential(1.0) * Periodic(24.0)
    >>> posterior = make_posterior(kernel, Finite(np.eye(3)), noise_variance=0.1)
    >>> posterior.observe(2, t=1, y=0.7)
    >>> mean, variance = posterior.predict(t=25)
    >>> int(mean.argmax())
    2
    """

    @property
    def name(self) -> str:
        """Name of the engine and, in parentheses, details such as its number of features."""

    @property
    def noise_variance(self) -> float:
        """Variance of the observation noise."""

    @property
    def count(self) -> int:
        """Number of observations so far."""

    @property
    def log_evidence(self) -> float:
        """Log density log N(y; 0, K + noise) of all observations so far.

        An observation that was dropped or discounted later contributes the density that it had when
        it arrived.
        """

    def observe(self, action: Any, t: float, y: float) -> None:
        """Add an observation. Observations may arrive in any order of time."""

    def reset(self) -> None:
        """Forget all observations."""


def gaussian_sample(mean: Array, covariance: Array, rng: Rng) -> Array:
    """Draw from N(mean, covariance); the covariance may be singular up to rounding.

    The draw is mean + C^1/2 z with the symmetric root, which is unique. Eigenvectors are not
    unique: their signs, and their choice for repeated eigenvalues, depend on the BLAS library.
    """
    value, vector = np.linalg.eigh(covariance)
    scale = np.sqrt(np.maximum(value, 0.0))
    return np.asarray(mean + vector @ (scale * (vector.T @ rng.standard_normal(len(mean)))))


def feature_sample(phi: Array, mean: Array, covariance: Array, rng: Rng) -> Array:
    """Draw phi v with v from N(mean, covariance), at a cost linear in the number of actions.

    Up to rounding, the draw equals that of ``gaussian_sample`` with the mean and covariance of
    phi v, so it does not depend on the basis of the features.
    """
    value, vector = np.linalg.eigh(covariance)
    root = phi @ (vector * np.sqrt(np.maximum(value, 0.0)))
    left, scale, _ = np.linalg.svd(root, full_matrices=False)
    return np.asarray(phi @ mean + left @ (scale * (left.T @ rng.standard_normal(len(phi)))))
