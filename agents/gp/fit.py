"""Fitting of hyper-parameters by maximum log evidence (``evidence.py``).

The log evidence has several optima; a common wrong optimum explains all variation as noise.
Searches therefore start from the template, from the best of several draws (half of them with low
noise, half with high noise), and from the optima of nested models:

    the model with prior mean 0    if the mean is fitted,
    the model with scale 1         if the scale is fitted.

The result is therefore never worse than the results of the nested models. If variances and noise
are free, scale 1 and a fitted scale are two parametrisations of the same model. Draws are then made
with a fitted scale, since this parametrisation has one parameter fewer, and the result is
converted.
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
"""Standard deviation of the logarithms of hyper-parameters in a scan."""
SIGNAL_RICH, NOISE_RICH = -2.0, 1.0
"""Shifts of the logarithm of the noise variance in the two halves of a scan."""
TIE = 1e-8
"""Difference below which log evidences are treated as equal. The first of them is chosen, so that
the choice does not depend on the machine."""


@dataclass(frozen=True, eq=False)
class Search:
    """Search for the hyper-parameters of a template, with fitted or fixed mean and scale.

    Attributes:
        kernel: Template, a kernel whose hyper-parameters are the first starting point.
        stretches: Independent stretches of observations.
        noise_variance: Noise variance of the template.
        fixed: Names of fixed hyper-parameters.
        spread: Spread of the log-normal prior around the template (see :func:`agents.gp.fit`).
        starts: Number of starting points of a search.
        scan: Number of draws from which starting points are selected; 0 to use all draws.
        seed: Seed of the draws.
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
        """Return the best theta of the model with a fitted or fixed mean and scale."""
        key = fit_mean, fit_scale
        if key not in self._best:
            model = self.model(*key)
            best = model.lowest([model.first, self._searched_theta(model)])
            for theta in self._contained(model):
                if (
                    model.lowest([best, theta]) is theta
                ):  # otherwise best is already at least as good
                    best = model.lowest([theta, model.descend(theta)])
            self._best[key] = best
        return self._best[key]

    def model(self, fit_mean: bool, fit_scale: bool) -> Objective:
        """Return the objective of the model with a fitted or fixed mean and scale."""
        free = free_parameters(self.kernel, self.fixed)
        if fit_scale:  # only ratios of variances matter, so one variance is fixed
            free = [p for p in free if (p.term, p.name) != (0, "variance")]
        evidence = Evidence(self.kernel, free, self.stretches, fit_mean, fit_scale)
        first = np.log(np.append(get(self.kernel, free), self.noise_variance))
        bounds = np.log([*(p.bounds for p in free), NOISE])
        if "noise_variance" in self.fixed:
            bounds[-1] = first[-1]
        return Objective(evidence, first, _reaching(bounds, first), self.spread)

    def _searched_theta(self, model: Objective) -> Array:
        """Return the best theta of a search, in the parameters of the model.

        If the model with a fitted scale is equivalent, the search uses that parametrisation.
        """
        scale = model.evidence.fit_scale or self._one_of_two
        return model.taken_over(*self._search(model.evidence.fit_mean, scale))

    def _contained(self, model: Objective) -> Iterator[Array]:
        """Yield the optima of the nested models, converted to the parameters of a model."""
        fit_mean, fit_scale = model.evidence.fit_mean, model.evidence.fit_scale
        if fit_mean:
            yield self.best(False, fit_scale)
        if fit_scale and self._contains_scale_one:
            yield model.taken_over(self.model(fit_mean, False), self.best(fit_mean, False))

    @property
    def _one_of_two(self) -> bool:
        """True if scale 1 and a fitted scale are parametrisations of the same model."""
        return self.spread == math.inf and not self.fixed & {"variance", "noise_variance"}

    @property
    def _contains_scale_one(self) -> bool:
        """True if the model with a fitted scale contains the model with scale 1.

        The value is False with a prior, since the prior applies to variances relative to the scale.
        It is also False with fixed noise and free variances, since the noise is fixed relative to
        the scale.
        """
        rescalable = "noise_variance" not in self.fixed or "variance" in self.fixed
        return self.spread == math.inf and rescalable

    def _search(self, fit_mean: bool, fit_scale: bool) -> tuple[Objective, Array]:
        """Return the model for ``fit_mean`` and ``fit_scale``, and its best theta.

        If the mean is fitted, the best theta with mean 0 is an additional starting point.
        """
        key, model = (fit_mean, fit_scale), self.model(fit_mean, fit_scale)
        if key not in self._searched:
            begins = [model.first, *self._drawn(model)]
            if fit_mean:
                begins.append(self._search(False, fit_scale)[1])
            self._searched[key] = model.lowest([model.descend(theta) for theta in begins])
        return model, self._searched[key]

    def _drawn(self, model: Objective) -> list[Array]:
        """Return ``starts - 1`` random starting points.

        They are the best of ``scan`` draws or, if ``scan`` is 0, draws near the template.
        """
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
    """Loss of one model: the negative sum of its log evidence and the log density of a prior.

    Attributes:
        evidence: Log evidence as a function of theta, the logarithms of the free hyper-parameters
            and of the noise variance.
        first: Theta of the template.
        bounds: Bounds of theta, shape (p + 1, 2).
        spread: Standard deviation of the prior on theta.
    """

    evidence: Evidence
    first: Array
    bounds: Array
    spread: float

    def value(self, theta: Array) -> float:
        """Return the loss without its gradient."""
        return self.evidence.value(theta) + self._prior(theta)

    def loss(self, theta: Array) -> tuple[float, Array]:
        """Return the loss and its gradient."""
        value, gradient = self.evidence.loss(theta)
        return value + self._prior(theta), gradient + (theta - self.first) / self.spread**2

    def descend(self, theta: Array) -> Array:
        """Return the result of L-BFGS-B from ``theta``; the bounds are extended to include it."""
        bounds = _reaching(self.bounds, theta)
        from scipy.optimize import minimize  # slow to import, and not always needed

        return np.asarray(minimize(self.loss, theta, jac=True, method="L-BFGS-B", bounds=bounds).x)

    def lowest(self, thetas: Sequence[Array]) -> Array:
        """Return the theta with the lowest loss, the first one among ties."""
        values = [self.value(theta) for theta in thetas]
        return next(t for t, v in zip(thetas, values, strict=True) if v <= min(values) + TIE)

    def draw(self, rng: Rng, wide: float, shift: float) -> Array:
        """Return a random theta, clipped to the bounds.

        Its entries have standard deviation ``wide`` around the template. ``shift`` is added to the
        logarithm of the noise variance.
        """
        theta = self.first + wide * rng.standard_normal(len(self.first))
        theta[-1] += shift
        return np.asarray(np.clip(theta, *self.bounds.T))

    def taken_over(self, other: Objective, theta: Array) -> Array:
        """Return the theta of this model that is equivalent to ``theta`` of another model.

        Both give the rewards the same covariance.
        """
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
    """Return bounds that are extended to include a point."""
    return np.stack((np.minimum(bounds[:, 0], theta), np.maximum(bounds[:, 1], theta)), axis=1)


