"""Editions: a folder with a protocol, submissions and an append-only log.

::

    leaderboard/2026.3/protocol.toml    worlds, seeds and limits
                       log.jsonl        one line per event, with the hash of the previous line
                       submissions/ID/  manifest.json, steps.bin: the submitted bundle

The log contains no secrets. Each line contains the hash of the previous line, so the hash of the
last line, the *head*, identifies the whole log: any change before a published head can be detected.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from filelock import FileLock, Timeout

from evaluation.leaderboard.bundle import (
    BundleError,
    Digest,
    LeaderboardError,
    Manifest,
    read_file,
    write_bundle,
)
from evaluation.leaderboard.steps import Columns, replays
from evaluation.leaderboard.submission import (
    ACTION_TOLERANCE,
    Submission,
    Verdict,
    check_regrets,
    read_submission,
)
from evaluation.protocol import Protocol
from evaluation.record import Record
from evaluation.results import Results
from evaluation.runs import Run, runs_of
from evaluation.specs import REFERENCE_ROWS, REFERENCES
from evaluation.store import Store
from periodic_envs.files import write_durably

PROTOCOL, LOG, SUBMISSIONS = "protocol.toml", "log.jsonl", "submissions"
MAX_LOG_BYTES = 2**28
MAX_WAIT_SECONDS = 10.0  # for the lock, while another process changes the edition


class _Line(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"
):
    """Line of the log, with its time and the SHA-256 of the previous line."""

    time: str = ""
    previous: str = ""


class Opened(_Line, frozen=True, tag="opened"):
    """Event: the edition was opened with the protocol that has this challenge."""

    challenge: Digest


class Added(_Line, frozen=True, tag="added"):
    """Event: a submission that passed the tier "replayed" was added.

    Attributes:
        submission: Id of the submission.
        actions: Digest of the submitted actions, which does not depend on the label.
    """

    submission: Digest
    actions: Digest


class Recorded(_Line, frozen=True, tag="recorded"):
    """Event: a batch was recorded, before its hidden seeds were drawn.

    Attributes:
        batch: Ids of the submissions.
        code: SHA-256 of the code of every submitted agent and every reference agent, by label.
        isolation: Isolation of the submitted agents, "sandbox" or "none".
    """

    batch: tuple[Digest, ...]
    code: dict[str, Digest]
    isolation: str


class Judged(_Line, frozen=True, tag="judged"):
    """Event: the recorded batch was judged.

    Attributes:
        nonce: Random text. The hidden seeds are derived from the nonce, the batch and the head of
            the log after the batch was recorded.
        seeds: Hidden seeds of the worlds, stored as text because they have 128 bits.
        regrets: Regrets by agent and world, one per seed; None for a failed run.
        ms_per_step: Milliseconds per step by agent, as measured by the judge; agents whose runs
            have all failed are omitted.
        verdicts: Verdicts by id of the submission.
    """

    nonce: str
    seeds: tuple[str, ...]
    regrets: dict[str, dict[str, tuple[float | None, ...]]]
    ms_per_step: dict[str, Annotated[float, msgspec.Meta(ge=0)]]
    verdicts: dict[str, Verdict]


class Abandoned(_Line, frozen=True, tag="abandoned"):
    """Event: the recorded batch was abandoned."""

    reason: str


Line = Opened | Added | Recorded | Judged | Abandoned


@dataclass(frozen=True)
class EditionEntry(Submission):
    """Submission of an edition, with the events that contain its verdicts.

    The last verdict is decisive.
    """

    judged: Sequence[Judged]

    @property
    def verdict(self) -> Verdict:
        """Last verdict on the submission.

        For a submission that was not judged, this is the verdict of the tier "replayed".
        """
        if not self.judged:
            return Verdict("replayed", True, "the submitted actions have the claimed regrets")
        return self.judged[-1].verdicts[self.id]

    @property
    def tier(self) -> str:
        """Tier of the last verdict, or "refused"."""
        return self.verdict.tier if self.verdict.passed else "refused"


class Edition:
    """Edition of the leaderboard, stored in a folder.

    Args:
        folder: Folder with a protocol and a log.

    Attributes:
        lines: Lines of the log.
        heads: SHA-256 of every line of the log.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, folder.name
        self._lock = FileLock(folder / "log.lock", timeout=MAX_WAIT_SECONDS)
        self.read()

    @classmethod
    def open(cls, folder: Path, protocol: str = "edition") -> Edition:
        """Open a new edition with a protocol of this package or from a TOML file."""
        if folder.exists():
            raise LeaderboardError(
                "file-exists", f"{str(folder)!r} already exists: choose a different folder"
            )
        challenge = Protocol.load(protocol).challenge
        shipped = resources.files("evaluation") / "protocols"
        source = Path(protocol) if protocol.endswith(".toml") else shipped / f"{protocol}.toml"
        (folder / SUBMISSIONS).mkdir(parents=True)
        write_durably(folder / PROTOCOL, source.read_bytes())
        write_durably(folder / LOG, b"")
        edition = cls(folder)
        edition.append(Opened(challenge=challenge))
        return edition

    @cached_property
    def protocol(self) -> Protocol:
        """Protocol of the edition, checked against the log."""
        protocol, opened = Protocol.load(self.folder / PROTOCOL), self.lines[0]
        if not isinstance(opened, Opened) or protocol.challenge != opened.challenge:
            raise LeaderboardError(
                "wrong-protocol",
                f"{PROTOCOL} is not the protocol with which edition {self.name} was opened: the "
                "file, the version of the worlds, or their data have changed",
            )
        return replace(protocol, name=self.name)

    def read(self) -> bytes:
        """Read the log and check its chain of hashes; return its bytes."""
        self.lines: list[Line] = []
        self.heads: list[str] = []
        data = read_file(self.folder / LOG, MAX_LOG_BYTES)
        *texts, rest = data.split(b"\n")
        if rest:
            raise LeaderboardError("damaged-file", f"line {len(texts) + 1} of {LOG} is incomplete")
        for number, text in enumerate(texts, start=1):
            try:
                line = msgspec.json.decode(text, type=Line)
            except (ValueError, RecursionError) as error:
                raise LeaderboardError(
                    "damaged-file", f"line {number} of {LOG}: {str(error)[:300]}"
                ) from None
            if line.previous != self.head:
                raise LeaderboardError(
                    "wrong-hash",
                    f"line {number} of {LOG} does not contain the hash of the previous line: a "
                    "line was changed, removed or moved",
                )
            self._check_next(line)
            self.lines.append(line)
            self.heads.append(hashlib.sha256(text).hexdigest())
        return data

    @property
    def head(self) -> str:
        """SHA-256 of the last line of the log, or an empty string if the log is empty."""
        return self.heads[-1] if self.heads else ""

    @property
    def batch(self) -> tuple[str, ...]:
        """Ids of the submissions of a recorded batch that is neither judged nor abandoned."""
        last = self.lines[-1] if self.lines else None
        return last.batch if isinstance(last, Recorded) else ()

    def _check_next(self, line: Line) -> None:
        """Raise an error if an event must not follow the events in the log."""
        ends = isinstance(line, Judged | Abandoned)
        retries = isinstance(line, Recorded) and line.batch == self.batch
        fits = ends == bool(self.batch) or retries
        if isinstance(line, Opened) == bool(self.lines) or not fits:
            number, kind = len(self.lines) + 1, type(line).__name__.lower()
            raise LeaderboardError(
                "wrong-event",
                f"line {number} of {LOG} must not be {kind!r}: an edition is opened once, at the "
                "start, and a batch is recorded, then judged or abandoned, before other events",
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the edition against other processes and read its current log."""
        try:
            self._lock.acquire()
        except Timeout:
            raise LeaderboardError(
                "locked-edition",
                f"another process is changing edition {self.name}: try again when it has finished",
            ) from None
        try:
            self.read()
            yield
        finally:
            self._lock.release()

    def append(self, line: Line) -> None:
        """Append a line to the log."""
        with self.locked():
            before = self.read()
            self._check_next(line)
            stamped = msgspec.structs.replace(
                line,
                time=datetime.now(timezone.utc).isoformat(timespec="seconds"),
                previous=self.head,
            )
            write_durably(self.folder / LOG, before + msgspec.json.encode(stamped) + b"\n")
            self.read()

    def add(self, bundle: Path) -> Manifest:
        """Add a submission after checking that it passes the tier "replayed" and is not a copy.

        Raises:
            BundleError: If the submission is rejected.
        """
        submission = read_submission(bundle, self.protocol)
        check_regrets(submission, self.protocol)
        manifest, actions = submission.manifest, actions_digest(submission)
        with self.locked():
            for line in self.lines:
                if isinstance(line, Added) and line.actions == actions:
                    known = line.submission[:12]
                    raise BundleError(
                        "copied-submission",
                        f"the actions are identical to those of submission {known}",
                    )
            folder = self.folder / SUBMISSIONS / manifest.id
            if not folder.exists():
                write_bundle(folder, manifest, submission.steps)
            self.append(Added(submission=manifest.id, actions=actions))
        return manifest

    def entries(self) -> list[EditionEntry]:
        """Return all submissions, after checking their files against the log."""
        judged = [line for line in self.lines if isinstance(line, Judged)]
        entries = []
        for added in (line for line in self.lines if isinstance(line, Added)):
            name = added.submission
            try:
                submission = read_submission(self.folder / SUBMISSIONS / name, self.protocol)
            except BundleError as error:
                raise LeaderboardError(error.code, f"submission {name[:12]}: {error}") from None
            if submission.id != name or actions_digest(submission) != added.actions:
                raise LeaderboardError(
                    "changed-submission", f"submission {name[:12]} was changed after it was added"
                )
            own = [line for line in judged if name in line.verdicts]
            entries.append(EditionEntry(**vars(submission), judged=own))
        return entries


def actions_digest(submission: Submission) -> str:
    """Return the SHA-256 of the challenge and the actions; coordinates are rounded."""
    digest = hashlib.sha256(submission.manifest.challenge.encode())
    for own in submission.actions:
        scale = ACTION_TOLERANCE if own.dtype.kind == "f" else 1
        digest.update(np.rint(own / scale).astype("<i8").tobytes())
    return digest.hexdigest()


def standings(edition: Edition, track: str) -> tuple[Results, dict[str, EditionEntry]]:
    """Return the public runs of a track's submissions as results, and the submissions by label.

    Refused submissions are excluded. If a label is not unique, the start of the submission's id is
    appended to the label.
    """
    entries = [e for e in edition.entries() if e.manifest.track == track and e.verdict.passed]
    taken = [*REFERENCE_ROWS, REFERENCES, *(entry.manifest.label for entry in entries)]
    rows = {
        entry.manifest.label
        if taken.count(entry.manifest.label) == 1
        else f"{entry.manifest.label} ({entry.id[:8]})": entry
        for entry in entries
    }
    played: list[tuple[Run, Columns]] = []
    runs = [run for run in runs_of(edition.protocol) if run.track == REFERENCES]
    for place, (run, replay) in enumerate(zip(runs, replays(edition.protocol), strict=True)):
        played.append((run, replay.references()))
        for label, row in rows.items():
            own = replace(run, agent=label, track=track, key=f"{run.key} {label}")
            columns, seconds = replay.columns(row.actions[place]), row.manifest.runs[place].seconds
            columns["seconds"] = np.full(len(columns["t"]), seconds / len(columns["t"]))
            played.append((own, columns))
    agents = tuple(replace(row.manifest.entry, label=label) for label, row in rows.items())
    store = Store()
    sweep = store.begin(replace(edition.protocol, agents=agents), [run for run, _ in played])
    for run, columns in played:
        store.save(Record.of(run.key, columns))
    return Results(store.source(sweep.id)), rows
