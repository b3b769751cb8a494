"""Feature maps on the action box [-1, 1]^d.

A Gaussian process with covariance ``k`` is drawn as ``f(a) = phi(a) . w`` with
``w_j ~ N(0, scale_j^2)``, where ``sum_j scale_j^2 phi_j(a) phi_j(b) = k(a, b)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from periodic_envs.fields.covariance import matern_reach

Array = NDArray[np.float64]

TOLERANCE = 1e-6
"""Spectral mass cut off, and correlation allowed to wrap around the lattice's circle."""
MAX_HARMONICS = 512


class Basis(Protocol):
    """A finite feature map with the derivatives a maximiser needs."""

    @property
    def scale(self) -> Array:
        """Prior standard deviation of each weight, shape (m,)."""

    @property
    def dim(self) -> int:
        """Dimension d of the action box."""

    @property
    def bandwidth(self) -> float:
        """Largest angular frequency in any feature: sets how fine a search must look."""

    def __call__(self, actions: Array) -> Array:
        """Map actions (..., d) to features (..., m)."""

    def derivatives(self, actions: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Value (n,), gradient (n, d) and Hessian (n, d, d) of row i's function at action i."""


@dataclass(frozen=True)
class FourierBasis:
    """``phi(a) = [cos(omega_1 . a), ..., cos(omega_K . a), sin(omega_1 . a), ...]``.

    Attributes:
        frequencies: omega, radians per unit of action, shape (K, d).
        scale: weight standard deviations, shape (2K,).
        fundamental: omega_1 when ``omega_k = k * omega_1`` (a one-dimensional lattice starting at
            k = 0), else None. The series is then a polynomial in ``exp(i omega_1 a)``.
    """

    frequencies: Array
    scale: Array
    fundamental: float | None = None

    def __post_init__(self) -> None:
        both = np.concatenate([self.frequencies, self.frequencies])
        # sin(x) = cos(x - pi/2): one call of cos evaluates every feature.
        shift = np.repeat([0.0, np.pi / 2], len(self.frequencies))
        object.__setattr__(self, "_frequencies_t", np.ascontiguousarray(both.T))
        object.__setattr__(self, "_shift", shift)

    @property
    def dim(self) -> int:
        """Dimension d of the action box."""
        return int(self.frequencies.shape[1])

    @property
    def bandwidth(self) -> float:
        """Largest angular frequency in any feature."""
        return float(np.linalg.norm(self.frequencies, axis=1).max())

    def __call__(self, actions: Array) -> Array:
        """Map actions (..., d) to features (..., 2K)."""
        omega: Array = self._frequencies_t  # type: ignore[attr-defined]
        angles = actions * omega[0] if len(omega) == 1 else actions @ omega
        angles -= self._shift  # type: ignore[attr-defined]
        features: Array = np.cos(angles, out=angles)
        return features

    def derivatives(self, actions: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Value (n,), gradient (n, d) and Hessian (n, d, d) of row i's function at action i."""
        angles = actions @ self.frequencies.T
        cos, sin = np.cos(angles), np.sin(angles)
        half = len(self.frequencies)
        on_cos, on_sin = weights[:, :half], weights[:, half:]
        waves = on_cos * cos + on_sin * sin
        slopes = on_sin * cos - on_cos * sin
        omega = self.frequencies
        hessian = -((waves[:, None, :] * omega.T) @ omega)
        return waves.sum(1), slopes @ omega, hessian


@dataclass(frozen=True)
class LinearBasis:
    """``phi(a) = a / sqrt(d)``, so that k(a, b) = a . b / d is at most 1 on the box."""

    dim: int

    @property
    def scale(self) -> Array:
        """Unit weights."""
        return np.ones(self.dim)

    @property
    def bandwidth(self) -> float:
        """A straight line needs no fine search."""
        return 1.0

    def __call__(self, actions: Array) -> Array:
        """Map actions (..., d) to features (..., d)."""
        return actions / math.sqrt(self.dim)

    def derivatives(self, actions: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Value (n,), gradient (n, d) and Hessian (n, d, d) of row i's function at action i."""
        gradient = weights / math.sqrt(self.dim)
        hessian = np.zeros((*gradient.shape, self.dim))
        return (actions * gradient).sum(1), gradient, hessian


def lattice(length_scale: float, nu: float | None) -> FourierBasis:
    """One-dimensional SE (``nu=None``) or Matern field as a Fourier series on a circle.

    The circle is just long enough for the correlation across the gap to fall below
    ``TOLERANCE``; the squared amplitudes are the kernel's spectral density at the lattice
    frequencies, cut where the tail holds less than ``TOLERANCE`` (or at ``MAX_HARMONICS``:
    only Matern below nu = 3/2 gets there; its covariance is then within 1 % everywhere).
    """
    circumference = 2.0 + matern_reach(length_scale, nu, TOLERANCE)
    fundamental = 2.0 * np.pi / circumference
    omega = fundamental * np.arange(2 * MAX_HARMONICS, dtype=np.float64)
    power = 2.0 * _spectral_shape(omega * length_scale, nu)
    power[0] /= 2.0
    power /= power.sum()
    tail = power[::-1].cumsum()[::-1]
    size = min(int(np.count_nonzero(tail > TOLERANCE)), MAX_HARMONICS)
    amplitude = np.sqrt(power[:size] / power[:size].sum())
    return FourierBasis(omega[:size, None], np.tile(amplitude, 2), fundamental)


def random_frequencies(
    dim: int, length_scale: float, nu: float | None, rng: np.random.Generator, count: int = 256
) -> FourierBasis:
    """SE or Matern field in any dimension: frequencies drawn from the spectral density.

    The random features of [@rahimi2007random]: averaged over draws the covariance is exactly
    the kernel's.
    """
    omega = rng.standard_normal((count, dim)) / length_scale
    if nu is not None:
        # The spectral density of a Matern kernel is a multivariate Student t, 2 nu degrees.
        omega *= np.sqrt(2.0 * nu / rng.chisquare(2.0 * nu, size=(count, 1)))
    return FourierBasis(omega, np.full(2 * count, np.sqrt(1.0 / count)))


def _spectral_shape(omega: Array, nu: float | None) -> Array:
    """Spectral density for unit length-scale, up to a factor."""
    if nu is None:
        shape: Array = np.exp(-0.5 * omega**2)
    else:
        shape = (1.0 + omega**2 / (2.0 * nu)) ** -(nu + 0.5)
    return shape
