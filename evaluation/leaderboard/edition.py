"""Editions of a leaderboard: a folder with a protocol, accepted submissions and a signed log.

::

    leaderboard/2026.2/edition.json       name, protocol, challenge, public key, hash of the salt
                     log.jsonl         trials and verdicts, signed (``lines``); log.head
                     submissions/ID/   manifest.json, steps.parquet: the bundle as it was handed in

What the worlds can say again is not kept: regrets, rewards and reference rows are replayed.

Whoever is killed or loses power while writing leaves a folder that can be read: everything appears
under its name when it is complete, and a submission before the line that speaks of it.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from evaluation.leaderboard.bundle import (
    MANIFEST,
    STEPS,
    BundleError,
    Manifest,
    check_format,
    decode,
    read_file,
)
from evaluation.leaderboard.copies import remark_on
from evaluation.leaderboard.disk import move, part_of, sweep, write_folder
from evaluation.leaderboard.forms import run_forms
from evaluation.leaderboard.hidden import HiddenSeeds
from evaluation.leaderboard.lines import (
    Closed,
    Judged,
    Line,
    Opened,
    Trial,
    Verdict,
    lines_of,
    trials_before,
)
from evaluation.leaderboard.log import Entry, Log, LogError
from evaluation.leaderboard.secret import Secret, SecretError
from evaluation.leaderboard.standing import Accepted
from evaluation.leaderboard.steps import Actions, read_steps
from evaluation.leaderboard.verdicts import CannotCheckError, Verification
from evaluation.protocol import Protocol
from evaluation.specs import canonical_json
from periodic_envs.files import write_durably

FORMAT = 2
EDITION, LOG, SUBMISSIONS = "edition.json", "log.jsonl", "submissions"
MAX_FILE_BYTES = 2**28
MAX_TRIALS = 3
"""On hidden seeds, of a submission."""
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")


class EditionError(Exception):
    """An edition that cannot be used: one sentence."""


class _Opening(msgspec.Struct, forbid_unknown_fields=True):
    """What ``edition.json`` holds."""

    name: str
    protocol: dict[str, Any]
    challenge: str
    data: dict[str, Any]
    public_key: str
    salt_sha256: str
    format: int


class Edition:
    """An edition in its folder.

    Args:
        folder: With an ``edition.json``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            content = read_file(folder / EDITION, 2**22)
            check_format(content, EDITION, FORMAT)
            opening = decode(content, _Opening, EDITION)
        except ValueError as error:
            raise EditionError(f"cannot read the edition in {str(folder)!r}: {error}") from None
        self.about: dict[str, Any] = msgspec.to_builtins(opening)
        self.name, self.challenge = opening.name, opening.challenge
        self.log = Log(folder / LOG, opening.public_key)
        self._actions: dict[str, Actions] = {}

    @classmethod
    def open(cls, folder: Path, protocol: Protocol, secret: Secret) -> Edition:
        """Begin an edition: what is published now cannot be changed later."""
        check_new(folder.parent, folder.name)
        opening = _Opening(
            name=folder.name,
            protocol={key: v for key, v in protocol.to_dict().items() if key != "agents"},
            challenge=protocol.challenge,
            data=protocol.data_fingerprints,
            public_key=secret.public_key,
            salt_sha256=secret.salt_hash,
            format=FORMAT,
        )
        about = msgspec.to_builtins(opening)
        part = part_of(folder)
        try:
            shutil.rmtree(part, ignore_errors=True)
            (part / SUBMISSIONS).mkdir(parents=True)
            write_durably(part / EDITION, (canonical_json(about) + "\n").encode())
            Log(part / LOG, secret.public_key).append(Opened(edition=about).content(), secret.key)
            move(part, folder)
        except OSError as error:
            said = f"cannot make the folder {str(folder)!r}: {error.strerror}"
            raise EditionError(said) from None
        return cls(folder)

    def protocol(self) -> Protocol:
        """The worlds and seeds of the edition; its agent only fills the place."""
        made = Protocol.from_dict({**self.about["protocol"], "agents": ["random"]})
        if made.challenge != self.challenge:
            raise EditionError(
                f"edition {self.name} was opened with another version of the worlds or other data "
                "than are here: use the same, or open a new edition"
            )
        return made

    def check_secret(self, secret: Secret) -> None:
        """Refuse somebody else's secret."""
        own = self.about["public_key"], self.about["salt_sha256"]
        if (secret.public_key, secret.salt_hash) != own:
            raise SecretError(f"this secret does not belong to edition {self.name}")

    def lines(self) -> list[Line]:
        """What the log says, after its signatures have been checked."""
        return self._lines(self.log.entries())

    def _lines(self, entries: list[Entry]) -> list[Line]:
        lines = lines_of(entries)
        assert isinstance(lines[0], Opened)
        if lines[0].edition != self.about:
            raise LogError(f"{EDITION} was changed after the edition was opened")
        return lines

    @property
    def closed(self) -> Closed | None:
        """The line that ended the edition, if it has ended."""
        last = self.lines()[-1]
        return last if isinstance(last, Closed) else None

    def check_open(self) -> None:
        """Refuse an edition that has ended."""
        if (end := self.closed) is not None:
            raise EditionError(f"edition {self.name} was closed on {end.time[:10]}: open a new one")

    def close(self, secret: Secret) -> None:
        """End the edition and publish its salt: everybody can run the hidden seeds from now on."""
        self._append(lambda lines: Closed(salt=secret.salt.hex()), secret)

    def begin_trial(
        self, submission: str, steps: str, agent: str, secret: Secret, *, more: bool = False
    ) -> HiddenSeeds:
        """Write down that a submission is about to be run on hidden seeds, and give them out.

        Args:
            submission: Its id.
            steps: Digest of what it chose: another manifest around it is no new submission.
            agent: Digest of its code and settings: nor is a step that differs by next to nothing.
            secret: The edition's.
            more: Whether there may be more than ``MAX_TRIALS``.
        """

        def next_trial(lines: list[Line]) -> Trial:
            before = len(trials_before(lines, submission, steps, agent))
            over = before >= MAX_TRIALS
            if over and not more:
                raise CannotCheckError(
                    f"submission {submission[:12]} has had {before} trials on hidden seeds, and "
                    f"more than {MAX_TRIALS} need --more-trials, which the log will say"
                )
            return Trial(
                submission=submission, steps=steps, agent=agent, trial=before + 1, more=over
            )

        number = self._append(next_trial, secret)["trial"]
        return HiddenSeeds(secret.salt, submission, number)

    def record(self, verification: Verification, secret: Secret) -> bool:
        """Write verdicts into the log, and keep the submission if it was replayed.

        Returns:
            Whether it is in the edition now.
        """
        manifest = verification.manifest
        with self.log.locked():
            self.check_open()
            submissions = self.folder / SUBMISSIONS
            for place in (self.folder, submissions):
                sweep(place)
            if verification.regrets and verification.passed:
                self._compare(verification)
            accepted = bool(verification.regrets) and verification.passed
            if manifest is not None and accepted:
                files = {MANIFEST: manifest.to_json(), STEPS: verification.steps}
                write_folder(submissions / manifest.id, files)
            line = verification.line(accepted=accepted)
            self._append(lambda lines: line, secret)
        return accepted

    def _compare(self, verification: Verification) -> None:
        """Refuse copied steps at the door itself, whoever has looked at them before."""
        try:
            words = self.remark_on(verification)
        except BundleError as error:
            verification.verdicts.append(Verdict("replayed", False, str(error)))
            return
        if words and not any(words in verdict.words for verdict in verification.verdicts):
            last = verification.verdicts.pop()
            verification.verdicts.append(Verdict(last.tier, True, last.words + words))

    def remark_on(self, verification: Verification) -> str:
        """What there is to say of a submission beside those that are here: see ``copies``."""
        assert verification.manifest is not None
        forms = run_forms(self.protocol())
        others = []
        for one in self.accepted():
            name = one.manifest.id
            if name not in self._actions:
                self._actions[name] = read_steps(one.steps, forms, trusted=True)
            others.append((one.manifest, self._actions[name]))
        return remark_on(verification.manifest, verification.actions, others)

    def _append(self, make: Callable[[list[Line]], Line], secret: Secret) -> Entry:
        """Add a line that is made from all lines before, unless the edition has ended."""
        self.check_secret(secret)

        def content(entries: list[Entry]) -> Entry:
            self.check_open()
            return make(self._lines(entries)).content()

        return self.log.append(content, secret.key)

    def accepted(self) -> list[Accepted]:
        """All submissions, after checking the log and every file that it speaks of."""
        by_id: dict[str, list[Line]] = {}
        for line in self.lines():
            if isinstance(line, Judged | Trial) and line.submission is not None:
                by_id.setdefault(line.submission, []).append(line)
        kept = {
            name: lines
            for name, lines in by_id.items()
            if any(isinstance(line, Judged) and line.accepted for line in lines)
        }
        return [self._submission(name, lines) for name, lines in kept.items()]

    def strays(self) -> list[str]:
        """Folders that the log does not know: harmless, since rows come from the log alone."""
        known = {submission.folder.name for submission in self.accepted()}
        there = {path.name for path in self.folder.glob(f"{SUBMISSIONS}/*")}
        return sorted(name for name in there - known if not name.endswith(".part"))

    def _submission(self, name: str, lines: list[Line]) -> Accepted:
        """A submission whose files are what the log says they are."""
        if not re.fullmatch("[0-9a-f]{64}", name):
            raise LogError(f"the log speaks of a submission {name[:12]!r}, which is no SHA-256")
        folder = self.folder / SUBMISSIONS / name
        files = {path.name for path in folder.glob("*")}
        if files != {MANIFEST, STEPS}:
            raise LogError(f"submission {name[:12]} does not hold its two files and no other")
        try:
            manifest = Manifest.from_json(read_file(folder / MANIFEST, MAX_FILE_BYTES))
            steps = read_file(folder / STEPS, MAX_FILE_BYTES)
        except BundleError as error:
            raise LogError(f"submission {name[:12]}: {error}") from None
        if manifest.id != name:
            raise LogError(f"the manifest of submission {name[:12]} was changed after its verdict")
        if hashlib.sha256(steps).hexdigest() != manifest.steps_sha256:
            raise LogError(f"{STEPS} of submission {name[:12]} was changed after its verdict")
        return Accepted(manifest, lines, folder)


def check_new(leaderboard: Path, name: str) -> None:
    """Refuse a name that is none, and an edition that is there already."""
    if not _NAME.match(name):
        raise EditionError(f"an edition's name has letters, digits, dots and dashes, got {name!r}")
    folder = leaderboard / name
    if (folder / EDITION).exists():
        raise EditionError(f"there is an edition in {str(folder)!r} already")
    if folder.is_dir() and any(folder.iterdir()):
        raise EditionError(f"{str(folder)!r} is there already, and no edition is in it")
