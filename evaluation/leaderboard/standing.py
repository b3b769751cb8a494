"""Where a submission stands, by what the log says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.registry import UnknownAgentError, is_built_in
from evaluation.leaderboard.bundle import STEPS, Manifest
from evaluation.leaderboard.lines import TIERS, Judged, Line, Trial
from evaluation.leaderboard.submit import code_hash

HIDDEN = TIERS.index("hidden-seed")


@dataclass(frozen=True)
class Accepted:
    """A submission in an edition.

    Attributes:
        manifest: What it says about itself.
        lines: What the log says about it.
        folder: Where it is.
    """

    manifest: Manifest
    lines: Sequence[Line]
    folder: Path

    @property
    def verdicts(self) -> list[Judged]:
        """What judges have said."""
        return [line for line in self.lines if isinstance(line, Judged)]

    @property
    def trials(self) -> list[Trial]:
        """Every trial on hidden seeds that was begun, lost ones included."""
        return [line for line in self.lines if isinstance(line, Trial)]

    @property
    def lost_trials(self) -> int:
        """Trials that have no verdict: the judge was ended, or could not go on."""
        judged = {line.hidden.trial for line in self.verdicts if line.hidden is not None}
        return sum(line.trial not in judged for line in self.trials)

    @property
    def tier(self) -> str:
        """The highest tier that it passed, or "refused" until the tier that refused it is passed.

        A lost trial counts against it: without a later one that was passed there is no
        "hidden-seed".
        """
        best = refused = -1
        for line in self.lines:
            if isinstance(line, Trial):
                best = min(best, HIDDEN - 1)
            for verdict in line.verdicts if isinstance(line, Judged) else ():
                place = TIERS.index(verdict.tier)
                if not verdict.passed:
                    refused = max(refused, place)
                    continue
                best = max(best, place)
                refused = -1 if place >= refused else refused
        return "refused" if refused >= 0 else TIERS[best]

    @property
    def ms_per_step(self) -> float | None:
        """Time of the agent, as the maintainers have measured it, if they have run it."""
        measured = [line.ms_per_step for line in self.verdicts if line.ms_per_step is not None]
        return measured[-1] if measured else None

    @property
    def steps(self) -> bytes:
        """The bytes of its steps: the log knows their hash."""
        return (self.folder / STEPS).read_bytes()

    @property
    def is_stale(self) -> bool:
        """Whether the code of a built-in agent is another one here than all that its steps are of.

        They are of the code that made them, and of every code that was seen to choose the same.
        """
        if not is_built_in(self.manifest.agent):
            return False  # nobody has its code here
        seen = {line.code for line in self.verdicts if all(v.passed for v in line.verdicts)}
        return installed_code(self.manifest.agent) not in {self.manifest.source_sha256, *seen}


def installed_code(agent: str) -> str | None:
    """SHA-256 of the code of a built-in agent as it is here, None if it is gone."""
    try:
        return code_hash(agent)
    except UnknownAgentError:
        return None
