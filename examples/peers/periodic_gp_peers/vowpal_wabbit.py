"""Agents of Vowpal Wabbit: contextual bandits that draw from a distribution over actions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from periodic_gp_peers.peer import Peer

MAX_WAITING = 10_000
"""Maximum number of decisions whose probabilities are stored until their rewards arrive."""


class _VW(Peer):
    """Base class of agents with interactions of arms and context (``-q CA``).

    The interactions follow the library's tutorial on personalisation. The cost is the negative
    reward. The probability of each of the first, random choices is 1 / n for n arms. The
    probability of a decision of another policy is unknown and assumed to be 1.
    """

    extra = "vowpalwabbit"
    libraries = ("vowpalwabbit",)
    explore: ClassVar[str]

    def start(self) -> None:
        """Create a workspace of the library."""
        pyvw = self.library("vowpalwabbit")
        words = f"--cb_explore_adf -q CA --quiet --random_seed {self.seed()} {self.explore}"
        self._vw: Any = pyvw.Workspace(words)
        self._chances: dict[tuple[float, int], float] = {}

    def choose(self, t: float) -> int:
        """Return an arm drawn from the library's distribution, and store its probability."""
        chances = np.asarray(self._vw.predict(self._example(t)), dtype=np.float64)
        arm = int(self.rng.choice(self.n_arms, p=chances / chances.sum()))
        self._remember(t, arm, float(chances[arm]))
        return arm

    def chosen_at_random(self, t: float, arm: int) -> None:
        """Store the probability of a random choice, which is equal for all arms."""
        self._remember(t, arm, 1.0 / self.n_arms)

    def _remember(self, t: float, arm: int, chance: float) -> None:
        self._chances[t, arm] = chance
        if len(self._chances) > MAX_WAITING:
            del self._chances[next(iter(self._chances))]

    def learn(self, t: float, arm: int, reward: float) -> None:
        """Learn from the cost of the arm and the probability with which the arm was chosen."""
        chance = self._chances.pop((t, arm), 1.0)
        self._vw.learn(self._example(t, arm, f"0:{-reward:.6f}:{chance:.6f} "))

    def _example(self, t: float, arm: int = -1, label: str = "") -> list[str]:
        waves = " ".join(f"w{i}:{w:.6f}" for i, w in enumerate(self.context(t)[1:]))
        arms = [f"{label if a == arm else ''}|A arm={a}" for a in range(self.n_arms)]
        return [f"shared |C {waves}", *arms]


class VWSquareCB(_VW):
    """SquareCB of Vowpal Wabbit, with the library's default of gamma."""

    explore = "--squarecb"


class VWBag(_VW):
    """Bagging in Vowpal Wabbit, with five bootstrapped policies."""

    explore = "--bag 5"


class VWCover(_VW):
    """Online cover of Vowpal Wabbit with three policies."""

    explore = "--cover 3"
