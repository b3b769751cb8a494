"""``w-dbo`` beside the authors' packages: what an observation matters, and what is compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agents.gp import Array, Box, Incremental, SquaredExponential, TimeSquaredExponential
from agents.gp.relevance import coming_times
from evaluation.provenance import version_of
from tests.test_agreement.arms import Agreement
from tests.test_agreement.models import LENGTH, NOISE, belief_after, inputs
from tests.test_agreement.others import library

VARIANCE, PLACE_LENGTH, NOISE_VARIANCE = 1.3, 0.3, 0.1
CASES, KEPT, TIME_LENGTH = 50, 15, 10.0
"""Data sets that are compared, the observations in each, and the time scale of the kernel."""
EVERYWHERE = np.linspace(-4.0, 5.0, 200)[:, None]
"""The authors' integral is over all of space: beyond these points there is nothing."""
Case = tuple[Array, Array, Array]
"""Places, times and rewards."""


def cases(*, together: bool) -> list[Case]:
    """Observations of one moment, or as an agent makes them: one after another."""
    rng, t = np.random.default_rng(0), np.zeros(KEPT) if together else np.arange(float(KEPT))
    return [(rng.random(KEPT), t, rng.standard_normal(KEPT)) for _ in range(CASES)]


def our_relevance(case: Case) -> Array:
    """Of every observation for all that comes after the last one."""
    kernel = _kernel()
    posterior = Incremental(kernel, Box(-4.0, 5.0), NOISE_VARIANCE)
    for x, t, y in zip(*case, strict=True):
        posterior.observe([x], t, y)
    return posterior.relevance(coming_times(kernel, float(KEPT)), EVERYWHERE)()


def defined_relevance(case: Case, which: int) -> float:
    """Of one observation by the definition: predictions with it, without it, without any."""
    kernel = _kernel()
    moments = coming_times(kernel, float(KEPT))

    def predicted(kept: set[int]) -> Array:
        posterior = Incremental(kernel, Box(-4.0, 5.0), NOISE_VARIANCE)
        for i in sorted(kept):
            posterior.observe([case[0][i]], case[1][i], case[2][i])
        return np.array([posterior.predict(t, EVERYWHERE) for t in moments])

    def distance(one: Array, other: Array) -> float:
        gap = one - other
        return float(np.sqrt((gap[:, 0] ** 2 + np.abs(gap[:, 1])).mean()))

    every = set(range(KEPT))
    full, less, nothing = (predicted(kept) for kept in (every, every - {which}, set()))
    return distance(less, full) / distance(nothing, full)


def their_relevance(case: Case) -> Array:
    """By wdbo-criterion, in closed form."""
    criterion = library("wdbo_criterion")
    x, t, y = (np.ascontiguousarray(each) for each in case)
    place, clock = criterion.RBFKernel(PLACE_LENGTH), criterion.RBFKernel(TIME_LENGTH)
    sizes = (KEPT, 1, VARIANCE, NOISE_VARIANCE)
    found = criterion.wasserstein_criterion(
        np.ascontiguousarray(x[:, None]), y, t, *sizes, place, clock, float(KEPT), 0, 1
    )
    return np.asarray(found, dtype=np.float64)


def relevance(*, together: bool) -> Agreement:
    """How far apart the two are, and whether the same observation would be dropped."""
    pairs = [(our_relevance(case), their_relevance(case)) for case in cases(together=together)]
    gap = max(float(np.abs(theirs / ours - 1.0).max()) for ours, theirs in pairs)
    typical = float(np.median([np.abs(theirs / ours - 1.0) for ours, theirs in pairs]))
    same = float(np.mean([ours.argmin() == theirs.argmin() for ours, theirs in pairs]))
    words = f"{_written(gap)} of ours at most, {_written(typical)} in the median"
    note = "of one moment" if together else f"of {KEPT} moments, {_defined()}"
    return Agreement(
        "w-dbo",
        f"wdbo-criterion {version_of('wdbo-criterion')}",
        f"relevances differ by {words}; the same one is dropped first in {same:.0%} of sets",
        f"{CASES} sets of {KEPT} observations {note}",
    )


def _defined() -> str:
    """Which of the two keeps to the definition: of the first observation of one set."""
    case = cases(together=False)[0]
    defined = defined_relevance(case, 0)
    ours, theirs = (abs(of(case)[0] / defined - 1.0) for of in (our_relevance, their_relevance))
    return (
        "the only case that the agent meets; in one of them the definition (predictions with and "
        f"without an observation) differs from ours by {_written(ours)}, from theirs by "
        f"{_written(theirs)}"
    )


def _written(share: float) -> str:
    return f"{share:.0e}" if share < 0.001 else f"{share:.1%}"


def our_belief() -> tuple[Array, Array]:
    """Means and deviations of ``w-dbo`` that has dropped nothing, for its five actions."""
    settings = f"length_scale={LENGTH},time_length_scale={TIME_LENGTH},noise_variance={NOISE}"
    return belief_after(f"w-dbo:{settings},first=1000")


def their_belief() -> tuple[Array, Array]:
    """Of the model of wdbo-algo, whose posterior is that of a reward: its noise is taken off."""
    gp, torch = library("gpytorch"), library("torch")
    model = library("wdbo_algo.model").SpaceTimeGPModel
    x, y, asked = (torch.as_tensor(each) for each in inputs())
    likelihood = gp.likelihoods.GaussianLikelihood().double()
    rbf = gp.kernels.RBFKernel
    found = model(rbf, [], rbf, [], x, y, likelihood).double()
    found.set_parameters(1.0, LENGTH, TIME_LENGTH)
    likelihood.noise = NOISE
    found.eval()
    likelihood.eval()
    with torch.no_grad(), gp.settings.fast_computations(False, False, False):
        belief = found.posterior(asked)
        return belief.mean.numpy(), (belief.variance - NOISE).sqrt().numpy()


def belief() -> Agreement:
    """What the index of W-DBO is made of, without the search for its maximum."""
    gaps = [np.abs(a - b).max() for a, b in zip(our_belief(), their_belief(), strict=True)]
    return Agreement(
        "w-dbo",
        f"wdbo-algo {version_of('wdbo-algo')}",
        f"means differ by {gaps[0]:.0e} at most, deviations by {gaps[1]:.0e}",
        "hyper-parameters given, nothing dropped, its noise taken off: the index there is of a "
        "reward, here of its mean, and the weights of the deviation differ, too",
    )


def _kernel() -> Any:
    return VARIANCE * SquaredExponential(PLACE_LENGTH) * TimeSquaredExponential(TIME_LENGTH)


ROWS: list[Callable[[], Agreement]] = [
    lambda: relevance(together=True),
    lambda: relevance(together=False),
    belief,
]
"""What compares each pair."""
