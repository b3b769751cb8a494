"""Covariances between times, which are functions of the lag d = t - s and are 1 at lag 0."""

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
    """Kernel of rewards that are constant in time (GP-UCB): c(d) = 1, times a variance.

    Attributes:
        variance: Value of the kernel at every lag. It is stored as the variance of the kernel's
            only term.
    """

    variance: float = 1.0

    @property
    def terms(self) -> tuple[Term, ...]:
        """Single term without factors."""
        return (Term(self.variance),)

    def __call__(self, lag: Array) -> Array:
        """Return 1 at every lag; the variance belongs to the term."""
        return np.ones(lag.shape)


@dataclass(frozen=True)
class Periodic(TimeKernel):
    """Kernel of periodic rewards: c(d) = exp{-(2 / l^2) sin^2(pi d / tau)}, Eq. (2).

    With z = 1/l^2 and the modified Bessel functions I_k, the kernel is the cosine series
    c(d) = e^-z [I_0(z) + 2 sum_k I_k(z) cos(2 pi k d / tau)].

    Other libraries define a length-scale L as follows, with s = sin(pi d / tau). The kernel is
    exp(-2 s^2 / L^2) in scikit-learn (ExpSineSquared), so that L = l; exp(-2 s^2 / L) in GPyTorch,
    so that L = l^2; and exp(-s^2 / (2 L^2)) in GPy and GPJax, so that L = l / 2. In tinygp it is
    exp(-Gamma s^2) with Gamma = 2 / l^2.

    Attributes:
        period: Period tau, any positive real number, in the unit of t.
        length_scale: Length-scale l, without a unit. At l = 10, as in the paper, the kernel is
            never below 0.98.
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
        k = np.arange(math.ceil(math.sqrt(80.0 * z)) + 40)  # for larger k, I_k(z) e^-z < 1e-17
        weight = np.where(k == 0, 1.0, 2.0) * ive(k, z)
        keep = weight > 1e-17
        return Spectrum(k[keep] / self.period, weight[keep])


@dataclass(frozen=True)
class TruncatedPeriodic(TimeKernel):
    """Kernel of a level and a few harmonics: c(d) = sum_k w_k cos(2 pi k d / tau).

    k runs from 0 to ``harmonics``, and the w_k are the first weights of ``Periodic``, normalised to
    sum to 1. The truncation omits fine detail within a season in exchange for a small state, with
    2 ``harmonics`` + 1 time features. At l = 1, four harmonics have 0.9997 of the variance.

    Attributes:
        period: Period tau, any positive real number, in the unit of t.
        length_scale: Length-scale l, as in ``Periodic``.
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
        """Return the frequencies k / tau with their weights."""
        k = np.arange(self.harmonics + 1)
        weight = np.where(k == 0, 1.0, 2.0) * ive(k, 1.0 / self.length_scale**2)
        return Spectrum(k / self.period, weight / weight.sum())


@dataclass(frozen=True)
class Harmonics(TimeKernel):
    """Kernel of some harmonics of a season, without a level: c(d) = sum_k w_k cos(2 pi k d / tau).

    k runs from ``lowest`` to ``highest``, and the w_k are proportional to k^-3/2 and sum to 1. Low
    harmonics are the smooth part of a season, and high harmonics are its sharp part. If they are
    separate terms of a kernel, they have separate variances, so that the sharpness of a season can
    be learned.

    Attributes:
        period: Period tau, any positive real number, in the unit of t.
        lowest: Lowest harmonic k.
        highest: Highest harmonic k.
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
        require(ordered, "lowest must not exceed highest", (self.lowest, self.highest))

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
    """Kernel of slow forgetting (TV-GP-UCB): c(d) = (1 - eps)^(|d| / 2).

    This is the Ornstein-Uhlenbeck covariance exp(-|d| / l) with l = -2 / log(1 - eps), which is
    Matern(nu=0.5, length_scale=l) in scikit-learn.

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
        """Return frequency zero with weight 1 and the decay rho."""
        return Spectrum(np.zeros(1), np.ones(1), self.log_rho)


@dataclass(frozen=True)
class TimeSquaredExponential(TimeKernel):
    """Kernel of time as a context (C-GP-UCB): c(d) = exp{-d^2 / (2 l^2)}.

    The length-scale l is defined as in the RBF kernels of scikit-learn, GPyTorch, GPy and GPJax.

    Attributes:
        length_scale: Length-scale l, in the unit of t.
    """

    length_scale: float
    free: ClassVar[Mapping[str, tuple[float, float]]] = {"length_scale": POSITIVE}

    def __post_init__(self) -> None:
        positive("length_scale", self.length_scale)

    def __call__(self, lag: Array) -> Array:
        """Return the covariance at each lag, by the formula of the class."""
        return np.asarray(np.exp(-0.5 * (lag / self.length_scale) ** 2))
