"""Vowpal Wabbit: contextual bandits that explore by a distribution over actions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from periodic_gp_peers.peer import Peer

MAX_WAITING = 10_000
"""Decisions whose chances are remembered until their rewards come."""


class _VW(Peer):
    """Arms crossed with the context (``-q CA``), as in the tutorial on personalisation.

    The reward's negative is the cost. The first pulls, which are at random, had a chance of one in
    as many as there are arms. Of a decision that was not made here, the chance is unknown and taken
    for 1.
    """

    extra = "vowpalwabbit"
    libraries = ("vowpalwabbit",)
    explore: ClassVar[str]

    def start(self) -> None:
        """A workspace of its own."""
        pyvw = self.library("vowpalwabbit")
        words = f"--cb_explore_adf -q CA --quiet --random_seed {self.seed()} {self.explore}"
        self._vw: Any = pyvw.Workspace(words)
        self._chances: dict[tuple[float, int], float] = {}

    def choose(self, t: float) -> int:
        """A draw from the distribution that the library answers with, in doubles."""
        chances = np.asarray(self._vw.predict(self._example(t)), dtype=np.float64)
        arm = int(self.rng.choice(self.n_arms, p=chances / chances.sum()))
        self._remember(t, arm, float(chances[arm]))
        return arm

    def chosen_at_random(self, t: float, arm: int) -> None:
        """It is as likely as every other arm."""
        self._remember(t, arm, 1.0 / self.n_arms)

    def _remember(self, t: float, arm: int, chance: float) -> None:
        self._chances[t, arm] = chance
        if len(self._chances) > MAX_WAITING:
            del self._chances[next(iter(self._chances))]

    def learn(self, t: float, arm: int, reward: float) -> None:
        """One step on the cost of the arm, weighed by its chance."""
        chance = self._chances.pop((t, arm), 1.0)
        self._vw.learn(self._example(t, arm, f"0:{-reward:.6f}:{chance:.6f} "))

    def _example(self, t: float, arm: int = -1, label: str = "") -> list[str]:
        waves = " ".join(f"w{i}:{w:.6f}" for i, w in enumerate(self.context(t)[1:]))
        arms = [f"{label if a == arm else ''}|A arm={a}" for a in range(self.n_arms)]
        return [f"shared |C {waves}", *arms]


class VWSquareCB(_VW):
    """SquareCB of Vowpal Wabbit, at its own gamma."""

    explore = "--squarecb"


class VWBag(_VW):
    """Five bootstrapped policies of Vowpal Wabbit, one of which decides."""

    explore = "--bag 5"


class VWCover(_VW):
    """Online cover of Vowpal Wabbit with three policies."""

    explore = "--cover 3"
