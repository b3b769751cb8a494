"""Kernels as immutable values closed under + and *.

Whatever is added and multiplied, the result is a sum of separable terms,

    k{(a, t), (b, s)} = sum_i v_i  k_i(a, b)  c_i(t - s),          (after Eq. 3)

with k_i a product of action kernels and c_i a product of time kernels. Every engine of this
package uses that form.
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
from agents.gp.kernels.spectrum import Spectrum

POSITIVE = (1e-5, 1e5)


class Kernel:
    """Base of all kernels: ``kernel + kernel``, ``kernel * kernel``, ``number * kernel``."""

    free: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """Positive hyper-parameters and the bounds within which ``fit`` may move them."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """The separable terms whose sum this kernel is."""
        raise NotImplementedError

    def __add__(self, other: Kernel) -> Sum:
        return Sum(self.terms + other.terms)

    def __mul__(self, other: Kernel | float) -> Sum:
        others = other.terms if isinstance(other, Kernel) else (Term(float(other)),)
        return Sum(tuple(p.times(q) for p in self.terms for q in others))

    __rmul__ = __mul__

    def gram(self, a: Points, t: Array, b: Points, s: Array) -> Array:
        """Covariance of (a_i, t_i) with (b_j, s_j), shape (n, m).

        A single time, shape (1,), stands for the same time at every action.
        """
        lag = np.subtract.outer(t, s)
        return _total([p.variance * p.over_actions(a, b) * p.over_time(lag) for p in self.terms])

    def diagonal(self, a: Points) -> Array:
        """Prior variance at each action, shape (n,); the same at all times."""
        return _total([p.variance * p.own(a) for p in self.terms])

    def diagonal_gradient(self, a: Points) -> Array:
        """Derivative of ``diagonal`` with respect to the coordinates, shape (n, d)."""
        return _total([p.variance * p.own_slope(a) for p in self.terms])

    def gradient(self, a: Points, t: Array, b: Points, s: Array) -> Array:
        """Derivative of ``gram`` with respect to the coordinates of a, shape (n, m, d)."""
        lag = np.subtract.outer(t, s)[:, :, None]
        return _total([p.variance * p.slope(a, b) * p.over_time(lag) for p in self.terms])


class ActionKernel(Kernel):
    """A covariance between actions.

    Attributes:
        analytic: Whether it is a power series in the coordinates, with nothing that a fine grid
            would not show.
    """

    analytic: ClassVar[bool] = False

    @property
    def curvature(self) -> float:
        """Largest -k''(0) over the coordinates: 1 / l^2 where there is a length-scale l."""
        return 0.0

    @property
    def terms(self) -> tuple[Term, ...]:
        """One term, constant in time."""
        return (Term(1.0, actions=(self,)),)

    def __call__(self, a: Points, b: Points) -> Array:
        """Covariance matrix, shape (n, m)."""
        raise NotImplementedError

    def own(self, a: Points) -> Array:
        """Variance at each action, shape (n,): 1 unless a kernel says otherwise."""
        return np.ones(len(a.x))

    def own_slope(self, a: Points) -> Array:
        """Derivative of ``own``, shape (n, d): 0 unless a kernel says otherwise."""
        return np.zeros(a.x.shape)

    def slope(self, a: Points, b: Points) -> Array:
        """Derivative with respect to the coordinates of a, shape (n, m, d)."""
        raise TypeError(f"{type(self).__name__} has no gradient: it is for finite action sets")


class TimeKernel(Kernel):
    """A stationary covariance between times, 1 at lag 0."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """One term, constant over actions."""
        return (Term(1.0, clocks=(self,)),)

    def __call__(self, lag: Array) -> Array:
        """Covariance at each lag t - s, same shape."""
        raise NotImplementedError

    def spectrum(self) -> Spectrum | None:
        """The kernel as a finite sum of decaying cosines; None when there is none."""
        return None


@dataclass(frozen=True)
class Term:
    """A separable term: variance times action kernels times time kernels."""

    variance: float
    actions: tuple[ActionKernel, ...] = ()
    clocks: tuple[TimeKernel, ...] = ()

    def __post_init__(self) -> None:
        positive("a variance", self.variance)

    @property
    def factors(self) -> tuple[ActionKernel | TimeKernel, ...]:
        """All kernels of the product."""
        return (*self.actions, *self.clocks)

    def times(self, other: Term) -> Term:
        """Product of two terms."""
        variance = self.variance * other.variance
        return Term(variance, self.actions + other.actions, self.clocks + other.clocks)

    def over_actions(self, a: Points, b: Points) -> Array:
        """Product of the action kernels, shape (n, m)."""
        return _product([k(a, b) for k in self.actions], (len(a.x), len(b.x)))

    def own(self, a: Points) -> Array:
        """Diagonal of ``over_actions``, shape (n,)."""
        return _product([k.own(a) for k in self.actions], (len(a.x),))

    def slope(self, a: Points, b: Points) -> Array:
        """Derivative of ``over_actions`` by the product rule, shape (n, m, d)."""
        parts = [k.slope(a, b) * r.over_actions(a, b)[:, :, None] for k, r in self._each()]
        return _total([np.zeros((len(a.x), len(b.x), a.x.shape[1])), *parts])

    def own_slope(self, a: Points) -> Array:
        """Derivative of ``own``, shape (n, d)."""
        parts = [k.own_slope(a) * r.own(a)[:, None] for k, r in self._each()]
        return _total([np.zeros(a.x.shape), *parts])

    def _each(self) -> list[tuple[ActionKernel, Term]]:
        """Each action kernel with the rest of the product."""
        k = self.actions
        return [(k[i], Term(1.0, k[:i] + k[i + 1 :])) for i in range(len(k))]

    def over_time(self, lag: Array) -> Array:
        """Product of the time kernels, the shape of ``lag``."""
        return _product([k(lag) for k in self.clocks], lag.shape)

    def spectrum(self) -> Spectrum | None:
        """Product of the spectra of the time kernels; None if one has none."""
        total = Spectrum.constant()
        for part in (k.spectrum() for k in self.clocks):
            if part is None:
                return None
            total = total * part
        return total


@dataclass(frozen=True)
class Sum(Kernel):
    """A sum of separable terms: what + and * return."""

    parts: tuple[Term, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms as given."""
        return self.parts


def _total(parts: list[Array]) -> Array:
    return reduce(operator.add, parts)


def _product(factors: list[Array], shape: tuple[int, ...]) -> Array:
    return reduce(operator.mul, factors) if factors else np.ones(shape)
