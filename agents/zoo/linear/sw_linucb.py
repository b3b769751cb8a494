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

    Reference: [@cheung2019learning], Algorithm 1 ("SW-UCB" there). Recommended there: w =
    (d T / B)^(2/3) with the total variation B of theta, or (d T)^(2/3) if B is not known;
    delta = 1 / T. Cross-checked with the code of [@russac2019weighted], whose lam = 0.1 is taken.

    Deviations from the paper: the features of an arm are a constant and its coordinates, centred
    and shrunk to the unit ball, or a unit vector where it has no coordinates. A box is cut into
    points. The window is one of time: a reward that is missing leaves a gap in it.

    Args:
        window: w; by default the formula.
        variation: B.
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
        """Compute the window and begin without rewards."""
        super().start()
        wide = (self.dim * self.horizon / self._variation) ** (2 / 3)
        self.window = max(1, int(wide)) if self._given is None else int(self._given)
        self.forget()

    def forget(self) -> None:
        """Begin with an empty window."""
        self._ridge = self.new_ridge()
        self._seen: list[tuple[float, ...]] = []  # time, arm and reward, the oldest first

    def choose(self, t: float, observation: Array) -> int:
        """Return the arm of the greatest bound, after what is too old has left the window."""
        while self._seen and self._seen[0][0] < t - self.window:
            _, arm, reward = self._seen.pop(0)
            self._ridge.add(self.x[int(arm)], reward, -1.0)
        if not self._seen:  # what rounding has left behind goes with the last
            self.forget()
        spread = math.log((1.0 + self.window / self.lam) / self.delta)
        radius = self.scale.sigma * math.sqrt(self.dim * spread) + self.penalty
        return self.best_of(self.bounds(self._ridge, radius))

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Put a reward in its place; one that is too old goes at the next decision."""
        insort(self._seen, (t, float(arm), reward))
        self._ridge.add(self.x[arm], reward)
