"""Time kernels as finite sums of decaying cosines.

    c(d) = rho^|d|  sum_j w_j cos(2 pi nu_j d),        nu_j in cycles per unit of time.

A product of two such kernels is another one (frequencies add and subtract), and at whole
times frequencies that differ by a whole number are the same one. Both facts keep the number of
features small: Periodic(24) * Periodic(168) has no more features than Periodic(168).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.arrays import Array

SAME_FREQUENCY = 1e-11
"""Frequencies nearer than this (cycles per unit of time) are taken as equal."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Frequencies nu (p,), weights w (p,) and the logarithm of the decay rho per unit of time."""

    nu: Array
    weight: Array
    log_rho: float = 0.0

    @classmethod
    def constant(cls) -> Spectrum:
        """The spectrum of c(d) = 1."""
        return cls(np.zeros(1), np.ones(1))

    def __mul__(self, other: Spectrum) -> Spectrum:
        """cos x cos y = (cos(x - y) + cos(x + y)) / 2; decays multiply."""
        low = np.abs(np.subtract.outer(self.nu, other.nu)).ravel()
        high = np.add.outer(self.nu, other.nu).ravel()
        half = 0.5 * np.outer(self.weight, other.weight).ravel()
        return _merged(np.r_[low, high], np.r_[half, half], self.log_rho + other.log_rho)

    def folded(self) -> Spectrum:
        """The same kernel at whole lags: every frequency moved into [0, 1/2]."""
        nu = self.nu % 1.0
        return _merged(np.minimum(nu, 1.0 - nu), self.weight, self.log_rho)

    def at(self, lag: Array) -> Array:
        """The kernel at each lag, the shape of ``lag``."""
        waves = np.cos(2 * np.pi * np.multiply.outer(lag, self.nu)) @ self.weight
        return np.asarray(np.exp(self.log_rho * np.abs(lag)) * waves)


@dataclass(frozen=True, eq=False)
class TimeFeatures:
    """Features psi(t) with c(t - s) = rho^|t - s| psi(t) . psi(s), heaviest frequency first.

    Attributes:
        nu: Frequency of each feature, shape (m_t,).
        shift: 0 for a cosine, pi/2 for a sine, shape (m_t,).
        amplitude: sqrt(w) of each feature, shape (m_t,).
    """

    nu: Array
    shift: Array
    amplitude: Array

    @classmethod
    def of(cls, spectrum: Spectrum, *, whole_times: bool) -> TimeFeatures:
        """A cosine and a sine per frequency, without the sines that vanish."""
        order = np.argsort(-spectrum.weight, kind="stable")
        nu, weight = np.repeat(spectrum.nu[order], 2), np.repeat(spectrum.weight[order], 2)
        shift = np.tile([0.0, np.pi / 2], len(order))
        flat = nu < SAME_FREQUENCY
        if whole_times:
            flat |= np.abs(nu - 0.5) < SAME_FREQUENCY
        keep = (shift == 0.0) | ~flat
        return cls(nu[keep], shift[keep], np.sqrt(weight[keep]))

    def __call__(self, t: float | Array) -> Array:
        """psi(t), shape (m_t,); of times (n, 1) at once, shape (n, m_t)."""
        # Whole cycles are taken off before the factor 2 pi, which would round them.
        return self.amplitude * np.cos(2 * np.pi * (self.nu * t % 1.0) - self.shift)


def _merged(nu: Array, weight: Array, log_rho: float) -> Spectrum:
    """Add up the weights of equal frequencies; forget weights below a relative 1e-17."""
    _, first, inverse = np.unique(
        np.round(nu / SAME_FREQUENCY), return_index=True, return_inverse=True
    )
    total = np.bincount(inverse.ravel(), weights=weight)
    keep = total > 1e-17 * total.max()
    return Spectrum(nu[first][keep], total[keep], log_rho)
