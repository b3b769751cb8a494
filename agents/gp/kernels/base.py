"""Base classes of kernels, sums and products of kernels, and spectra of time kernels.

Sums and products of kernels are sums of separable terms,

    k{(a, t), (b, s)} = sum_i v_i  k_i(a, b)  c_i(t - s),          (after Eq. 3)

with k_i a product of action kernels and c_i a product of time kernels. Every engine of this
package uses that form. Some time kernels are finite sums of decaying cosines,

    c(d) = rho^|d|  sum_j w_j cos(2 pi nu_j d),        nu_j in cycles per unit of time.

A product of two such kernels has the same form, with the sums and differences of their frequencies.
At whole times, frequencies that differ by a whole number are equivalent. Both properties keep the
number of features small: Periodic(24) * Periodic(168) has no more features than Periodic(168).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np

from agents.arrays import Array
from agents.checks import positive
from agents.gp.actions import Points

SAME_FREQUENCY = 1e-11
"""Difference, in cycles per unit of time, below which frequencies are treated as equal."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Spectrum of a time kernel.

    Attributes:
        nu: Frequencies, shape (p,).
        weight: Weights w, shape (p,).
        log_rho: Logarithm of the decay rho per unit of time.
    """

    nu: Array
    weight: Array
    log_rho: float = 0.0

    @classmethod
    def constant(cls) -> Spectrum:
        """Return the spectrum of c(d) = 1."""
        return cls(np.zeros(1), np.ones(1))

    def __mul__(self, other: Spectrum) -> Spectrum:
        """Return the spectrum of the product of two kernels.

        Cosines are multiplied by cos x cos y = (cos(x - y) + cos(x + y)) / 2, and the decays of the
        kernels are multiplied.
        """
        low = np.abs(np.subtract.outer(self.nu, other.nu)).ravel()
        high = np.add.outer(self.nu, other.nu).ravel()
        half = 0.5 * np.outer(self.weight, other.weight).ravel()
        return _merged(np.r_[low, high], np.r_[half, half], self.log_rho + other.log_rho)

    def folded(self) -> Spectrum:
        """Return a spectrum of the same kernel at whole lags, with frequencies in [0, 1/2]."""
        nu = self.nu % 1.0
        return _merged(np.minimum(nu, 1.0 - nu), self.weight, self.log_rho)

    def at(self, lag: Array) -> Array:
        """Return the kernel at each lag, in the shape of ``lag``."""
        waves = np.cos(2 * np.pi * np.multiply.outer(lag, self.nu)) @ self.weight
        return np.asarray(np.exp(self.log_rho * np.abs(lag)) * waves)


@dataclass(frozen=True, eq=False)
class TimeFeatures:
    """Features psi(t) with c(t - s) = rho^|t - s| psi(t) . psi(s), in order of decreasing weight.

    Attributes:
        nu: Frequency of each feature, shape (m_t,).
        shift: Phase shift of each feature: 0 for a cosine, pi/2 for a sine, shape (m_t,).
        amplitude: Amplitude sqrt(w) of each feature, shape (m_t,).
    """

    nu: Array
    shift: Array
    amplitude: Array

    @classmethod
    def of(cls, spectrum: Spectrum, *, whole_times: bool) -> TimeFeatures:
        """Return a cosine and a sine for each frequency, except sines that are always zero."""
        order = np.argsort(-spectrum.weight, kind="stable")
        nu, weight = np.repeat(spectrum.nu[order], 2), np.repeat(spectrum.weight[order], 2)
        shift = np.tile([0.0, np.pi / 2], len(order))
        flat = nu < SAME_FREQUENCY
        if whole_times:
            flat |= np.abs(nu - 0.5) < SAME_FREQUENCY
        keep = (shift == 0.0) | ~flat
        return cls(nu[keep], shift[keep], np.sqrt(weight[keep]))

    def __call__(self, t: float | Array) -> Array:
        """Return psi(t), shape (m_t,), or psi of an array of times (n, 1), shape (n, m_t)."""
        # Whole cycles are removed before the multiplication by 2 pi, to keep precision for large t.
        return self.amplitude * np.cos(2 * np.pi * (self.nu * t % 1.0) - self.shift)


def _merged(nu: Array, weight: Array, log_rho: float) -> Spectrum:
    """Return a spectrum with equal frequencies merged and relative weights below 1e-17 dropped."""
    _, first, inverse = np.unique(
        np.round(nu / SAME_FREQUENCY), return_index=True, return_inverse=True
    )
    total = np.bincount(inverse.ravel(), weights=weight)
    keep = total > 1e-17 * total.max()
    return Spectrum(nu[first][keep], total[keep], log_rho)


POSITIVE = (1e-5, 1e5)
"""Bounds of most positive hyper-parameters for ``fit``."""


class Kernel:
    """Base class of kernels. Kernels can be added, and multiplied by a kernel or a number."""

    free: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """Positive hyper-parameters and their bounds for ``fit``."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """Separable terms that sum to this kernel."""
        raise NotImplementedError

    def __add__(self, other: Kernel) -> Sum:
        return Sum(self.terms + other.terms)

    def __mul__(self, other: Kernel | float) -> Sum:
        others = other.terms if isinstance(other, Kernel) else (Term(float(other)),)
        return Sum(tuple(p.times(q) for p in self.terms for q in others))

    __rmul__ = __mul__

    def gram(self, a: Points, t: Array, b: Points, s: Array) -> Array:
        """Return the covariance of (a_i, t_i) with (b_j, s_j), shape (n, m).

        A single time, shape (1,), applies to all actions.
        """
        lag = np.subtract.outer(t, s)
        return _total([p.variance * p.over_actions(a, b) * p.over_time(lag) for p in self.terms])

    def diagonal(self, a: Points) -> Array:
        """Return the prior variance at each action, shape (n,), which is the same at all times."""
        return _total([p.variance * p.own(a) for p in self.terms])

    def diagonal_gradient(self, a: Points) -> Array:
        """Return the derivative of ``diagonal`` with respect to the coordinates, shape (n, d)."""
        return _total([p.variance * p.own_slope(a) for p in self.terms])

    def gradient(self, a: Points, t: Array, b: Points, s: Array) -> Array:
        """Return the derivative of ``gram`` with respect to ``a.x``, shape (n, m, d)."""
        lag = np.subtract.outer(t, s)[:, :, None]
        return _total([p.variance * p.slope(a, b) * p.over_time(lag) for p in self.terms])


class ActionKernel(Kernel):
    """Covariance between actions.

    Attributes:
        analytic: True if the kernel is an entire function of the coordinates, so that a fine grid
            resolves it.
    """

    analytic: ClassVar[bool] = False

    @property
    def curvature(self) -> float:
        """Largest -k''(0) over the coordinates: 1 / l^2 for a kernel with a length-scale l."""
        return 0.0

    @property
    def terms(self) -> tuple[Term, ...]:
        """Single term, which is constant in time."""
        return (Term(1.0, actions=(self,)),)

    def __call__(self, a: Points, b: Points) -> Array:
        """Return the covariance matrix, shape (n, m)."""
        raise NotImplementedError

    def own(self, a: Points) -> Array:
        """Return the variance at each action, shape (n,); 1 by default."""
        return np.ones(len(a.x))

    def own_slope(self, a: Points) -> Array:
        """Return the derivative of ``own``, shape (n, d); 0 by default."""
        return np.zeros(a.x.shape)

    def slope(self, a: Points, b: Points) -> Array:
        """Return the derivative with respect to the coordinates of a, shape (n, m, d)."""
        raise TypeError(
            f"{type(self).__name__} has no gradient: use it with a finite set of actions"
        )


class TimeKernel(Kernel):
    """Stationary covariance between times, which is 1 at lag 0."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """Single term, which is constant over actions."""
        return (Term(1.0, clocks=(self,)),)

    def __call__(self, lag: Array) -> Array:
        """Return the covariance at each lag t - s, in the shape of ``lag``."""
        raise NotImplementedError

    def spectrum(self) -> Spectrum | None:
        """Return the kernel as a finite sum of decaying cosines, or None if that is impossible."""
        return None


@dataclass(frozen=True)
class Term:
    """Separable term: variance times action kernels times time kernels."""

    variance: float
    actions: tuple[ActionKernel, ...] = ()
    clocks: tuple[TimeKernel, ...] = ()

    def __post_init__(self) -> None:
        positive("the variance of a term", self.variance)

    @property
    def factors(self) -> tuple[ActionKernel | TimeKernel, ...]:
        """All action kernels and time kernels of the product."""
        return (*self.actions, *self.clocks)

    def times(self, other: Term) -> Term:
        """Return the product of two terms."""
        variance = self.variance * other.variance
        return Term(variance, self.actions + other.actions, self.clocks + other.clocks)

    def over_actions(self, a: Points, b: Points) -> Array:
        """Return the product of the action kernels, shape (n, m)."""
        return _product([k(a, b) for k in self.actions], (len(a.x), len(b.x)))

    def own(self, a: Points) -> Array:
        """Return the diagonal of ``over_actions``, shape (n,)."""
        return _product([k.own(a) for k in self.actions], (len(a.x),))

    def slope(self, a: Points, b: Points) -> Array:
        """Return the derivative of ``over_actions`` by the product rule, shape (n, m, d)."""
        parts = [k.slope(a, b) * r.over_actions(a, b)[:, :, None] for k, r in self._each()]
        return _total([np.zeros((len(a.x), len(b.x), a.x.shape[1])), *parts])

    def own_slope(self, a: Points) -> Array:
        """Return the derivative of ``own``, shape (n, d)."""
        parts = [k.own_slope(a) * r.own(a)[:, None] for k, r in self._each()]
        return _total([np.zeros(a.x.shape), *parts])

    def _each(self) -> list[tuple[ActionKernel, Term]]:
        """Return each action kernel with the product of all other action kernels."""
        k = self.actions
        return [(k[i], Term(1.0, k[:i] + k[i + 1 :])) for i in range(len(k))]

    def over_time(self, lag: Array) -> Array:
        """Return the product of the time kernels, in the shape of ``lag``."""
        return _product([k(lag) for k in self.clocks], lag.shape)

    def spectrum(self) -> Spectrum | None:
        """Return the product of the spectra of the time kernels, or None if one has no spectrum."""
        total = Spectrum.constant()
        for part in (k.spectrum() for k in self.clocks):
            if part is None:
                return None
            total = total * part
        return total


@dataclass(frozen=True)
class Sum(Kernel):
    """Sum of separable terms, the result of ``+`` and ``*``."""

    parts: tuple[Term, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        """Terms of the sum."""
        return self.parts


def _total(parts: list[Array]) -> Array:
    return reduce(operator.add, parts)


def _product(factors: list[Array], shape: tuple[int, ...]) -> Array:
    return reduce(operator.mul, factors) if factors else np.ones(shape)
