"""SW-LinUCB, linear UCB on a sliding window."""

from __future__ import annotations

import math
from bisect import insort
from typing import Any

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import at_least_one, positive
from agents.zoo.linear.linear_agent import LinearAgent


class SWLinUCB(LinearAgent):
    """SW-LinUCB: linear UCB on the rewards of the last w steps.

    Pseudo-code::

        V <- lam I + sum over the last w steps of x x',   theta <- V^-1 sum y x
        beta <- sigma sqrt(d log((1 + w / lam) / delta)) + sqrt(lam) S
        a_t <- argmax_a x_a' theta + beta sqrt(x_a' V^-1 x_a)

    Reference: [@cheung2019learning], Algorithm 1, where it is called "SW-UCB". The paper recommends
    w = (d T / B)^(2/3) with the total variation B of theta, or (d T)^(2/3) if B is unknown, and
    delta = 1 / T. This implementation was checked against the code of [@russac2019weighted], from
    which lam = 0.1 is taken.

    Deviations from the paper: the features of an arm are a constant and the coordinates of the arm,
    which are centred and scaled into the unit ball. Arms without coordinates have unit vectors as
    features. A box is discretised into ``box_arms`` points. The window is measured in time steps,
    so a missing reward leaves a gap in the window.

    Args:
        window: Window w in steps; by default (d T / B)^(2/3).
        variation: Total variation B in the formula.
        common: Arguments of every linear agent, see :class:`LinearAgent`.
    """

    name = "sw-linucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        window: int | None = None,
        variation: float = 1.0,
        **common: Any,
    ) -> None:
        self._given = None if window is None else at_least_one("window", window)
        self._variation = positive("variation", variation)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Compute the length of the window, and start with an empty window."""
        super().start()
        wide = (self.dim * self.horizon / self._variation) ** (2 / 3)
        self.window = max(1, int(wide)) if self._given is None else int(self._given)
        self.forget()

    def forget(self) -> None:
        """Remove all rewards from the window."""
        self._ridge = self.new_ridge()
        self._seen: list[tuple[float, ...]] = []  # time, arm and reward, oldest first

    def choose(self, t: float, observation: Array) -> int:
        """Remove rewards that have left the window; return the arm with the greatest bound."""
        while self._seen and self._seen[0][0] < t - self.window:
            _, arm, reward = self._seen.pop(0)
            self._ridge.add(self.x[int(arm)], reward, -1.0)
        if not self._seen:  # discard accumulated round-off
            self.forget()
        spread = math.log((1.0 + self.window / self.lam) / self.delta)
        radius = self.scale.sigma * math.sqrt(self.dim * spread) + self.penalty
        return self.best_of(self.bounds(self._ridge, radius))

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Insert a reward in order of time; the next decision removes it if it is too old."""
        insort(self._seen, (t, float(arm), reward))
        self._ridge.add(self.x[arm], reward)
