"""BOB, a bandit over the windows of SW-LinUCB."""

from __future__ import annotations

import math

import numpy as np

from agents.arrays import Array
from agents.zoo.linear.sw_linucb import SWLinUCB


class Bob(SWLinUCB):
    """BOB, bandit over bandit: EXP3 chooses the window of SW-LinUCB for every block.

    Pseudo-code::

        H <- floor(d sqrt T),  J <- {1, H^(1/D), H^(2/D), ..., H},  D = ceil(log H)
        for each block of H steps:
            w ~ u,  u_j = (1 - gamma) s_j / sum s + gamma / (D + 1)
            run SW-LinUCB with window w from scratch; R <- sum of its rewards, in [-1, 1]
            s_w <- s_w exp(gamma / ((D + 1) u_w) (1/2 + R / (2 H + 4 sigma sqrt(H log(T/sqrt H)))))

    Reference: [@cheung2019learning], Algorithm 2, with its
    gamma = min{1, sqrt((D + 1) log(D + 1) / ((e - 1) ceil(T / H)))}. This implementation was
    checked against a second implementation of BOB. The method has no further parameters.

    Deviations from the paper: as for ``sw-linucb``, the features of an arm are a constant and the
    coordinates of the arm, which are centred and scaled into the unit ball. Arms without
    coordinates have unit vectors as features. A box is discretised into ``box_arms`` points. A
    missing reward leaves a gap in the window. R and sigma are in units of half the width of
    ``RewardScale.interval``. A reward that arrives after its block has ended is ignored. With many
    features and short runs, H exceeds T. The run is then a single block, and its window is chosen
    at random.

    Args:
        common: Arguments of every linear agent, see :class:`LinearAgent`.
    """

    name = "bob"

    def start(self) -> None:
        """Compute the candidate windows, and start with equal weights."""
        super().start()
        self.block_size = max(1, int(self.dim * math.sqrt(self.horizon)))
        steps = max(1, math.ceil(math.log(self.block_size)))
        self.windows = [int(self.block_size ** (j / steps)) for j in range(steps + 1)]
        arms, blocks = steps + 1, math.ceil(self.horizon / self.block_size)
        self.gamma = min(1.0, math.sqrt(arms * math.log(arms) / ((math.e - 1.0) * blocks)))
        self._log_weight = np.zeros(arms)
        self._block, self._chosen, self._total, self._count = -1, 0, 0.0, 0

    def choose(self, t: float, observation: Array) -> int:
        """Start a new block if the current block has ended, then return SW-LinUCB's choice."""
        block = int(t // self.block_size)
        if block > self._block:
            self._judge()
            self._block, self._total, self._count = block, 0.0, 0
            self._chosen = int(self._rng.choice(len(self.windows), p=self._probabilities()))
            self.window = self.windows[self._chosen]
            self.forget()
        return super().choose(t, observation)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Learn from a reward if its decision was made in the current block."""
        if int(t // self.block_size) == self._block:
            super().learn(arm, reward, t)
            self._total += reward
            self._count += 1

    def _probabilities(self) -> Array:
        weight = np.exp(self._log_weight - self._log_weight.max())
        chance: Array = (1.0 - self.gamma) * weight / weight.sum() + self.gamma / len(weight)
        return chance

    def _judge(self) -> None:
        """Update the weight of the window that the finished block used."""
        low, high = self.scale.interval
        if not self._count or not high > low:
            return
        half, h = (high - low) / 2.0, self.block_size
        reach = math.sqrt(h * math.log(max(self.horizon / math.sqrt(h), 1.0)))
        gain = (self._total - self._count * self.middle) / half
        share = 0.5 + gain / (2.0 * h + 4.0 * self.scale.sigma / half * reach)
        chance = self._probabilities()[self._chosen]
        self._log_weight[self._chosen] += self.gamma * share / (len(self.windows) * chance)
