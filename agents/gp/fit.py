"""Hyper-parameters by maximum log evidence (``evidence.py``), from several starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from agents.arrays import Array, Rng
from agents.checks import require
from agents.gp.actions import Actions
from agents.gp.evidence import Evidence, Stretch
from agents.gp.kernels.base import Kernel
from agents.gp.normaliser import Normaliser
from agents.gp.parameters import Parameter, free_parameters, get

NOISE = (1e-6, 1e3)
"""Bounds of the noise variance."""
SCAN_SPREAD = 1.5
"""Spread of the logarithms of what is scanned for a start."""


@dataclass(frozen=True)
class Fit:
    """What ``fit`` found; a posterior with it takes ``normaliser.forward(reward)``.

    Attributes:
        kernel: With fitted hyper-parameters.
        noise_variance: Of the normalised rewards.
        normaliser: Prior mean and scale of the rewards.
        log_evidence: log p(rewards), in the unit of the rewards.
    """

    kernel: Kernel
    noise_variance: float
    normaliser: Normaliser
    log_evidence: float


def fit(
    kernel: Kernel,
    actions: Actions,
    stretches: Sequence[tuple[Any, ArrayLike, ArrayLike]],
    noise_variance: float,
    *,
    fixed: Collection[str] = ("period",),
    fit_mean: bool = True,
    fit_scale: bool = True,
    spread: float = math.inf,
    starts: int = 4,
    scan: int = 0,
    rng: Rng | None = None,
) -> Fit:
    """Maximise the log evidence, and a prior if wanted, over the logarithms of hyper-parameters.

    By L-BFGS-B.

    Args:
        kernel: Template; its values are the first start, so the result is never worse.
        actions: Where the actions come from.
        stretches: (actions, times, rewards) of each stretch of observations; the function is
            drawn anew for every stretch, the hyper-parameters are common to all.
        noise_variance: Start for the variance of the noise.
        fixed: Names that stay: "variance", "length_scale", "eps", "period", "noise_variance".
        fit_mean: Whether to fit the prior mean of the rewards; otherwise it is 0.
        fit_scale: Whether to fit the scale of the rewards; otherwise it is 1. With it only ratios
            of variances matter, and the variance of the first term stays as it is.
        spread: Of a log-normal prior on every hyper-parameter around its value in the template, as
            the standard deviation of the logarithm; without one, the evidence alone counts.
        starts: Number of starts; all but the first are drawn around the template.
        scan: Draw this many, within a wider range, and start from the best of them.
        rng: For those; a fixed seed if None.
    """
    require(spread > 0, "spread must be positive", spread)
    if not stretches:
        raise ValueError("there is nothing to fit: stretches is empty")
    free = free_parameters(kernel, fixed)
    if fit_scale:
        free = [p for p in free if (p.term, p.name) != (0, "variance")]
    parts = [
        Stretch(actions.points(a), np.asarray(t, np.float64), np.asarray(y, np.float64))
        for a, t, y in stretches
    ]
    evidence = Evidence(kernel, free, parts, fit_mean, fit_scale)
    first = np.log(np.append(get(kernel, free), noise_variance))
    bounds = _bounds(free, first, "noise_variance" in fixed)

    def prior(theta: Array) -> float:
        return 0.5 * float(np.sum(((theta - first) / spread) ** 2))

    def loss(theta: Array) -> tuple[float, Array]:
        value, gradient = evidence.loss(theta)
        return value + prior(theta), gradient + (theta - first) / spread**2

    wide = SCAN_SPREAD if scan else 1.0
    others = _around(first, wide, max(scan, starts - 1), bounds, rng or np.random.default_rng(0))
    if scan:
        others.sort(key=lambda theta: evidence.value(theta) + prior(theta))
    ends = [_descend(loss, theta, bounds) for theta in (first, *others[: starts - 1])]
    return _result(evidence, min([first, *ends], key=lambda theta: loss(theta)[0]))


def _around(first: Array, wide: float, count: int, bounds: Array, rng: Rng) -> list[Array]:
    """Draws about the first start, within the bounds."""
    return [
        np.clip(first + wide * rng.standard_normal(len(first)), *bounds.T) for _ in range(count)
    ]


def _bounds(free: list[Parameter], first: Array, fixed_noise: bool) -> Array:
    """Logarithmic bounds, shape (p + 1, 2); they give way to a template outside."""
    bounds = np.log([*(p.bounds for p in free), NOISE])
    if fixed_noise:
        bounds[-1] = first[-1]
    return np.stack((np.minimum(bounds[:, 0], first), np.maximum(bounds[:, 1], first)), axis=1)


def _descend(loss: Callable[[Array], tuple[float, Array]], theta: Array, bounds: Array) -> Array:
    end = minimize(loss, theta, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(end.x)


def _result(evidence: Evidence, theta: Array) -> Fit:
    kernel, noise_variance = evidence.unpack(theta)
    normaliser = evidence.normaliser(theta)
    return Fit(kernel, noise_variance, normaliser, -evidence.loss(theta)[0])
