"""Thompson sampling on a sliding window."""

from __future__ import annotations

import math

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import positive
from agents.zoo.arms.sw_ucb import SWUCB


class SWTS(SWUCB):
    """Sliding-window Thompson sampling: Thompson sampling on the rewards of the last tau steps.

    Pseudo-code::

        if an arm was not played in the last tau steps: play it
        m[a] ~ N(mean[a], 1 / (gamma n[a])) for every arm, of the last tau steps
        a_t <- argmax_a m[a]

    Reference: [@trovo2020sliding] for the method (Beta posteriors, Bernoulli rewards).
    [@fiandri2024sliding] reports errors in the analysis of that paper and gives a corrected
    analysis, which includes this Gaussian form with gamma <= min{1 / (4 sigma^2), 1} and
    tau = 4 sqrt(T log T).

    Deviations from the paper: the precision gamma is 1 / (4 sigma^2) for any sigma; the paper's
    upper limit of 1 depends on the unit of the rewards. The setting ``gamma`` is in units of
    1 / sigma^2. The window covers the last tau time steps, not the last tau rewards.

    Args:
        window: Window tau in steps; by default 4 sqrt(T log T) for the horizon T. If the horizon is
            unknown, T is 1,000.
        gamma: Precision of the draws, in units of 1 / sigma^2.
        scale: Standard deviation sigma of the noise. The default is the problem's ``noise_std`` or,
            if that is unknown or 0, the standard deviation of the rewards so far.
        box_arms: Number of points to which a box is discretised.
    """

    name = "sw-ts"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        window: float | None = None,
        gamma: float = 0.25,
        scale: float | None = None,
        box_arms: int = 20,
    ) -> None:
        self._gamma = positive("gamma", gamma)
        super().__init__(problem, rng, window=window, scale=scale, box_arms=box_arms)

    def choose(self, t: float, observation: Array) -> int:
        """Return an arm without rewards in the window, or the arm with the greatest draw."""
        self._window.move(t)
        return self.best_draw(self._window.means, self.scale.sigma / math.sqrt(self._gamma))
