"""Covariances between times, all functions of the lag d = t - s and 1 at lag 0."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ive

from agents.arrays import Array
from agents.checks import positive, require, share, whole
from agents.gp.kernels.base import POSITIVE, Spectrum, Term, TimeKernel


@dataclass(frozen=True)
class Constant(TimeKernel):
    """Rewards that are constant in time (GP-UCB): c(d) = 1, times a variance.

    Attributes:
        variance: The value of the kernel; it becomes the variance of the term.
    """

    variance: float = 1.0

    @property
    def terms(self) -> tuple[Term, ...]:
        """One term without factors."""
        return (Term(self.variance),)

    def __call__(self, lag: Array) -> Array:
        """Return 1 at every lag; the variance belongs to the term."""
        return np.ones(lag.shape)


@dataclass(frozen=True)
class Periodic(TimeKernel):
    """Rewards that repeat: c(d) = exp{-(2 / l^2) sin^2(pi d / tau)}, Eq. (2).

    With z = 1/l^2 and I_k the modified Bessel functions it is the cosine series
    c(d) = e^-z [I_0(z) + 2 sum_k I_k(z) cos(2 pi k d / tau)].

    Other libraries, with s = sin(pi d / tau): scikit-learn ExpSineSquared exp(-2 s^2 / l^2), the
    same l; GPyTorch exp(-2 s^2 / l), where it is l^2; GPy and GPJax exp(-s^2 / (2 l^2)), where it
    is l / 2; tinygp exp(-Gamma s^2), Gamma = 2 / l^2.

    Attributes:
        period: tau, any positive real number, in the unit of t.
        length_scale: l, without unit. At 10 (the paper) the kernel never falls below 0.98.
    """

    period: float
    length_scale: float = 1.0
    free: ClassVar[Mapping[str, tuple[float, float]]] = {
        "period": POSITIVE,
        "length_scale": (0.05, 1e3),
    }

    def __post_init__(self) -> None:
        positive("period", self.period)
        positive("length_scale", self.length_scale)

    def __call__(self, lag: Array) -> Array:
        """Return the covariance at each lag, by Eq. (2)."""
        sine = np.sin(np.pi * (lag / self.period % 1.0))
        return np.asarray(np.exp(-2.0 / self.length_scale**2 * sine**2))

    def spectrum(self) -> Spectrum:
        """Return the frequencies k / tau with the Bessel weights of the series."""
        z = 1.0 / self.length_scale**2
        k = np.arange(math.ceil(math.sqrt(80.0 * z)) + 40)  # beyond it I_k(z) e^-z < 1e-17
        weight = np.where(k == 0, 1.0, 2.0) * ive(k, z)
        keep = weight > 1e-17
        return Spectrum(k[keep] / self.period, weight[keep])


@dataclass(frozen=True)
class TruncatedPeriodic(TimeKernel):
    """A level and a few harmonics: c(d) = sum_k w_k cos(2 pi k d / tau).

    k runs from 0 to ``harmonics`` and w_k are the first weights of ``Periodic``, normalised to sum
    1. The truncation drops fine detail within a season for a small state (2 ``harmonics`` + 1
    features; at l = 1, four harmonics have 0.9997 of the variance).

    Attributes:
        period: tau, any positive real number, in the unit of t.
        length_scale: l, as in ``Periodic``.
        harmonics: Number of harmonics.
    """

    period: float
    length_scale: float = 1.0
    harmonics: int = 4
    free: ClassVar[Mapping[str, tuple[float, float]]] = {
        "period": POSITIVE,
        "length_scale": (0.05, 1e3),
    }

    def __post_init__(self) -> None:
        positive("period", self.period)
        positive("length_scale", self.length_scale)
        whole("harmonics", self.harmonics)

    def __call__(self, lag: Array) -> Array:
        """Return the covariance at each lag, by the formula of the class."""
        return self.spectrum().at(lag)

    def spectrum(self) -> Spectrum:
        """Return the harmonics: decaying cosines of the frequencies k / tau."""
        k = np.arange(self.harmonics + 1)
        weight = np.where(k == 0, 1.0, 2.0) * ive(k, 1.0 / self.length_scale**2)
        return Spectrum(k / self.period, weight / weight.sum())


@dataclass(frozen=True)
class Harmonics(TimeKernel):
    """Some harmonics of a season and no level: c(d) = sum_k w_k cos(2 pi k d / tau).

    k runs from ``lowest`` to ``highest``, and w_k is proportional to k^-3/2, normalised to sum 1.
    Low harmonics are the smooth part of a season, high ones its sharp part; as separate terms they
    have separate variances, so that the sharpness of a season can be learned.

    Attributes:
        period: tau, any positive real number, in the unit of t.
        lowest: The first k.
        highest: The last k.
    """

    period: float
    lowest: int = 1
    highest: int = 3
    free: ClassVar[Mapping[str, tuple[float, float]]] = {"period": POSITIVE}

    def __post_init__(self) -> None:
        positive("period", self.period)
        whole("lowest", self.lowest)
        whole("highest", self.highest)
        ordered = self.lowest <= self.highest
        require(ordered, "lowest must be at most highest", (self.lowest, self.highest))

    def __call__(self, lag: Array) -> Array:
        """Return the covariance at each lag, by the formula of the class."""
        return self.spectrum().at(lag)

    def spectrum(self) -> Spectrum:
        """Return the frequencies k / tau with their weights."""
        k = np.arange(self.lowest, self.highest + 1)
        weight = k**-1.5
        return Spectrum(k / self.period, weight / weight.sum())


@dataclass(frozen=True)
class Decay(TimeKernel):
    """Slow forgetting (TV-GP-UCB): c(d) = (1 - eps)^(|d| / 2).

    An Ornstein-Uhlenbeck covariance exp(-|d| / l), l = -2 / log(1 - eps); scikit-learn
    Matern(nu=0.5, length_scale=l).

    Attributes:
        eps: Forgetting rate in (0, 1): f_{t+1} = sqrt(1 - eps) f_t + sqrt(eps) g_{t+1}.
    """

    eps: float
    free: ClassVar[Mapping[str, tuple[float, float]]] = {"eps": (1e-6, 0.99)}

    def __post_init__(self) -> None:
        share("eps", self.eps)

    @property
    def log_rho(self) -> float:
        """Logarithm of rho = sqrt(1 - eps), the correlation at lag 1."""
        return 0.5 * math.log1p(-self.eps)

    def __call__(self, lag: Array) -> Array:
        """Return the covariance rho^|d| at each lag d."""
        return np.asarray(np.exp(self.log_rho * np.abs(lag)))

    def spectrum(self) -> Spectrum:
        """Return frequency zero, decaying."""
        return Spectrum(np.zeros(1), np.ones(1), self.log_rho)


@dataclass(frozen=True)
class TimeSquaredExponential(TimeKernel):
    """Time as a context (C-GP-UCB): c(d) = exp{-d^2 / (2 l^2)}.

    The same l as scikit-learn RBF, GPyTorch, GPy and GPJax.

    Attributes:
        length_scale: l, in the unit of t.
    """

    length_scale: float
    free: ClassVar[Mapping[str, tuple[float, float]]] = {"length_scale": POSITIVE}

    def __post_init__(self) -> None:
        positive("length_scale", self.length_scale)

    def __call__(self, lag: Array) -> Array:
        """Return the covariance at each lag, by the formula of the class."""
        return np.asarray(np.exp(-0.5 * (lag / self.length_scale) ** 2))
