"""What the lines of an edition's log say.

- ``opened``: what was published when the edition began.
- ``trial``: a submission is about to be run on hidden seeds. It is written *before* the first of
  these runs, so that none can be had again on the same seeds, whatever becomes of the judge.
- ``verdict``: what the tiers came to.
- ``closed``: the edition has ended, and its salt is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec

from evaluation.leaderboard.log import Entry, LogError

Tier = Literal["well-formed", "replayed", "re-run", "hidden-seed"]
TIERS: tuple[Tier, ...] = get_args(Tier)
MAX_LETTERS = 1000
"""Of the words of a verdict."""
Whole = Annotated[int, msgspec.Meta(ge=0)]


class _Line(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
):
    """The log itself adds the number, the time and the hash of the line before."""

    number: int = -1
    time: str = ""
    previous: str = ""

    def content(self) -> Entry:
        """The line as plain data."""
        plain: Entry = msgspec.to_builtins(self)
        return plain


class Opened(_Line, frozen=True, tag="opened"):
    """The edition has begun: ``edition`` is what ``edition.json`` holds."""

    edition: dict[str, Any]


class Trial(_Line, frozen=True, tag="trial"):
    """A trial on hidden seeds has begun.

    Attributes:
        submission: Its id.
        steps: Digest of what it chose (``copies.digest_of``).
        agent: Digest of its code and settings.
        trial: How many trials there are with this one, of this submission, these steps or this
            agent.
        more: Whether it is one more than there may be, by the maintainers' will.
    """

    submission: str
    steps: str
    agent: str
    trial: Whole
    more: bool = False


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a tier found about a submission, in words that can be shown."""

    tier: Tier
    passed: bool
    words: str

    def __post_init__(self) -> None:
        short = "".join(c if c.isprintable() else " " for c in self.words)[:MAX_LETTERS]
        msgspec.structs.force_setattr(self, "words", short)


class HiddenRuns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What came of a trial.

    Attributes:
        trial: Its number.
        seeds: Of the worlds; no agent meets them again.
        regrets: In every world, of each seed; None where the run failed.
    """

    trial: Whole
    seeds: tuple[Whole, ...]
    regrets: dict[str, tuple[float | None, ...]]


class Judged(_Line, frozen=True, tag="verdict"):
    """What the tiers came to.

    Attributes:
        verdicts: Of each tier, the last may be a refusal.
        submission: Its id, None if it was not well-formed.
        label: The name of its agent.
        steps: Digest of what it chose.
        accepted: Whether it was put into the edition.
        code: SHA-256 of the code that was run, if it was.
        ms_per_step: Time of the agent, as the maintainers have measured it.
        sandbox: What the agent was run in, None for no sandbox; not there if it was not run.
        override: Whether hidden seeds were tried without a sandbox, by the maintainers' will.
        hidden: What came of the trial on hidden seeds, if there was one.
    """

    verdicts: tuple[Verdict, ...]
    submission: str | None = None
    label: str | None = None
    steps: str | None = None
    accepted: bool = False
    code: str | None = None
    ms_per_step: float | None = None
    sandbox: str | msgspec.UnsetType | None = msgspec.UNSET
    override: bool = False
    hidden: HiddenRuns | None = None


class Closed(_Line, frozen=True, tag="closed"):
    """The edition has ended; the salt, in hexadecimal digits, is no secret any more."""

    salt: str


Line = Opened | Trial | Judged | Closed


def lines_of(entries: Sequence[Entry]) -> list[Line]:
    """The entries of a log, each of its kind and complete.

    Raises:
        LogError: If a line is of none; whoever holds the key of a log can sign anything.
    """
    lines: list[Line] = []
    for entry in entries:
        try:
            lines.append(msgspec.convert(entry, Line))
        except (ValueError, RecursionError) as error:
            raise LogError(f"line {len(lines) + 1} of the log: {str(error)[:300]}") from None
    _check_order(lines)
    return lines


def trials_before(lines: Sequence[Line], submission: str, steps: str, agent: str) -> list[Trial]:
    """Trials of a submission, of the same steps under another name, or of the same agent."""
    trials = [line for line in lines if isinstance(line, Trial)]
    same = (submission, steps, agent)
    return [
        line
        for line in trials
        if any(a == b for a, b in zip(same, (line.submission, line.steps, line.agent), strict=True))
    ]


def _check_order(lines: Sequence[Line]) -> None:
    """The opening is first, a closing last, and no trial has a number twice."""
    if not lines or not isinstance(lines[0], Opened):
        raise LogError("the log does not begin with the opening of the edition")
    trials: set[tuple[str, int]] = set()
    for place, line in enumerate(lines):
        where = f"line {place + 1} of the log"
        if (isinstance(line, Opened) and place) or (
            isinstance(line, Closed) and line is not lines[-1]
        ):
            raise LogError(f"{where}: an edition is opened once and closed once, at the end")
        if isinstance(line, Trial):
            same = line.submission, line.steps, line.agent
            if line.trial != 1 + len(trials_before(lines[:place], *same)):
                raise LogError(f"{where}: this is not the next trial of the submission")
            trials.add((line.submission, line.trial))
        if isinstance(line, Judged) and (trial := _trial_of(line, where)):
            if trial not in trials:
                raise LogError(f"{where}: this trial had no beginning, or has two verdicts")
            trials.remove(trial)


def _trial_of(line: Judged, where: str) -> tuple[str, int] | None:
    """The trial that a verdict is about, if it is about one."""
    if line.hidden is not None:
        return str(line.submission), line.hidden.trial
    if any(verdict.tier == "hidden-seed" for verdict in line.verdicts):
        raise LogError(f"{where}: a verdict on hidden seeds does not say what they came to")
    return None
