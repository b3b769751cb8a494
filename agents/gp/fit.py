"""Hyper-parameters by maximum log evidence (``evidence.py``).

The log evidence has several optima; a common wrong one explains everything by noise. A model is
therefore searched from its template and from the best of some draws (half of them rich in signal,
half rich in noise), and again from the optima of the models that it contains:

    the same with prior mean 0    where the mean is fitted,
    the same with scale 1         where the scale is fitted.

So it is never below these. With variances and noise free, "scale 1" and "scale fitted" are one
model in two parametrisations: the draws are then made in the one with a fitted scale, which has one
dimension less, and the other takes over the result.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from agents.arrays import Array, Rng
from agents.checks import require
from agents.gp.actions import Actions
from agents.gp.evidence import Evidence, Normaliser, Stretch, free_parameters, get
from agents.gp.kernels.base import Kernel

NOISE = (1e-6, 1e3)
"""Bounds of the noise variance."""
SCAN_SPREAD = 1.5
"""Spread of the logarithms of what is scanned for a start."""
SIGNAL_RICH, NOISE_RICH = -2.0, 1.0
"""Shifts of the logarithm of the noise variance in the two halves of a scan."""
TIE = 1e-8
"""Log evidences this close are equal, and the earlier is taken: the same on every machine."""


@dataclass(frozen=True, eq=False)
class Search:
    """The search for one template, with the mean and the scale fitted or not.

    Attributes:
        kernel: Template.
        stretches: The rewards.
        noise_variance: In the template.
        fixed: Names that stay.
        spread: Of the log-normal prior around the template, see :func:`agents.gp.fit`.
        starts: Number of starts.
        scan: How many draws the starts are chosen from; 0 to take them as drawn.
        seed: For the draws.
    """

    kernel: Kernel
    stretches: Sequence[Stretch]
    noise_variance: float
    fixed: frozenset[str]
    spread: float
    starts: int
    scan: int
    seed: int
    _best: dict[tuple[bool, bool], Array] = field(default_factory=dict)
    _searched: dict[tuple[bool, bool], Array] = field(default_factory=dict)

    def best(self, fit_mean: bool, fit_scale: bool) -> Array:
        """The best theta that was found for a model."""
        key = fit_mean, fit_scale
        if key not in self._best:
            model = self.model(*key)
            found = model.lowest([model.first, self._found(model)])
            for theta in self._contained(model):
                if model.lowest([found, theta]) is theta:  # otherwise it is known to be worse
                    found = model.lowest([theta, model.descend(theta)])
            self._best[key] = found
        return self._best[key]

    def model(self, fit_mean: bool, fit_scale: bool) -> Objective:
        """One of the four models."""
        free = free_parameters(self.kernel, self.fixed)
        if fit_scale:  # only ratios of variances matter
            free = [p for p in free if (p.term, p.name) != (0, "variance")]
        evidence = Evidence(self.kernel, free, self.stretches, fit_mean, fit_scale)
        first = np.log(np.append(get(self.kernel, free), self.noise_variance))
        bounds = np.log([*(p.bounds for p in free), NOISE])
        if "noise_variance" in self.fixed:
            bounds[-1] = first[-1]
        return Objective(evidence, first, _reaching(bounds, first), self.spread)

    def _found(self, model: Objective) -> Array:
        """Result of a search, in this model or in its other parametrisation."""
        scale = model.evidence.fit_scale or self._one_of_two
        return model.taken_over(*self._search(model.evidence.fit_mean, scale))

    def _contained(self, model: Objective) -> Iterator[Array]:
        """The optima of contained models, as theta of a model."""
        fit_mean, fit_scale = model.evidence.fit_mean, model.evidence.fit_scale
        if fit_mean:
            yield self.best(False, fit_scale)
        if fit_scale and self._contains_scale_one:
            yield model.taken_over(self.model(fit_mean, False), self.best(fit_mean, False))

    @property
    def _one_of_two(self) -> bool:
        """True if scale 1 and a fitted scale are the same model."""
        return self.spread == math.inf and not self.fixed & {"variance", "noise_variance"}

    @property
    def _contains_scale_one(self) -> bool:
        """True if the model with a fitted scale contains the one with scale 1.

        Not if a prior is on what the scale divides, nor if the noise stays while variances move: a
        noise variance is counted in units of the scale.
        """
        kept = "noise_variance" not in self.fixed or "variance" in self.fixed
        return self.spread == math.inf and kept

    def _search(self, fit_mean: bool, fit_scale: bool) -> tuple[Objective, Array]:
        """A model, and the best theta from its own starts and those of its part with mean 0."""
        key, model = (fit_mean, fit_scale), self.model(fit_mean, fit_scale)
        if key not in self._searched:
            begins = [model.first, *self._drawn(model)]
            if fit_mean:
                begins.append(self._search(False, fit_scale)[1])
            self._searched[key] = model.lowest([model.descend(theta) for theta in begins])
        return model, self._searched[key]

    def _drawn(self, model: Objective) -> list[Array]:
        """Starts about the template, the best of a scan if there is one."""
        rng, more = np.random.default_rng(self.seed), self.starts - 1
        if not self.scan or more < 1:
            return [model.draw(rng, 1.0, 0.0) for _ in range(more)]
        shifts = [(SIGNAL_RICH, NOISE_RICH)[i % 2] for i in range(max(self.scan, more))]
        drawn = [model.draw(rng, SCAN_SPREAD, shift) for shift in shifts]
        rich = [sorted(drawn[half::2], key=model.value) for half in (0, 1)]
        in_turn = [theta for pair in zip(*rich, strict=False) for theta in pair]
        return in_turn[:more]


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss of one model: minus its log evidence, and minus the logarithm of a prior.

    Attributes:
        evidence: Of theta, the logarithms of the free hyper-parameters and of the noise variance.
        first: theta of the template.
        bounds: Of theta, shape (p + 1, 2).
        spread: Of the prior.
    """

    evidence: Evidence
    first: Array
    bounds: Array
    spread: float

    def value(self, theta: Array) -> float:
        """The loss alone."""
        return self.evidence.value(theta) + self._prior(theta)

    def loss(self, theta: Array) -> tuple[float, Array]:
        """The loss and its gradient."""
        value, gradient = self.evidence.loss(theta)
        return value + self._prior(theta), gradient + (theta - self.first) / self.spread**2

    def descend(self, theta: Array) -> Array:
        """The end of a descent by L-BFGS-B; the bounds give way to a start outside."""
        bounds = _reaching(self.bounds, theta)
        from scipy.optimize import minimize  # slow to import, and not always needed

        return np.asarray(minimize(self.loss, theta, jac=True, method="L-BFGS-B", bounds=bounds).x)

    def lowest(self, thetas: Sequence[Array]) -> Array:
        """The theta of the least loss, the first of several that are equal to round-off."""
        values = [self.value(theta) for theta in thetas]
        return next(t for t, v in zip(thetas, values, strict=True) if v <= min(values) + TIE)

    def draw(self, rng: Rng, wide: float, shift: float) -> Array:
        """A random theta about the template, with more or less noise."""
        theta = self.first + wide * rng.standard_normal(len(self.first))
        theta[-1] += shift
        return np.asarray(np.clip(theta, *self.bounds.T))

    def taken_over(self, other: Objective, theta: Array) -> Array:
        """The same covariance of the rewards as another model's, which may have another scale."""
        kernel, noise_variance = other.evidence.unpack(theta)
        factor = 1.0
        if other.evidence.fit_scale != self.evidence.fit_scale:
            own = self.evidence.kernel.terms[0].variance
            scale = other.evidence.normaliser(theta).scale
            factor = own / kernel.terms[0].variance if self.evidence.fit_scale else scale**2
        free = self.evidence.parameters
        values = get(kernel, free) * [factor if p.name == "variance" else 1.0 for p in free]
        return np.asarray(np.log(np.append(values, factor * noise_variance)))

    def _prior(self, theta: Array) -> float:
        return 0.5 * float(np.sum(((theta - self.first) / self.spread) ** 2))


def _reaching(bounds: Array, theta: Array) -> Array:
    """Bounds that give way to a point outside."""
    return np.stack((np.minimum(bounds[:, 0], theta), np.maximum(bounds[:, 1], theta)), axis=1)


@dataclass(frozen=True)
class Fit:
    """Result of ``fit``; a posterior with it takes ``normaliser.forward(reward)``.

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
            drawn again for every stretch, the hyper-parameters are common to all.
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
