"""Where to look for the hyper-parameters of greatest evidence, so that no descent is led astray.

The log evidence has several optima; a common wrong one explains everything by noise. A model is
therefore searched from its template and from the best of some draws (half of them rich in signal,
half rich in noise), and again from the optima of the models that it contains:

    the same with prior mean 0    where the mean is fitted,
    the same with scale 1         where the scale is fitted.

So it is never below these. With variances and noise free, "scale 1" and "scale fitted" are one
model in two parametrisations: the draws are then made in the one with a fitted scale, which has one
dimension less, and the other takes over what was found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from agents.arrays import Array, Rng
from agents.gp.evidence import Evidence, Stretch
from agents.gp.kernels.base import Kernel
from agents.gp.parameters import free_parameters, get

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

    def model(self, fit_mean: bool, fit_scale: bool) -> Model:
        """One of the four models."""
        free = free_parameters(self.kernel, self.fixed)
        if fit_scale:  # only ratios of variances matter
            free = [p for p in free if (p.term, p.name) != (0, "variance")]
        evidence = Evidence(self.kernel, free, self.stretches, fit_mean, fit_scale)
        first = np.log(np.append(get(self.kernel, free), self.noise_variance))
        bounds = np.log([*(p.bounds for p in free), NOISE])
        if "noise_variance" in self.fixed:
            bounds[-1] = first[-1]
        return Model(evidence, first, _reaching(bounds, first), self.spread)

    def _found(self, model: Model) -> Array:
        """What a search has found, in this model or in its other parametrisation."""
        scale = model.evidence.fit_scale or self._one_of_two
        return model.taken_over(*self._search(model.evidence.fit_mean, scale))

    def _contained(self, model: Model) -> Iterator[Array]:
        """The optima of contained models, as theta of a model."""
        fit_mean, fit_scale = model.evidence.fit_mean, model.evidence.fit_scale
        if fit_mean:
            yield self.best(False, fit_scale)
        if fit_scale and self._contains_scale_one:
            yield model.taken_over(self.model(fit_mean, False), self.best(fit_mean, False))

    @property
    def _one_of_two(self) -> bool:
        """Whether scale 1 and a fitted scale are the same model."""
        return self.spread == math.inf and not self.fixed & {"variance", "noise_variance"}

    @property
    def _contains_scale_one(self) -> bool:
        """Whether the model with a fitted scale contains the one with scale 1.

        Not if a prior is on what the scale divides, nor if the noise stays while variances move: a
        noise variance is counted in units of the scale.
        """
        kept = "noise_variance" not in self.fixed or "variance" in self.fixed
        return self.spread == math.inf and kept

    def _search(self, fit_mean: bool, fit_scale: bool) -> tuple[Model, Array]:
        """A model, and the best theta from its own starts and those of its part with mean 0."""
        key, model = (fit_mean, fit_scale), self.model(fit_mean, fit_scale)
        if key not in self._searched:
            begins = [model.first, *self._drawn(model)]
            if fit_mean:
                begins.append(self._search(False, fit_scale)[1])
            self._searched[key] = model.lowest([model.descend(theta) for theta in begins])
        return model, self._searched[key]

    def _drawn(self, model: Model) -> list[Array]:
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
class Model:
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

    def taken_over(self, other: Model, theta: Array) -> Array:
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
