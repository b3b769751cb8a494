"""UCB for each phase of the season."""

from __future__ import annotations

import math

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.gp.prior import main_period

MAX_TABLE_CELLS = 10_000_000
"""Most (phase, arm) pairs for which a table is kept."""


class PhaseUCB(ArmAgent):
    """UCB1 kept separately for every phase of the season: no smoothness, no sharing.

    Pseudo-code::

        p <- floor(t mod tau)
        if an arm is untried at phase p: try it
        else a_t <- argmax_a mean[p, a] + c sqrt(2 log n[p] / n[p, a])

    Reference: [@auer2002finite] for UCB1.

    Deviations from the paper: this is none of the paper's methods. It is the reference for what
    sharing between phases and actions is worth. A box is cut into ``box_arms`` points.

    Args:
        period: tau; by default the problem's main season.
        scale: c, the scale of the rewards; by default the problem's noise, or their standard
            deviation so far.
        box_arms: Number of points of a box.
    """

    name = "phase-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        period: float | None = None,
        scale: float | None = None,
        box_arms: int = 20,
    ) -> None:
        self._period = main_period(problem, period)
        # Without noise an arm is known after one trial at a phase.
        sigma = problem.noise_std if scale is None else scale
        super().__init__(problem, rng, scale=sigma, box_arms=box_arms)

    def start(self) -> None:
        """Reset counts and sums of rewards for every phase and arm."""
        shape = (math.ceil(self._period), self.n_arms)
        if shape[0] * shape[1] > MAX_TABLE_CELLS:
            raise ValueError(f"period {self._period:g} makes too many phases for a table")
        self._count, self._total = np.zeros(shape), np.zeros(shape)

    def choose(self, t: float, observation: Array) -> int:
        """Return the most promising arm at this phase."""
        count, total = (table[self._phase(t)] for table in (self._count, self._total))
        untried = np.flatnonzero(count == 0)
        if len(untried):
            return self.any_of(untried)
        width = self.scale.sigma * np.sqrt(2.0 * math.log(count.sum()) / count)
        return self.best_of(total / count + width)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Count the reward where it belongs; order and delay do not matter."""
        cell = self._phase(t), arm
        self._count[cell] += 1
        self._total[cell] += reward

    def _phase(self, t: float) -> int:
        phase = int(t % self._period)
        return min(phase, len(self._count) - 1)  # a remainder can round up to the period
