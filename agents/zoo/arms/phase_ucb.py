"""UCB for each phase of the season."""

from __future__ import annotations

import math

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.gp.prior import main_period

MAX_TABLE_CELLS = 10_000_000
"""Maximum number of pairs of a phase and an arm in a table."""


class PhaseUCB(ArmAgent):
    """UCB1 with separate statistics for every phase of the season, without smoothing or sharing.

    Pseudo-code::

        p <- floor(t mod tau)
        if an arm is untried at phase p: try it
        else a_t <- argmax_a mean[p, a] + c sqrt(2 log n[p] / n[p, a])

    Reference: [@auer2002finite] for UCB1.

    Deviations from the paper: this agent is not one of the methods of [@cai2021periodic]. It is a
    baseline that shows the value of sharing information between phases and between actions. A box
    is discretised into ``box_arms`` points.

    Args:
        period: Period tau in steps; by default that of the problem's main season.
        scale: Scale c of the rewards. The default is the problem's ``noise_std`` or, if that is
            unknown, the standard deviation of the rewards so far.
        box_arms: Number of points to which a box is discretised.
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
        # A noise_std of 0 is valid here: without noise, one trial of an arm at a phase suffices.
        sigma = problem.noise_std if scale is None else scale
        super().__init__(problem, rng, scale=sigma, box_arms=box_arms)

    def start(self) -> None:
        """Reset the counts and sums of rewards for every phase and arm."""
        shape = (math.ceil(self._period), self.n_arms)
        if shape[0] * shape[1] > MAX_TABLE_CELLS:
            raise ValueError(
                f"period {self._period:g} has too many phases: at most "
                f"{MAX_TABLE_CELLS // self.n_arms} are allowed for {self.n_arms} arms"
            )
        self._count, self._total = np.zeros(shape), np.zeros(shape)

    def choose(self, t: float, observation: Array) -> int:
        """Return an arm untried at this phase, or the arm with the greatest bound."""
        count, total = (table[self._phase(t)] for table in (self._count, self._total))
        untried = np.flatnonzero(count == 0)
        if len(untried):
            return self.any_of(untried)
        width = self.scale.sigma * np.sqrt(2.0 * math.log(count.sum()) / count)
        return self.best_of(total / count + width)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add the reward to the phase of its decision; order and delay do not matter."""
        cell = self._phase(t), arm
        self._count[cell] += 1
        self._total[cell] += reward

    def _phase(self, t: float) -> int:
        phase = int(t % self._period)
        return min(phase, len(self._count) - 1)  # the remainder can round up to the period
