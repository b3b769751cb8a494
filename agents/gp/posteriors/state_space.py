"""State-space posterior, exact to round-off, with a constant cost per step.

The posterior can also learn upper bounds on f(a, t). The belief about one value f ~ N(m, v),
truncated to f <= c, has the following mass and moments, with z = (c - m) / sqrt(v):

    Z = Phi(z),    r = phi(z) / Phi(z),    mean m - sqrt(v) r,    variance v {1 - r (z + r)}.

The factor 1[f <= c] is replaced by a scaled Gaussian, exp(g) N(y; f, s2), that leads to the same Z,
mean and variance. This is assumed-density filtering [@minka2001expectation].
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from agents.arrays import Array, Rng
from agents.checks import finite_observation, positive_weight
from agents.gp.actions import Actions, Finite, Integers
from agents.gp.features import Features, find_features
from agents.gp.kernels.base import Kernel
from agents.gp.posteriors.base import Gradient, Prediction, feature_sample
from agents.gp.posteriors.kalman import KalmanFilter, Moments, Slice
from agents.gp.posteriors.late import LateObservations

MANY = 1000
"""Number of arms above which a short list saves time."""
ROUNDING = 3e-5
"""Bound on the relative error of phi_1^T C_11 phi_1 in single precision, for M_a < 500."""


class StateSpace:
    """Posterior for kernels with finitely many features, such as constant and periodic kernels.

    If the kernel does not decay, late observations are treated exactly. If it decays, a late
    observation is treated exactly if fewer than 32 newer observations have arrived (``late.py``).
    If it decays, predictions for times before the newest observation are approximations, which are
    computed from the belief at the time of the newest observation.

    Args:
        kernel: Prior covariance.
        actions: Finite set or box.
        noise_variance: Variance sigma^2 > 0 of the noise.
        features: Features of the kernel; None to compute them.
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
        many = self._phi is not None and len(self._phi) > MANY
        self._shortlist = Shortlist(self._phi) if self._phi is not None and many else None
        self._memo: tuple[Any, Array] = (None, np.empty(0))
        self.reset()

    def reset(self) -> None:
        """Forget all observations."""
        self.count = 0
        self.filter = KalmanFilter(self.features)
        self._late = LateObservations(self.filter)

    @property
    def name(self) -> str:
        """Name of the engine, with the number of features."""
        return f"state-space ({self.features.size} features)"

    @property
    def log_evidence(self) -> float:
        """Sum of the log densities of the observations, each given all earlier observations."""
        return self._late.log_evidence

    def observe(self, action: Any, t: float, y: float, weight: float = 1.0) -> None:
        """Learn from an observation by a rank-one update.

        The noise variance of the observation is divided by ``weight``.
        """
        positive_weight(weight)
        self.weigh(action, t, y, self.noise_variance / weight)

    def weigh(
        self, action: Any, t: float, y: float, noise_variance: float, log_scale: float = 0.0
    ) -> None:
        """Multiply the belief by exp(log_scale) N(y; f(action, t), noise_variance).

        An observation is a factor of this form. Other knowledge of f(action, t) can be approximated
        by a factor of this form.
        """
        finite_observation(t, y)
        self._late.observe(self.phi_of(action), t, y, noise_variance, log_scale)
        self.count += 1

    def learned(self, phi: Array, t: float, y: float, density: float) -> None:
        """Record an observation that has already been applied to the filter.

        ``density`` is the log density of the observation.
        """
        self.filter.advance(t)
        self._late.took(phi, t, y, self.noise_variance, density)
        self.count += 1

    def phi_of(self, action: Any) -> Array:
        """Return phi of one action, shape (M_a,)."""
        if self._phi is None:
            return np.asarray(self.phi(action)[0])
        if action < 0:
            raise IndexError(f"an arm must be from 0 to {len(self._phi) - 1}, got {action}")
        return np.asarray(self._phi[action])

    def discount(self, factor: float) -> None:
        """Multiply the weights of all observations so far by ``factor``."""
        positive_weight(factor)
        self.filter.discount(factor)

    def learn(self, actions: Any, t: Array, y: Array) -> None:
        """Learn from many observations, in batches if the kernel has no decay."""
        self._late.learn(self.phi(actions), t, y, self.noise_variance)
        self.count += len(t)

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return the mean and variance of f(., t).

        If the kernel decays and t is before the newest observation, both are approximations.
        """
        now = self.now(t)
        return predicted(self.phi(actions), now.mean, now.covariance)

    def weigh_all(self, actions: Any, t: float, factors: Array) -> None:
        """Apply ``weigh`` to several actions at the time of the newest observation.

        Args:
            actions: Array of q actions.
            t: Time of the newest observation.
            factors: Factors (y, noise variance, log scale), one per action, shape (q, 3).
        """
        self._late.observe_all(t, self.phi(actions), factors)
        self.count += len(factors)

    def joint(self, t: float, actions: Any = None) -> tuple[Array, Array]:
        """Return the mean (q,) and covariance (q, q) of f(., t), by default for all arms."""
        phi, now = self.phi(actions), self.now(t)
        return phi @ now.mean, np.asarray(phi @ now.covariance @ phi.T)

    def gradient(self, t: float, actions: Any) -> Gradient:
        """Return the prediction with its derivatives."""
        points, now = self.actions.points(actions), self.now(t)
        phi, slope = self.features.phi(points), self.features.slope(points)
        return sloped(phi, slope, now.mean, now.covariance)

    def sample(self, t: float, rng: Rng, actions: Any = None) -> Array:
        """Return one draw of f(., t), shape (q,)."""
        now = self.now(t)
        return feature_sample(self.phi(actions), now.mean, now.covariance, rng)

    def contenders(self, t: float, beta: float) -> Integers | None:
        """Return the arms that may have the largest UCB, or None for at most ``MANY`` arms."""
        if self._shortlist is None or self._phi is None:
            return None
        now = self.filter.at(t)
        return self._shortlist(self._phi @ now.mean, now.covariance, beta)

    def now(self, t: float) -> Slice:
        """Return the belief about f(., t) in terms of v, valid until the next call."""
        return self.filter.at(t)

    def moments(self, t: float) -> Moments:
        """Return the belief about f(., t) as ``Moments`` with a leading axis of length 1."""
        now = self.now(t)
        return Moments(now.mean[None], now.covariance[None])

    def phi(self, actions: Any) -> Array:
        """Return phi of the actions, shape (q, M_a)."""
        if self._phi is not None:
            return self._phi if actions is None else self._phi[np.atleast_1d(actions)]
        if actions is self._memo[0]:
            return self._memo[1]
        phi = self.features.phi(self.actions.points(actions))
        if isinstance(actions, np.ndarray) and not actions.flags.writeable:
            self._memo = (actions, phi)  # a grid that is used at every step
        return phi


def predicted(phi: Array, mean: Array, covariance: Array) -> Prediction:
    """Return the mean and variance of phi . v, v ~ N(mean, covariance)."""
    variance = np.einsum("qi,qi->q", phi @ covariance, phi)
    return Prediction(phi @ mean, np.maximum(variance, 0.0))


def sloped(phi: Array, slope: Array, mean: Array, covariance: Array) -> Gradient:
    """Return the prediction and its derivatives.

    ``slope`` is the derivative of phi, shape (q, d, M_a).
    """
    spread = phi @ covariance
    variance = np.maximum(np.einsum("qi,qi->q", spread, phi), 0.0)
    variance_slope = 2 * np.einsum("qdi,qi->qd", slope, spread)
    return Gradient(phi @ mean, variance, slope @ mean, variance_slope)


class Shortlist:
    """Short list of the arms that can have the largest upper confidence bound.

    The variances of n arms, phi^T C phi, cost O(n M_a^2). Most arms can be excluded in single
    precision with the first few features: with phi = (phi_1, phi_2),

        | sqrt(phi^T C phi) - sqrt(phi_1^T C_11 phi_1) | <= |phi_2|,      since C <= I.

    No maximiser is excluded, even if several arms tie. Arms are excluded with few features first,
    then with more features.

    Args:
        phi: Features of the arms, strongest first, shape (n, M_a).
    """

    def __init__(self, phi: Array) -> None:
        square = phi**2
        # Squared norm of phi from feature i on, shape (n, M_a).
        rest = np.cumsum(square[:, ::-1], axis=1)[:, ::-1]
        self._norm2 = rest[:, 0].copy()
        heights = rest.max(axis=0) / self._norm2.max()
        self._widths = [max(1, int((heights > tail**2).sum())) for tail in (1e-1, 3e-3)]
        rest = np.pad(rest, ((0, 0), (0, 1)))
        self._tails = [np.sqrt(rest[:, w]) for w in self._widths]
        self._single = phi[:, : self._widths[-1]].astype(np.float32)

    def __call__(self, mean: Array, covariance: Array, beta: float) -> Integers:
        """Return arms that may maximise mean + sqrt(beta) * standard deviation."""
        arms = np.arange(len(mean))
        for width, tail in zip(self._widths, self._tails, strict=True):
            C = covariance[:width, :width].astype(np.float32)
            phi = self._single[arms, :width]
            variance = np.einsum("qi,qi->q", phi @ C, phi)
            arms = arms[self._open(mean[arms], variance, tail[arms], self._norm2[arms], beta)]
        return arms

    @staticmethod
    def _open(
        mean: Array, variance: NDArray[np.float32], tail: Array, norm2: Array, beta: float
    ) -> NDArray[np.bool_]:
        """Return a mask of the arms whose UCB may be the largest.

        The mask follows from lower and upper limits of all UCBs.
        """
        slack = ROUNDING * norm2
        high = mean + math.sqrt(beta) * (np.sqrt(np.maximum(variance + slack, 0.0)) + tail)
        low = mean + math.sqrt(beta) * (np.sqrt(np.maximum(variance - slack, 0.0)) - tail)
        return np.asarray(high >= low.max() - ROUNDING * math.sqrt(norm2.max()))


MIN_EXCEEDING_PROBABILITY = 0.03
"""Minimum probability that an arm exceeds its bound; arms with a lower probability are not
adjusted."""
MIN_VARIANCE_SHARE = 1e-3
"""Lower bound on the variance of an arm that is adjusted, as a share of the noise variance."""
MAX_PUSHED_ARMS = 5
"""Largest number of arms that are adjusted for one set of bounds."""


class Factor(NamedTuple):
    """Gaussian factor exp(log_scale) N(y; f, variance)."""

    y: float
    variance: float
    log_scale: float


def at_most(mean: float, variance: float, bound: float) -> Factor:
    """Return the Gaussian factor that replaces f <= bound for a belief N(mean, variance)."""
    deviation = math.sqrt(variance)
    z = (bound - mean) / deviation
    # The moments are those in the docstring of the module, with r = phi(z) / Phi(z).
    log_z = float(log_ndtr(z))
    r = math.exp(-0.5 * z * z - 0.5 * math.log(2 * math.pi) - log_z)
    shrink = min(max(1.0 - r * (z + r), 1e-3), 1.0 - 1e-9)  # ratio of the new to the old variance
    own = variance * shrink / (1.0 - shrink)
    y = mean - deviation * r / (1.0 - shrink)
    total = variance + own
    density = -0.5 * ((y - mean) ** 2 / total + math.log(2 * math.pi * total))
    return Factor(y, own, log_z - density)


def none_above(posterior: StateSpace, arm: int, t: float, bounds: Array) -> float:
    """Learn that at time t the mean reward of every arm b except ``arm`` was at most bounds[b].

    Arms are adjusted by decreasing probability of exceeding their bounds, until no arm is likely to
    exceed its bound, or ``MAX_PUSHED_ARMS`` arms are adjusted. The factors are computed with the
    joint belief about the arms at t, and then applied to the state.

    Args:
        posterior: Posterior over finitely many arms.
        arm: Arm without a bound.
        t: Time.
        bounds: Upper bounds, shape (n,).

    Returns:
        Log probability of the bounds under the previous belief.
    """
    before = posterior.log_evidence
    mean, C = posterior.joint(t)
    least = MIN_VARIANCE_SHARE * posterior.noise_variance
    open_arms = np.arange(len(bounds)) != arm
    arms: list[int] = []
    factors: list[Factor] = []
    for _ in range(MAX_PUSHED_ARMS):
        deviation = np.sqrt(np.maximum(np.diagonal(C), least))
        above = ndtr((mean - bounds) / deviation) * open_arms
        b = int(above.argmax())
        if above[b] < MIN_EXCEEDING_PROBABILITY:
            break
        factor = at_most(float(mean[b]), float(deviation[b]) ** 2, float(bounds[b]))
        gain = C[b] / (deviation[b] ** 2 + factor.variance)
        mean = mean + gain * (factor.y - mean[b])
        C = C - np.outer(gain, C[b])
        open_arms[b] = False
        arms.append(b)
        factors.append(factor)
    if arms:
        posterior.weigh_all(arms, t, np.array(factors))
    return posterior.log_evidence - before
