"""Hyper-parameters by maximum log evidence (``evidence.py``); where to look is in ``search.py``."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from agents.arrays import Rng
from agents.checks import require
from agents.gp.actions import Actions
from agents.gp.evidence import Stretch
from agents.gp.kernels.base import Kernel
from agents.gp.normaliser import Normaliser
from agents.gp.search import Search


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
    starts: int = 3,
    scan: int = 30,
    rng: Rng | None = None,
) -> Fit:
    """Maximise the log evidence, and a prior if wanted, over the logarithms of hyper-parameters.

    By L-BFGS-B. Without a prior the result is never below that of the same call with
    ``fit_mean=False``, ``fit_scale=False`` or both: their optima are starts, too. (A call that
    fixes the noise and fits variances is no part of one that fits the scale: there the noise is
    fixed in units of the scale.) With a prior the same holds of evidence and prior together, for
    ``fit_mean``. Calls with more names in ``fixed`` are not run as well: now and then one of them
    ends higher, and more ``starts`` help.

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
        starts: Number of starts of one model; all but the first are drawn around the template.
        scan: Draw this many, half of them rich in signal and half rich in noise, and start from
            the best of either half; 0 to start from draws near the template as they come.
        rng: For those; a fixed seed if None.
    """
    require(spread > 0, "spread must be positive", spread)
    if not stretches:
        raise ValueError("there is nothing to fit: stretches is empty")
    parts = [
        Stretch(actions.points(a), np.asarray(t, np.float64), np.asarray(y, np.float64))
        for a, t, y in stretches
    ]
    seed = 0 if rng is None else int(rng.integers(2**63))
    search = Search(kernel, parts, noise_variance, frozenset(fixed), spread, starts, scan, seed)
    evidence, theta = search.model(fit_mean, fit_scale).evidence, search.best(fit_mean, fit_scale)
    fitted, noise = evidence.unpack(theta)
    return Fit(fitted, noise, evidence.normaliser(theta), -evidence.value(theta))
