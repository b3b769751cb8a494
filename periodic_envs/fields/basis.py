"""Feature maps on the action box [-1, 1]^d.

A Gaussian process with covariance ``k`` is drawn as ``f(a) = phi(a) . w`` with
``w_j ~ N(0, scale_j^2)``, where ``sum_j scale_j^2 phi_j(a) phi_j(b) = k(a, b)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from periodic_envs.arrays import Array

TOLERANCE = 1e-6
"""Largest share of the variance that a series leaves out, and largest correlation of the two ends
of the box; see ``lattice``."""
SE_REACH = 5.2565217697569
"""Distance in length-scales at which the correlation of the SE kernel is ``TOLERANCE``."""
MAX_FREQUENCIES = 512
"""Maximum number of frequencies in a Fourier series."""
MAX_LOSS = 0.01
"""Largest share of the variance that truncation may remove, before normalisation."""


class TooRough(ValueError):
    """Raised if a field is too rough for a series of at most ``MAX_FREQUENCIES`` frequencies."""


@dataclass(frozen=True)
class FourierBasis:
    """Feature map of cosines and sines.

    ``phi(a) = [cos(omega_1 . a), ..., cos(omega_K . a), sin(omega_1 . a), ...]``.

    Attributes:
        frequencies: Frequencies omega_k in radians per unit of action, shape (K, d).
        scale: Prior standard deviations of the weights, shape (2K,).
        fundamental: Spacing omega if the frequencies are 0, omega, 2 omega, ... (a lattice in one
            dimension), otherwise None. On a lattice the series is a polynomial in
            ``exp(i omega a)``.
    """

    frequencies: Array
    scale: Array
    fundamental: float | None = None

    def __post_init__(self) -> None:
        both = np.concatenate([self.frequencies, self.frequencies])
        # sin(x) = cos(x - pi/2), so one call to cos evaluates all features.
        shift = np.repeat([0.0, np.pi / 2], len(self.frequencies))
        object.__setattr__(self, "_frequencies_t", np.ascontiguousarray(both.T))
        object.__setattr__(self, "_shift", shift)

    @property
    def dim(self) -> int:
        """Dimension d of the action box."""
        return int(self.frequencies.shape[1])

    @property
    def bandwidth(self) -> float:
        """Largest angular frequency of all features, which determines the grid of a search."""
        return float(np.linalg.norm(self.frequencies, axis=1).max())

    def __call__(self, actions: Array) -> Array:
        """Return the features, shape (..., 2K), of actions of shape (..., d)."""
        omega: Array = self._frequencies_t  # type: ignore[attr-defined]
        angles = actions * omega[0] if len(omega) == 1 else actions @ omega
        angles -= self._shift  # type: ignore[attr-defined]
        features: Array = np.cos(angles, out=angles)
        return features

    def derivatives(self, actions: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Return values (n,), gradients (n, d) and Hessians (n, d, d) of ``phi(a_i) . w_i``.

        The action ``a_i`` is row i of ``actions``, and the weights ``w_i`` are row i of
        ``weights``. Products are computed row by row (or entry by entry). The rounding of a matrix
        product depends on its shape, but the result for a row must be bit-identical in every batch.
        """
        omega = self.frequencies
        angles = actions[:, :1] * omega[:, 0]
        for coordinate in range(1, self.dim):
            angles += actions[:, coordinate, None] * omega[:, coordinate]
        cos, sin = np.cos(angles), np.sin(angles)
        half = len(self.frequencies)
        on_cos, on_sin = weights[:, :half], weights[:, half:]
        waves = on_cos * cos + on_sin * sin
        slopes = on_sin * cos - on_cos * sin
        gradient = (slopes[:, None, :] @ omega)[:, 0]
        hessian = -((waves[:, None, :] * omega.T) @ omega)
        return waves.sum(1), gradient, hessian


