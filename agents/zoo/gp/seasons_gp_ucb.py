"""Seasons-GP-UCB, for several seasons such as day and week."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import positive, seasonal_length_scale, several
from agents.gp import Constant, Kernel, Periodic, Sum, Term, TimeKernel
from agents.zoo.gp.gp_agent import GPAgent
from agents.zoo.gp.prior import main_period

MAX_SEASONS = 4
"""Maximum number of seasons; the kernel "any" of n seasons has 2^n terms."""
COMBINATIONS = ("any", "sum", "product", "nested")
"""Ways to combine the kernels of several seasons."""


class SeasonsGPUCB(GPAgent):
    """Seasons-GP-UCB: Periodic-GP-UCB with sums and products of the kernels of several seasons.

    Pseudo-code::

        c_i = periodic kernel of season i = 1, ..., n           (day, week, ...)
        any:     k = k_A prod_i (1 + c_i) / 2
        sum:     k = k_A sum_i c_i / n
        product: k = k_A prod_i c_i
        nested:  k = k_A c_1 prod_{i > 1} (1 + c_i) / 2
        auto:    the mixture of all of these, weighed by their evidence
        then as Periodic-GP-UCB

    Reference: [@cai2021periodic], which mentions several seasons in Remark 1 and in the discussion;
    [@duvenaud2011additive] for sums of products of all orders; [@hoeting1999bayesian] for "auto".

    Deviations from the paper: the paper does not combine kernels. The kernel "any", multiplied out,
    is a mean of products. There is one product for each subset of the seasons; the product for the
    empty subset is 1. With a day and a week, the kernel contains a daily pattern, a weekly pattern,
    a daily pattern that differs between weekdays, and a constant part.

    Args:
        periods: Periods in steps, the main period first; by default those of the problem.
        combine: Way to combine the seasons: "any", "sum", "product", "nested" or "auto".
        time_length_scale: Length-scale l of all periodic kernels.
        common: Arguments of every GP agent, see :class:`GPAgent`. With "auto", ``fit_warm_start``
            fits the kernel over actions, but not the kernels of the seasons.
    """

    name = "seasons-gp-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        periods: Sequence[float] | None = None,
        combine: str = "any",
        time_length_scale: float = 1.0,
        **common: Any,
    ) -> None:
        if combine not in ("auto", *COMBINATIONS):
            raise ValueError(
                f"combine must be one of auto, {', '.join(COMBINATIONS)}, got {combine!r}"
            )
        chosen = list(problem.periods) if periods is None else several("periods", periods)
        known = chosen or [main_period(problem, None, setting="periods=[24]")]
        if len(known) > MAX_SEASONS:
            raise ValueError(f"periods must have at most {MAX_SEASONS} entries, got {len(known)}")
        length_scale = seasonal_length_scale(time_length_scale)
        self._seasons = [Periodic(positive("periods", period), length_scale) for period in known]
        self._combine = combine
        clock = combined(self._seasons, "any" if combine == "auto" else combine)
        super().__init__(problem, rng, time_kernel=clock, **common)

    def start(self) -> None:
        """Create a posterior without observations; with "auto", a mixture of all combinations."""
        if self._combine != "auto":
            super().start()
            return
        terms = self.kernel.terms
        over_actions = Sum((Term(sum(term.variance for term in terms), terms[0].actions),))
        kernels = [over_actions * combined(self._seasons, way) for way in COMBINATIONS]
        self.posterior = self.new_mixture(kernels)


def combined(seasons: Sequence[TimeKernel], way: str) -> Kernel:
    """Return a time kernel of variance 1 that combines the kernels of several seasons."""
    if way == "sum":
        return reduce(operator.add, seasons) * (1.0 / len(seasons))
    halves = [0.5 * (Constant() + season) for season in seasons]
    parts: dict[str, Sequence[Kernel]] = {
        "any": halves,
        "product": seasons,
        "nested": [seasons[0], *halves[1:]],
    }
    return reduce(operator.mul, parts[way], Constant())
