"""A submission on its way through the tiers, and what is found out about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from evaluation.leaderboard.bundle import Manifest
from evaluation.leaderboard.copies import digest_of
from evaluation.leaderboard.lines import HiddenRuns, Judged, Verdict
from evaluation.leaderboard.steps import Actions
from evaluation.runner import Progress
from periodic_envs.arrays import Array

Report = Callable[[Progress], object]
Regrets = Mapping[tuple[str, int], float]
"""By world and seed."""


class CannotCheckError(Exception):
    """A tier that says nothing about a submission: one sentence about what is missing."""


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
        code: SHA-256 of the code that was run, once it is run.
        sandbox: What it was run in, None for no sandbox: once it is run.
        override: Whether hidden seeds were tried without a sandbox.
        hidden: What came of the trial on hidden seeds, once it has begun.
    """

    manifest: Manifest | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    steps: bytes = b""
    actions: Actions = field(default_factory=list)
    regrets: list[Array] = field(default_factory=list)
    ms_per_step: float | None = None
    code: str | None = None
    sandbox: str | msgspec.UnsetType | None = msgspec.UNSET
    override: bool = False
    hidden: HiddenRuns | None = None

    @property
    def passed(self) -> bool:
        """Whether no tier refused it."""
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def tier(self) -> str | None:
        """The highest tier that it passed."""
        good = [verdict.tier for verdict in self.verdicts if verdict.passed]
        return good[-1] if good else None

    @property
    def digest(self) -> str | None:
        """SHA-256 of what was chosen, once it is well-formed."""
        return digest_of(self.manifest.challenge, self.actions) if self.manifest else None

    def line(self, *, accepted: bool) -> Judged:
        """What the log says of all this."""
        manifest = self.manifest
        return Judged(
            verdicts=tuple(self.verdicts),
            submission=manifest.id if manifest else None,
            label=manifest.label if manifest else None,
            steps=self.digest,
            accepted=accepted,
            code=self.code,
            ms_per_step=self.ms_per_step,
            sandbox=self.sandbox,
            override=self.override,
            hidden=self.hidden,
        )