@dataclass(frozen=True)
class LinearBasis:
    """Linear feature map ``phi(a) = a / sqrt(d)``; k(a, b) = a . b / d is at most 1 on the box."""

    dim: int
    fundamental: ClassVar[None] = None

    @property
    def scale(self) -> Array:
        """Prior standard deviations of the weights, which are all 1."""
        return np.ones(self.dim)

    @property
    def bandwidth(self) -> float:
        """Nominal bandwidth of 1, since a linear function does not need a fine grid."""
        return 1.0

    def __call__(self, actions: Array) -> Array:
        """Return the features, shape (..., d), of actions of shape (..., d)."""
        return actions / math.sqrt(self.dim)

    def derivatives(self, actions: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Return values (n,), gradients (n, d) and Hessians (n, d, d) of ``phi(a_i) . w_i``."""
        gradient = weights / math.sqrt(self.dim)
        hessian = np.zeros((*gradient.shape, self.dim))
        return (actions * gradient).sum(1), gradient, hessian


Basis = FourierBasis | LinearBasis
"""Finite feature map with derivatives."""


def lattice(length_scale: float, nu: float | None, dim: int = 1) -> FourierBasis:
    """Return the Fourier series of an SE (``nu=None``) or Matern field in one or two dimensions.

    The field is periodic on a torus that contains the box. The gap between the two ends of the box
    has the smallest length for which the correlation across the gap is at most ``TOLERANCE``. The
    squared amplitudes are the spectral density of the kernel at the frequencies of the lattice. The
    series contains the strongest frequencies, so that at most ``TOLERANCE`` of the variance is left
    out.

    Raises:
        TooRough: If ``MAX_FREQUENCIES`` frequencies leave out more than ``MAX_LOSS`` of the
            variance.
    """
    reach = length_scale * SE_REACH if nu is None else length_scale * _matern_reach(nu)
    fundamental = 2.0 * np.pi / (2.0 + reach)
    steps = _half_space(dim, 4 * MAX_FREQUENCIES if dim == 1 else 64)
    omega = fundamental * steps
    density = _spectral_shape(np.linalg.norm(omega, axis=1) * length_scale, nu, dim)
    order = np.argsort(-density, kind="stable")
    # Each frequency except 0 also represents its opposite, so that its power counts twice.
    power = (density * np.where(steps.any(axis=1), 2.0, 1.0))[order]
    power /= power.sum()
    lost = 1.0 - power.cumsum()
    size = min(int(np.count_nonzero(lost > TOLERANCE)) + 1, MAX_FREQUENCIES, len(power))
    if lost[size - 1] > MAX_LOSS:
        raise TooRough
    amplitude = np.sqrt(power[:size] / power[:size].sum())
    # In one dimension the frequencies are in the order 0, 1, 2, ... times the fundamental.
    return FourierBasis(
        omega[order[:size]], np.tile(amplitude, 2), fundamental if dim == 1 else None
    )


def _matern_reach(nu: float) -> float:
    """Return the distance in length-scales at which a Matern correlation is ``TOLERANCE``.

    The correlation is ``2^(1-nu)/Gamma(nu) r^nu K_nu(r)`` with ``r = sqrt(2 nu) distance``.
    """
    from scipy.optimize import brentq  # slow to import, and not always needed
    from scipy.special import gamma, kv

    def excess(distance: float) -> float:
        r = np.sqrt(2.0 * nu) * np.maximum(distance, 1e-12)
        correlation = 2.0 ** (1.0 - nu) / gamma(nu) * r**nu * kv(nu, r)
        # The constant avoids the logarithm of 0 at large distances.
        return float(np.log(correlation + 1e-300) - np.log(TOLERANCE))

    return float(brentq(excess, 1e-6, 100.0))


def _half_space(dim: int, reach: int) -> Array:
    """Return integer vectors with entries of magnitude at most ``reach``, shape (n, dim).

    The result contains only one of each pair v and -v.
    """
    if dim == 1:
        return np.arange(reach, dtype=np.float64)[:, None]
    axis = np.arange(-reach, reach + 1, dtype=np.float64)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    return np.asarray(grid[(grid[:, 0] > 0) | ((grid[:, 0] == 0) & (grid[:, 1] >= 0))])


def random_frequencies(
    dim: int, length_scale: float, nu: float | None, rng: np.random.Generator, count: int = 256
) -> FourierBasis:
    """Return a feature map of ``count`` random frequencies for an SE or Matern kernel.

    With ``nu=None``, the kernel is the SE kernel. The features are the random features of
    [@rahimi2007random]. The covariance, averaged over the random frequencies, equals the
    kernel. For given frequencies the covariance differs from the kernel by about 10 %, so draws are
    only approximately Gaussian.
    """
    omega = rng.standard_normal((count, dim)) / length_scale
    if nu is not None:
        # The spectral density of a Matern kernel is a multivariate Student t distribution with
        # 2 nu degrees of freedom.
        omega *= np.sqrt(2.0 * nu / rng.chisquare(2.0 * nu, size=(count, 1)))
    return FourierBasis(omega, np.full(2 * count, np.sqrt(1.0 / count)))


def _spectral_shape(omega: Array, nu: float | None, dim: int) -> Array:
    """Return the spectral density at ``omega`` for a length-scale of 1, up to a constant."""
    if nu is None:
        shape: Array = np.exp(-0.5 * omega**2)
    else:
        shape = (1.0 + omega**2 / (2.0 * nu)) ** -(nu + 0.5 * dim)
    return shape
