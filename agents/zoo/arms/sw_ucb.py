"""UCB on a sliding window of steps."""

from __future__ import annotations

import math
from typing import Any

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import positive
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.arms.rewards import SlidingWindow


def window_length(problem: Problem, window: float | None) -> float:
    """Return the window in steps, by default 4 sqrt(T log T) as in [@garivier2011upper]."""
    if window is not None:
        return positive("window", window)
    horizon = problem.likely_horizon
    return float(math.ceil(4.0 * math.sqrt(horizon * math.log(max(horizon, 2)))))


class SWUCB(ArmAgent):
    """Sliding-window UCB: UCB on the rewards of the last tau steps.

    Pseudo-code::

        if an arm was not played in the last tau steps: play it
        n <- min(t, tau);  n[a], mean[a] <- of the last tau steps
        a_t <- argmax_a mean[a] + B sqrt(xi log n / n[a])

    Reference: [@garivier2011upper]. The default tau = 4 sqrt(T log T) is that of the paper's
    simulations (confirmed by [@fiandri2024sliding]). The theorem requires xi > 1/2. The default
    xi = 0.6 is common in later comparisons; we could not confirm the value in the paper's
    simulations.

    Deviations from the paper: rewards need not lie in [0, 1]. Instead of the range of the rewards,
    B is 2 sigma, because rewards in an interval of width 2 sigma are sigma-sub-Gaussian. The count
    n is the number of rewards in the window, which is min(t, tau) unless some rewards are missing.
    The window covers the last tau time steps, not the last tau rewards.

    Args:
        window: Window tau in steps; by default 4 sqrt(T log T) for the horizon T. If the horizon is
            unknown, T is 1,000.
        xi: Factor xi of exploration.
        common: Arguments of every agent for arms, see :class:`ArmAgent`.
    """

    name = "sw-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        window: float | None = None,
        xi: float = 0.6,
        **common: Any,
    ) -> None:
        self._length, self._xi = window_length(problem, window), positive("xi", xi)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Start with an empty window."""
        self._window = SlidingWindow(self.n_arms, self._length)

    def choose(self, t: float, observation: Array) -> int:
        """Return an arm without rewards in the window, or the arm with the greatest bound."""
        window = self._window
        window.move(t)
        width = self.scale.width * math.sqrt(self._xi * math.log(max(len(window), 1)))
        return self.highest_bound(window.means, width)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add the reward to the window, unless its decision is too old."""
        self._window.add(arm, reward, t)
