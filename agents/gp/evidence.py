"""Log evidence of hyper-parameters, and its gradient.

With K(theta) the covariance of the rewards, noise included, and alpha = K^-1 (y - mu),

    log p(y | theta) = -1/2 { (y - mu)^T alpha / s^2 + log |K| + n log(2 pi s^2) },
    its derivative   =  1/2 { alpha^T K' alpha / s^2 - trace(K^-1 K') }.

K' is computed as a central difference of the kernel matrix, which is exact to about eight digits
for any kernel. The prior mean mu = 1^T K^-1 y / 1^T K^-1 1 and the scale s^2 = (y - mu)^T alpha / n
are set to their best values at every theta, in closed form.

The rewards may consist of several stretches that are independent of each other given theta. All
stretches have the same theta, mu and s, and the log evidence is the sum over stretches.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from agents.arrays import Array
from agents.gp.actions import Points
from agents.gp.kernels.base import ActionKernel, Kernel, Sum, Term, TimeKernel


@dataclass(frozen=True)
class Normaliser:
    """Affine transform reward = mean + scale * y.

    Posteriors have prior mean 0 and learn from y instead of the reward.
    """

    mean: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and 0 < self.scale < np.inf):
            raise ValueError(f"mean must be finite, and scale positive and finite, got {self}")

    @classmethod
    def of(cls, rewards: ArrayLike) -> Normaliser:
        """Return the normaliser with the mean and the standard deviation of the rewards.

        The scale is 1 if all rewards are equal up to rounding.
        """
        values = np.asarray(rewards, dtype=np.float64)
        if not values.size:
            return cls()
        scale = float(values.std())
        varied = scale > 1e-9 * max(1.0, float(np.abs(values).max()))
        return cls(float(values.mean()), scale if varied else 1.0)

    def forward(self, reward: ArrayLike) -> Array:
        """Return rewards transformed to y = (reward - mean) / scale."""
        return (np.asarray(reward, dtype=np.float64) - self.mean) / self.scale

    def backward(self, y: ArrayLike) -> Array:
        """Return values of y, such as a posterior mean, in the unit of the rewards."""
        return self.mean + self.scale * np.asarray(y, dtype=np.float64)


VARIANCE = (1e-4, 1e4)
"""Bounds of the variance of a term."""


@dataclass(frozen=True)
class Parameter:
    """Positive hyper-parameter of a kernel.

    Attributes:
        term: Index of the term.
        factor: Index of the factor within the term; None for the variance of the term.
        name: "variance", or the name of a field of the factor.
        item: Index in the field if the field is a tuple, else None.
        bounds: Bounds of the parameter.
    """

    term: int
    factor: int | None
    name: str
    item: int | None
    bounds: tuple[float, float]


def free_parameters(kernel: Kernel, fixed: Collection[str] = ()) -> list[Parameter]:
    """Return the hyper-parameters of a kernel except those whose name is in ``fixed``."""
    parameters = (p for i, term in enumerate(kernel.terms) for p in _of_term(i, term))
    return [p for p in parameters if p.name not in fixed]


def get(kernel: Kernel, parameters: Collection[Parameter]) -> Array:
    """Return the values of the given hyper-parameters of a kernel, shape (p,)."""
    return np.array([_value(kernel.terms[p.term], p) for p in parameters])


def put(kernel: Kernel, parameters: Collection[Parameter], values: Array) -> Kernel:
    """Return the kernel with new values for the given hyper-parameters."""
    terms = list(kernel.terms)
    for p, value in zip(parameters, values.tolist(), strict=True):
        terms[p.term] = _with(terms[p.term], p, value)
    return Sum(tuple(terms))


def _of_term(i: int, term: Term) -> Iterator[Parameter]:
    yield Parameter(i, None, "variance", None, VARIANCE)
    for j, factor in enumerate(term.factors):
        for name, bounds in factor.free.items():
            value = getattr(factor, name)
            items = range(len(value)) if isinstance(value, tuple) else [None]
            yield from (Parameter(i, j, name, item, bounds) for item in items)


def _value(term: Term, p: Parameter) -> float:
    if p.factor is None:
        return term.variance
    value = getattr(term.factors[p.factor], p.name)
    return float(value if p.item is None else value[p.item])


def _with(term: Term, p: Parameter, value: float) -> Term:
    if p.factor is None:
        return replace(term, variance=value)
    factors, new = list(term.factors), value
    old = getattr(factors[p.factor], p.name)
    field = new if p.item is None else (*old[: p.item], new, *old[p.item + 1 :])
    factors[p.factor] = replace(factors[p.factor], **{p.name: field})  # type: ignore[type-var]
    actions = tuple(k for k in factors if isinstance(k, ActionKernel))
    return Term(term.variance, actions, tuple(k for k in factors if isinstance(k, TimeKernel)))


STEP = 1e-5
"""Step of the central differences in theta."""
HOPELESS = 1e25
"""Loss of a theta for which K is singular."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Group of observations that are jointly Gaussian, and independent of other stretches.

    Attributes:
        points: Chosen actions, n points.
        t: Times, shape (n,).
        y: Rewards, shape (n,).
    """

    points: Points
    t: Array
    y: Array


@dataclass(frozen=True, eq=False)
class Evidence:
    """Negative log evidence as a function of theta = log(hyper-parameters, noise variance).

    Attributes:
        kernel: Kernel whose hyper-parameters are replaced by those of theta.
        parameters: Free hyper-parameters, a list of length p.
        stretches: Independent stretches of observations.
        fit_mean: Fit mu; otherwise mu is 0.
        fit_scale: Fit s; otherwise s is 1.
    """

    kernel: Kernel
    parameters: list[Parameter]
    stretches: Sequence[Stretch]
    fit_mean: bool
    fit_scale: bool

    def value(self, theta: Array) -> float:
        """Return the negative log evidence.

        This is faster than ``loss``, which also computes the gradient.
        """
        try:
            return self._value(self._factors(theta))[0]
        except LinAlgError:
            return HOPELESS

    def loss(self, theta: Array) -> tuple[float, Array]:
        """Return the negative log evidence and the gradient of this value, shape (p + 1,)."""
        try:
            factors = self._factors(theta)
        except LinAlgError:
            return HOPELESS, np.zeros(len(theta))
        loss, s2, alphas = self._value(factors)
        gradient = np.zeros(len(theta))
        for stretch, factor, alpha in zip(self.stretches, factors, alphas, strict=True):
            # O(n^3) for K^-1, then O(n^2) per hyper-parameter.
            W = cho_solve(factor, np.eye(len(alpha))) - np.outer(alpha, alpha / s2)
            slopes = self._derivatives(theta, stretch)
            gradient += 0.5 * np.array([float((W * D).sum()) for D in slopes])
        return loss, gradient

    def _value(self, factors: Sequence[tuple[Array, bool]]) -> tuple[float, float, list[Array]]:
        """Return the negative log evidence, s^2 and the alpha of each stretch."""
        mu, s2, alphas = self._profile(factors)
        n = sum(len(stretch.y) for stretch in self.stretches)
        value = 0.5 * n * math.log(2 * math.pi * s2)
        for stretch, factor, alpha in zip(self.stretches, factors, alphas, strict=True):
            log_det = 2.0 * float(np.log(np.diagonal(factor[0])).sum())
            value += 0.5 * (float((stretch.y - mu) @ alpha) / s2 + log_det)
        return value, s2, alphas

    def unpack(self, theta: Array) -> tuple[Kernel, float]:
        """Return the kernel and the noise variance of a theta."""
        values = np.exp(theta)
        return put(self.kernel, self.parameters, values[:-1]), float(values[-1])

    def normaliser(self, theta: Array) -> Normaliser:
        """Return the best prior mean and scale for a theta."""
        mu, s2, _ = self._profile(self._factors(theta))
        return Normaliser(mu, math.sqrt(s2))

    def _factors(self, theta: Array) -> list[tuple[Array, bool]]:
        return [cho_factor(self._covariance(theta, part), lower=True) for part in self.stretches]

    def _profile(self, factors: Sequence[tuple[Array, bool]]) -> tuple[float, float, list[Array]]:
        """Return mu, s^2 and the alpha of each stretch."""
        solved = [
            cho_solve(factor, np.stack((part.y, np.ones_like(part.y)), axis=1)).T
            for factor, part in zip(factors, self.stretches, strict=True)
        ]
        rewards, ones = (sum(float(pair[i].sum()) for pair in solved) for i in (0, 1))
        # mu = 1^T K^-1 y / 1^T K^-1 1, summed over stretches
        mu = rewards / ones if self.fit_mean else 0.0
        alphas = [a - mu * one for a, one in solved]
        if not self.fit_scale:
            return mu, 1.0, alphas
        n = sum(len(alpha) for alpha in alphas)
        squares = zip(self.stretches, alphas, strict=True)
        # s^2 = (y - mu)^T K^-1 (y - mu) / n
        s2 = sum(float((part.y - mu) @ alpha) for part, alpha in squares) / n
        return mu, max(s2, 1e-20), alphas  # must be positive, since the loss contains log s^2

    def _covariance(self, theta: Array, part: Stretch) -> Array:
        kernel, noise_variance = self.unpack(theta)
        K = kernel.gram(part.points, part.t, part.points, part.t)
        return K + noise_variance * np.eye(len(part.t))

    def _derivatives(self, theta: Array, part: Stretch) -> list[Array]:
        """Return K' for each hyper-parameter, then for the noise variance."""
        by_kernel = [
            (self._covariance(theta + h, part) - self._covariance(theta - h, part)) / (2 * STEP)
            for h in STEP * np.eye(len(theta))[:-1]
        ]
        return [*by_kernel, math.exp(theta[-1]) * np.eye(len(part.t))]
