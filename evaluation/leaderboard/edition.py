"""Editions of a leaderboard: a folder with a protocol, accepted submissions and a signed log.

::

    leaderboard/2026/edition.json       name, protocol, challenge, public key, hash of the salt
                     log.jsonl         verdicts, signed; log.head
                     submissions/ID/   manifest.json, steps.parquet: the bundle as it was handed in

What the worlds can say again is not kept: regrets, rewards and reference rows are replayed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import asdict, dataclass
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
from evaluation.leaderboard.forms import run_forms
from evaluation.leaderboard.log import Log, LogError
from evaluation.leaderboard.secret import Secret, SecretError
from evaluation.leaderboard.steps import read_steps
from evaluation.leaderboard.verdicts import TIERS, Verification
from evaluation.protocol.entries import canonical_json
from evaluation.protocol.protocol import Protocol
from periodic_envs.files import write_atomically

FORMAT = 2
EDITION, LOG, SUBMISSIONS = "edition.json", "log.jsonl", "submissions"
MAX_FILE_BYTES = 2**28
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
_OF_THE_LOG = ("kind", "number", "time", "previous")


class EditionError(Exception):
    """An edition that cannot be used: one sentence."""


class _Opening(msgspec.Struct, forbid_unknown_fields=True):
    """What ``edition.json`` holds, and the first entry of the log."""

    name: str
    protocol: dict[str, Any]
    challenge: str
    data: dict[str, Any]
    public_key: str
    salt_sha256: str
    format: int


@dataclass(frozen=True)
class Accepted:
    """A submission in an edition.

    Attributes:
        manifest: What it says about itself.
        tier: The highest tier that it passed.
        verdicts: What the log says about it.
        folder: Where it is.
    """

    manifest: Manifest
    tier: str
    verdicts: list[dict[str, Any]]
    folder: Path

    @property
    def ms_per_step(self) -> float | None:
        """Time of the agent, as the maintainers have measured it, if they have run it."""
        measured = [entry["ms_per_step"] for entry in self.verdicts if "ms_per_step" in entry]
        return float(measured[-1]) if measured else None

    @property
    def steps(self) -> bytes:
        """The bytes of its steps: the log knows their hash."""
        return (self.folder / STEPS).read_bytes()


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

    @classmethod
    def open(cls, folder: Path, protocol: Protocol, secret: Secret) -> Edition:
        """Begin an edition: what is published now cannot be changed later."""
        check_new(folder.parent, folder.name)
        (folder / SUBMISSIONS).mkdir(parents=True, exist_ok=True)
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
        write_atomically(folder / EDITION, (canonical_json(about) + "\n").encode())
        edition = cls(folder)
        edition.log.append({"kind": "opened", **about}, secret.key)
        return edition

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

    def record(self, verification: Verification, secret: Secret) -> bool:
        """Write verdicts into the log, and keep the submission if it was replayed.

        Returns:
            Whether it is in the edition now.
        """
        self.check_secret(secret)
        manifest, accepted = verification.manifest, False
        entry: dict[str, Any] = {"kind": "verdict"}
        if manifest is not None:
            entry |= {"submission": manifest.id, "label": manifest.label}
            accepted = bool(verification.regrets) and verification.passed
            if accepted:
                self._keep(manifest, verification)
                entry["accepted"] = True
        if verification.ms_per_step is not None:
            entry["ms_per_step"] = verification.ms_per_step
        entry["verdicts"] = [asdict(verdict) for verdict in verification.verdicts]
        self.log.append(entry, secret.key)
        return accepted

    def remark_on(self, verification: Verification) -> str:
        """What there is to say of a submission beside those that are here: see ``copies``."""
        assert verification.manifest is not None
        forms = run_forms(self.protocol())
        others = (
            (one.manifest, read_steps(one.steps, forms, trusted=True)) for one in self.accepted()
        )
        return remark_on(verification.manifest, verification.actions, others)

    def _keep(self, manifest: Manifest, verification: Verification) -> None:
        """Put a submission into its folder."""
        target = self.folder / SUBMISSIONS / manifest.id
        part = target.with_name(f".{manifest.id}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        write_atomically(part / MANIFEST, manifest.to_json())
        write_atomically(part / STEPS, verification.steps)
        shutil.rmtree(target, ignore_errors=True)
        os.replace(part, target)

    def accepted(self) -> list[Accepted]:
        """All submissions, after checking the log and every file that it speaks of."""
        entries = self.log.entries()
        self._check_opening(entries[:1])
        by_id: dict[str, list[dict[str, Any]]] = {}
        for entry in entries:
            if entry["kind"] == "verdict" and "submission" in entry:
                by_id.setdefault(str(entry["submission"]), []).append(entry)
        submissions = (self._submission(name, verdicts) for name, verdicts in by_id.items())
        return [submission for submission in submissions if submission is not None]

    def _check_opening(self, first: list[dict[str, Any]]) -> None:
        if not first or first[0].get("kind") != "opened":
            raise LogError(f"{LOG} does not begin with the opening of the edition")
        if {key: value for key, value in first[0].items() if key not in _OF_THE_LOG} != self.about:
            raise LogError(f"{EDITION} was changed after the edition was opened")

    def strays(self) -> list[str]:
        """Folders that the log does not know: harmless, since rows come from the log alone."""
        known = {submission.folder.name for submission in self.accepted()}
        return sorted({path.name for path in self.folder.glob(f"{SUBMISSIONS}/*")} - known)

    def _submission(self, name: str, entries: list[dict[str, Any]]) -> Accepted | None:
        """A submission by what the log says last about it; None if it was never let in."""
        if not any(entry.get("accepted") for entry in entries):
            return None
        folder = self.folder / SUBMISSIONS / name
        files = {path.name for path in folder.glob("*")}
        if files != {MANIFEST, STEPS}:
            raise LogError(f"submission {name[:12]} does not hold its two files and no other")
        manifest = Manifest.from_json(read_file(folder / MANIFEST, MAX_FILE_BYTES))
        if manifest.id != name:
            raise LogError(f"the manifest of submission {name[:12]} was changed after its verdict")
        self._check_hash(folder / STEPS, manifest.steps_sha256)
        return Accepted(manifest, _standing(entries), entries, folder)

    def _check_hash(self, path: Path, expected: str) -> None:
        place = path.relative_to(self.folder).as_posix()
        try:
            content = read_file(path, MAX_FILE_BYTES)
        except BundleError as error:
            raise LogError(f"{place}, of which the log speaks: {error}") from None
        if hashlib.sha256(content).hexdigest() != expected:
            raise LogError(f"{place} was changed after it was recorded")


def _standing(entries: list[dict[str, Any]]) -> str:
    """The highest tier passed, or "refused" until the tier that refused it is passed."""
    best = refused = -1
    for verdict in (verdict for entry in entries for verdict in entry["verdicts"]):
        place = TIERS.index(verdict["tier"])
        if not verdict["passed"]:
            refused = max(refused, place)
            continue
        best = max(best, place)
        if place >= refused:
            refused = -1
    return "refused" if refused >= 0 else TIERS[best]


def check_new(leaderboard: Path, name: str) -> None:
    """Refuse a name that is none, and an edition that is there already."""
    if not _NAME.match(name):
        raise EditionError(f"an edition's name has letters, digits, dots and dashes, got {name!r}")
    if (leaderboard / name / EDITION).exists():
        raise EditionError(f"there is an edition in {str(leaderboard / name)!r} already")
