"""GLR-klUCB: UCB with restarts after detected changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import one_of, positive, share
from agents.zoo.arms.arm_agent import ArmAgent

MAX_FORCED_SHARE = 0.5
"""Maximum of alpha, the share of forced exploration."""


class GLRUCB(ArmAgent):
    """GLR-klUCB: kl-UCB with forced exploration and a test for a change after every reward.

    Pseudo-code::

        alpha <- exploration alpha_0 sqrt(1 + restarts);  r <- t mod floor(K / alpha)
        a_t <- r if r < K else argmax_a mean[a] + sigma sqrt(2 log n / n[a])
        n, n[a], mean[a] count since the last restart; mean[i:j] is over rewards i..j of a_t
        if max_s s (n_a - s) / n_a (mean[:s] - mean[s:])^2 / (2 sigma^2) > log(n_a^(3/2) / delta):
            forget the rewards of a_t ("local") or of all arms ("global")

    Reference: [@besson2022efficient]. The values alpha_0 = sqrt(K log T / T) and
    delta = 1 / sqrt(T), the threshold and the local restarts are those of the authors' code
    (PiecewiseStationaryBandits, in Julia).

    Deviations from the paper: the divergence is that of Gaussian rewards (the authors' code
    implements both this divergence and the paper's). The test is made after every reward and for
    every s, whereas the authors' code skips some rewards and some s to save time. The share alpha
    is at most 1/2, because otherwise forced exploration would replace all other choices after many
    restarts. Late rewards are processed in the order in which they arrive.

    SMPyBandits, a library by one of the authors, is different. It receives the horizon and the
    number of changes. Its alpha is a tenth of sqrt(K changes log T / T) and does not grow with
    restarts. Its threshold is log(3 n_a^(3/2) / delta). It skips rewards and values of s in the
    test, keeps the rewards since the likely change, and draws forced choices at random. SMPyBandits
    has a lower regret because it uses less forced exploration. With a tenth of its default forced
    exploration, this agent has nearly the same regret as SMPyBandits. With ten times its default
    forced exploration, SMPyBandits has a higher regret than this agent. The other differences have
    little effect (measured by running both implementations).

    Args:
        restart: Scope of a restart: "local" for the changed arm, "global" for all arms.
        delta: Probability of a false alarm; by default 1 / sqrt(T).
        exploration: Factor by which alpha_0 is multiplied; 0.1 corresponds to SMPyBandits.
        common: Arguments of every agent for arms, see :class:`ArmAgent`.
    """

    name = "glr-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        restart: str = "local",
        delta: float | None = None,
        exploration: float = 1.0,
        **common: Any,
    ) -> None:
        self._local = one_of("restart", restart, ("local", "global")) == "local"
        self._delta = None if delta is None else share("delta", delta)
        self._exploration = positive("exploration", exploration)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Create the statistics of the arms, without rewards, and reset the number of restarts."""
        self.restarts = 0
        self._count, self._total = [0] * self.n_arms, [0.0] * self.n_arms
        self._age = [0] * self.n_arms
        self._sums = [np.zeros(8) for _ in range(self.n_arms)]

    def choose(self, t: float, observation: Array) -> int:
        """Return the next arm of forced exploration, or the arm with the greatest bound."""
        k, horizon = self.n_arms, max(self.horizon, 2)
        alpha = self._exploration * math.sqrt(k * math.log(horizon) / horizon * (1 + self.restarts))
        turn = int(t % math.floor(k / min(alpha, MAX_FORCED_SHARE)))
        if turn < k:
            return turn
        sigma, log = self.scale.sigma, math.log
        if 0 in self._count:
            return self.any_of([arm for arm, n in enumerate(self._count) if not n])
        rows = zip(self._count, self._total, self._age, strict=True)
        return self.best_of([s / n + sigma * math.sqrt(2.0 * log(age) / n) for n, s, age in rows])

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Update the mean of the arm, and restart if a change is detected."""
        self._age = [age + 1 for age in self._age]
        self._total[arm] += reward
        n = self._count[arm] = self._count[arm] + 1
        if n > len(self._sums[arm]):
            self._sums[arm] = np.concatenate([self._sums[arm], np.zeros(n)])
        self._sums[arm][n - 1] = self._total[arm]
        if n > 1 and self.scale.settled and self._changed(self._sums[arm][:n]):
            self.restarts += 1
            for other in [arm] if self._local else range(self.n_arms):
                self._count[other], self._total[other], self._age[other] = 0, 0.0, 0

    def _changed(self, sums: Array) -> bool:
        """Return whether the generalised likelihood ratio exceeds the threshold."""
        n, s = len(sums), np.arange(1, len(sums))
        delta = 1.0 / math.sqrt(self.horizon) if self._delta is None else self._delta
        gap = sums[:-1] / s - (sums[-1] - sums[:-1]) / (n - s)
        ratio = float((s * (n - s) / n * np.square(gap)).max())
        return ratio > 2.0 * self.scale.sigma**2 * math.log(n**1.5 / delta)