@dataclass(frozen=True)
class Fit:
    """Result of ``fit``; posteriors learn from ``normaliser.forward(reward)``.

    Attributes:
        kernel: Kernel with fitted hyper-parameters.
        noise_variance: Noise variance of the normalised rewards.
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
    """Maximise the log evidence, and optionally a prior, over the logarithms of hyper-parameters.

    The optimiser is L-BFGS-B. Without a prior, the log evidence is at least that of the same call
    with ``fit_mean=False``, ``fit_scale=False`` or both, since the optima of these calls are also
    starting points. (An exception is a call that fixes the noise and fits variances, since a fitted
    scale changes the unit of the noise.) With a prior, the sum of log evidence and log prior is at
    least that of the same call with ``fit_mean=False``. The optima of calls with more names in
    ``fixed`` are not starting points, so these calls may occasionally give better results. In this
    case, increase ``starts``.

    Args:
        kernel: Template. Its hyper-parameters are the first starting point, so the result is never
            worse than the template.
        actions: Set of actions.
        stretches: Tuple (actions, times, rewards) for each stretch of observations. The reward
            functions of different stretches are independent, but have the same
            hyper-parameters.
        noise_variance: Initial noise variance.
        fixed: Names of fixed hyper-parameters: "variance", "length_scale", "eps", "period",
            "noise_variance".
        fit_mean: Fit the prior mean of the rewards; otherwise it is 0.
        fit_scale: Fit the scale of the rewards; otherwise it is 1. If the scale is fitted, only
            ratios of variances matter, and the variance of the first term is fixed.
        spread: Standard deviation of a log-normal prior on every hyper-parameter around its value
            in the template; infinity for no prior.
        starts: Number of starting points of a search; all but the first are drawn around the
            template.
        scan: Number of draws, half with low and half with high noise, from which the best are
            selected as starting points; 0 for draws near the template without a selection.
        rng: Generator of the draws; None for a fixed seed.
    """
    require(spread > 0, "spread must be positive", spread)
    if not stretches:
        raise ValueError("stretches must not be empty")
    parts = [
        Stretch(actions.points(a), np.asarray(t, np.float64), np.asarray(y, np.float64))
        for a, t, y in stretches
    ]
    seed = 0 if rng is None else int(rng.integers(2**63))
    search = Search(kernel, parts, noise_variance, frozenset(fixed), spread, starts, scan, seed)
    evidence, theta = search.model(fit_mean, fit_scale).evidence, search.best(fit_mean, fit_scale)
    fitted, noise = evidence.unpack(theta)
    return Fit(fitted, noise, evidence.normaliser(theta), -evidence.value(theta))
