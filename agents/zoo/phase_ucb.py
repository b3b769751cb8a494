"""What a practitioner would write in ten lines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Problem, number
from agents.gp.posterior import require_finite
from agents.storage import Saveable
from agents.zoo.arms import MOST_CELLS, arms_of, as_action, nearest_arm, relive
from agents.zoo.prior import main_period

Array = NDArray[np.float64]


class PhaseUCB(Saveable):
    """UCB1 kept separately for every phase of the season: no smoothness, no sharing.

    Pseudo-code::

        p <- floor(t mod tau)
        if an arm is untried at phase p: try it
        else a_t <- argmax_a mean[p, a] + c sqrt(2 log n[p] / n[p, a])

    Reference: [@auer2002finite] for UCB1.

    Deviations from the paper: none of its methods; the yardstick for what sharing between phases
    and actions is worth. A box is cut into ``box_arms`` points.

    Args:
        problem: What is known.
        rng: Breaks ties.
        period: tau; by default the problem's main season.
        scale: c, the scale of the rewards; by default the problem's noise, or their standard
            deviation so far.
        box_arms: Number of points of a box.
    """

    name = "phase-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        period: float | None = None,
        scale: float | None = None,
        box_arms: int = 20,
    ) -> None:
        self._period = main_period(problem, period)
        self._scale = number("scale", scale) if scale is not None else problem.noise_std
        self._arms = arms_of(problem, box_arms)
        shape = (math.ceil(self._period), len(self._arms))
        if shape[0] * shape[1] > MOST_CELLS:
            raise ValueError(f"period {self._period:g} makes too many phases for a table")
        self._count, self._total = np.zeros(shape), np.zeros(shape)
        self._squares = 0.0
        relive(self, problem.warm_start)

    def act(self, observation: Array) -> Any:
        """The most promising arm at this phase."""
        count, total = (table[self._phase(observation)] for table in (self._count, self._total))
        untried = np.flatnonzero(count == 0)
        if len(untried):
            return as_action(self._arms, int(self._rng.choice(untried)))
        width = self._width() * np.sqrt(2.0 * math.log(count.sum()) / count)
        bound = total / count + width
        best = np.flatnonzero(bound == bound.max())
        return as_action(self._arms, int(self._rng.choice(best)))

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Count the reward where it belongs; order and delay do not matter, a NaN is ignored."""
        if not math.isnan(reward):
            require_finite(float(observation[0]), reward)
            cell = self._phase(observation), nearest_arm(self._arms, self._problem.checked(action))
            self._count[cell] += 1
            self._total[cell] += reward
            self._squares += reward**2

    def _phase(self, observation: Array) -> int:
        phase = int(float(observation[0]) % self._period)
        return min(phase, len(self._count) - 1)  # a remainder can round up to the period

    def _width(self) -> float:
        if self._scale is not None:
            return self._scale
        n = self._count.sum()
        return math.sqrt(max(self._squares / n - (self._total.sum() / n) ** 2, 0.0))

    def state(self) -> dict[str, Any]:
        """The counts and sums."""
        return {"count": self._count, "total": self._total, "squares": self._squares}

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        self._count[:], self._total[:] = state["count"], state["total"]
        self._squares = float(state["squares"])
