"""Covariances between actions.

In formulas, r is the distance between a and b with each coordinate divided by its length-scale l.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv

from agents.arrays import Array
from agents.checks import require
from agents.gp.actions import Integers, Points
from agents.gp.kernels.base import POSITIVE, ActionKernel

LengthScale = float | tuple[float, ...]


@dataclass(frozen=True)
class SquaredExponential(ActionKernel):
    """Kernel that is smooth in the coordinates: k(a, b) = exp(-r^2 / 2), r = |a - b| / l.

    The length-scale l is defined as in the RBF kernels of scikit-learn, GPyTorch, GPy and GPJax.

    Attributes:
        length_scale: Length-scale l, in the unit of the coordinates; a tuple has one entry per
            coordinate.
    """

    length_scale: LengthScale = 1.0
    free: ClassVar[Mapping[str, tuple[float, float]]] = {"length_scale": POSITIVE}
    analytic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_length_scale(self.length_scale)

    @property
    def curvature(self) -> float:
        """Largest 1 / l^2 over the coordinates."""
        return 1.0 / float(np.min(self.length_scale)) ** 2

    def __call__(self, a: Points, b: Points) -> Array:
        """Return the covariance matrix, by the formula of the class."""
        return np.asarray(np.exp(-0.5 * _scaled(a, b, self.length_scale, "sqeuclidean")))

    def slope(self, a: Points, b: Points) -> Array:
        """Return the derivative -k (a - b) / l^2."""
        return _radial_slope(-self(a, b), a, b, self.length_scale)


@dataclass(frozen=True)
class Matern(ActionKernel):
    """Kernel of functions with ceil(nu) - 1 derivatives, rougher than the squared exponential.

    k(a, b) = 2^(1 - nu) / Gamma(nu)  s^nu K_nu(s), with s = sqrt(2 nu) r and r = |a - b| / l.

    In closed form, the kernel is exp(-s) for nu = 1/2, (1 + s) exp(-s) for nu = 3/2 and
    (1 + s + s^2 / 3) exp(-s) for nu = 5/2.

    The parameters l and nu are defined as in scikit-learn, GPyTorch, GPy and GPJax. (The formula
    in the paper has s instead of s^nu.)

    Attributes:
        nu: Smoothness, in (0, 50].
        length_scale: Length-scale l, in the unit of the coordinates; a tuple has one entry per
            coordinate.
    """

    nu: float = 2.5
    length_scale: LengthScale = 1.0
    free: ClassVar[Mapping[str, tuple[float, float]]] = {"length_scale": POSITIVE}

    def __post_init__(self) -> None:
        _check_length_scale(self.length_scale)
        if not 0 < self.nu <= 50:
            raise ValueError(
                f"nu must lie in (0, 50], got {self.nu}: for larger nu, use SquaredExponential"
            )

    def __call__(self, a: Points, b: Points) -> Array:
        """Return the covariance matrix, by the formula of the class."""
        s = math.sqrt(2 * self.nu) * _scaled(a, b, self.length_scale, "euclidean")
        if self.nu in (0.5, 1.5, 2.5):
            powers = {0.5: 1.0, 1.5: 1 + s, 2.5: 1 + s + s**2 / 3}
            return np.asarray(powers[self.nu] * np.exp(-s))
        return np.asarray(2 ** (1 - self.nu) / gamma(self.nu) * _power_bessel(self.nu, s))

    def slope(self, a: Points, b: Points) -> Array:
        """Return the derivative (a - b) / l^2 k'(r) / r.

        k'(r) / r = -2^(2-nu) nu / Gamma(nu) s^(nu-1) K_nu-1(s).
        """
        s = math.sqrt(2 * self.nu) * _scaled(a, b, self.length_scale, "euclidean")
        scale = -(2 ** (2 - self.nu)) * self.nu / gamma(self.nu)
        return _radial_slope(scale * _power_bessel(self.nu - 1, s), a, b, self.length_scale)


@dataclass(frozen=True)
class Linear(ActionKernel):
    """Kernel of linear functions without an offset: k(a, b) = a . b / l^2.

    With l = 1 the kernel equals scikit-learn DotProduct(sigma_0=0). Add ``Constant(c)`` for an
    offset of variance c.

    Attributes:
        length_scale: Length-scale l, the distance from the origin at which the variance is 1. It is
            not fitted, since it cannot be distinguished from the variance of the term.
    """

    length_scale: float = 1.0
    analytic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_length_scale(self.length_scale)

    def __call__(self, a: Points, b: Points) -> Array:
        """Return the covariance matrix, by the formula of the class."""
        return np.asarray(a.x @ b.x.T) / self.length_scale**2

    def own(self, a: Points) -> Array:
        """Return the variance |a|^2 / l^2 at each action."""
        return np.asarray((a.x**2).sum(axis=1)) / self.length_scale**2

    def own_slope(self, a: Points) -> Array:
        """Return the derivative 2 a / l^2 of the variance."""
        return 2.0 * a.x / self.length_scale**2

    def slope(self, a: Points, b: Points) -> Array:
        """Return the derivative, which is b / l^2."""
        return np.broadcast_to(b.x / self.length_scale**2, (len(a.x), *b.x.shape))


@dataclass(frozen=True)
class Index(ActionKernel):
    """Kernel of independent arms: k(a, b) = 1 if a and b are the same arm, else 0."""

    def __call__(self, a: Points, b: Points) -> Array:
        """Return the covariance matrix, by the formula of the class."""
        return np.equal.outer(_arms(a), _arms(b)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class EmpiricalCovariance(ActionKernel):
    """Given covariance between arms: k(a, b) = S[a, b].

    Attributes:
        matrix: Matrix S, symmetric and positive semi-definite, shape (n, n).
    """

    matrix: Array

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or not np.allclose(matrix, matrix.T):
            raise ValueError(
                "matrix must be symmetric, with shape (n, n), "
                f"got {matrix.tolist()!r:.60} with shape {matrix.shape}"
            )
        object.__setattr__(self, "matrix", matrix)

    def __call__(self, a: Points, b: Points) -> Array:
        """Return the entries of S that belong to the arms."""
        return np.asarray(self.matrix[_arms(a)[:, None], _arms(b)])

    def own(self, a: Points) -> Array:
        """Return the diagonal entries of S that belong to the arms."""
        arm = _arms(a)
        return np.asarray(self.matrix[arm, arm])


def _arms(a: Points) -> Integers:
    if a.arm is None:
        raise TypeError("a kernel over arms needs a finite set of actions, got points of a box")
    return a.arm


def _scaled(a: Points, b: Points, length_scale: LengthScale, metric: str) -> Array:
    scale = np.asarray(length_scale)
    return np.asarray(cdist(a.x / scale, b.x / scale, metric))


def _radial_slope(slope: Array, a: Points, b: Points, length_scale: LengthScale) -> Array:
    offset = (a.x[:, None, :] - b.x) / np.square(length_scale)
    return np.asarray(slope[:, :, None] * offset)


def _power_bessel(order: float, s: Array) -> Array:
    """Return s^order K_order(s); at s = 0, return its limit, or 0 if the limit is infinite."""
    limit = 2 ** (order - 1) * gamma(order) if order > 0 else 0.0
    small = s < 1e-10
    safe: Array = np.where(small, 1.0, s)
    return np.where(small, limit, safe**order * kv(order, safe))


def _check_length_scale(length_scale: LengthScale) -> None:
    fits = all(0 < scale < math.inf for scale in np.atleast_1d(length_scale))
    require(fits, "every length-scale in length_scale must be positive and finite", length_scale)
