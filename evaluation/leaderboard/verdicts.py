"""Verdicts on a submission, tier by tier, and what is found out on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from evaluation.leaderboard.bundle import Manifest
from evaluation.leaderboard.steps import Actions
from evaluation.running.sweep import Progress
from periodic_envs.arrays import Array

TIERS = ("well-formed", "replayed", "re-run", "hidden-seed")
MAX_LETTERS = 1000

Report = Callable[[Progress], object]
Regrets = Mapping[tuple[str, int], float]
"""By world and seed."""


class CannotCheckError(Exception):
    """A tier that says nothing about a submission: one sentence about what is missing."""


@dataclass(frozen=True)
class Verdict:
    """What a tier found about a submission."""

    tier: str
    passed: bool
    words: str

    def __post_init__(self) -> None:
        short = "".join(c if c.isprintable() else " " for c in self.words)[:MAX_LETTERS]
        object.__setattr__(self, "words", short)


@dataclass
class Verification:
    """A submission on its way through the tiers.

    Attributes:
        manifest: What it says about itself, once it is well-formed.
        verdicts: What the tiers came to, the last may be a refusal.
        steps: The bytes of its steps, which all of this is about.
        actions: What was chosen, by run.
        regrets: Regret of every step, by run, from the worlds: once it is replayed.
        ms_per_step: Of the agent, as we have measured it: once it is run again.
    """

    manifest: Manifest | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    steps: bytes = b""
    actions: Actions = field(default_factory=list)
    regrets: list[Array] = field(default_factory=list)
    ms_per_step: float | None = None

    @property
    def passed(self) -> bool:
        """Whether no tier refused it."""
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def tier(self) -> str | None:
        """The highest tier that it passed."""
        good = [verdict.tier for verdict in self.verdicts if verdict.passed]
        return good[-1] if good else None
