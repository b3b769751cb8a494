"""Bundles: submissions on disk, as folders with ``manifest.json`` and ``steps.bin``.

Bundles are untrusted. Their size is limited, nothing in a bundle is executed, and no path that a
bundle names is read or written. The format of the steps is described in ``steps.py``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import unicodedata
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from agents.registry import AgentSpec
from evaluation.errors import UserError
from evaluation.specs import AgentEntry, canonical_json
from periodic_envs.files import write_durably

MANIFEST, STEPS = "manifest.json", "steps.bin"
MAX_MANIFEST_BYTES = 4 * 2**20
MAX_TABLE_LETTERS = 20_000  # limit for settings and machine in total, as JSON

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class LeaderboardError(UserError):
    """Raised for a fault in a submission or an edition that a user can fix."""


class BundleError(LeaderboardError, ValueError):
    """Raised if a submission is rejected; the message contains only printable characters."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, "".join(c if c.isprintable() else " " for c in message[:1000]))


class RunClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Claims about one run of a submission: its regret, and the agent's time in seconds."""

    env: str
    seed: Whole
    regret: Annotated[float, msgspec.Meta(ge=0.0)]
    seconds: Annotated[float, msgspec.Meta(ge=0.0, le=1e9)]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Manifest of a submission: everything that neither its protocol nor a replay provides.

    Attributes:
        protocol: Name of the protocol.
        challenge: SHA-256 of the protocol without its agents (``Protocol.challenge``).
        label: Name of the agent on the leaderboard.
        agent: Name of the agent as in ``AgentSpec``.
        settings: Settings of the agent.
        track: "online" or "pretrained".
        training_steps: Number of training interactions, as declared by the author.
        source_sha256: SHA-256 of the agent's code (``submission.code_hash``).
        authors: Names of the authors.
        link: URL with more information, or None.
        machine: Package versions and platform of the author's machine.
        created: Time of the submission in ISO format.
        steps_sha256: SHA-256 of ``steps.bin``.
        runs: The runs in the order of ``steps.replays``.
        format: Version of the format of bundles.
    """

    protocol: Text
    challenge: Digest
    label: Name
    agent: Text
    settings: dict[str, Any]
    track: Annotated[str, msgspec.Meta(pattern=r"^(online|pretrained)\Z")]
    training_steps: Whole
    source_sha256: Digest
    authors: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1, max_length=20)]
    link: Annotated[str, msgspec.Meta(pattern=r"^https?://[!-~]{1,490}\Z")] | None
    machine: dict[str, Any]
    created: Text
    steps_sha256: Digest
    runs: Annotated[tuple[RunClaim, ...], msgspec.Meta(max_length=100_000)]
    format: Literal[4] = 4

    def __post_init__(self) -> None:
        """Check the conditions that the types of the fields do not express."""
        tables = json.dumps([self.settings, self.machine], ensure_ascii=False)
        if len(tables) > MAX_TABLE_LETTERS or "\\" in tables:
            raise BundleError(
                "invalid-table",
                f"settings and machine must have at most {MAX_TABLE_LETTERS:,} printable "
                "characters as JSON, without quotes or backslashes in their names and values",
            )
        for text in (self.protocol, self.label, self.agent, self.created, *self.authors, tables):
            if (
                not text.isprintable()
                or text != text.strip()
                or any("FILLER" in unicodedata.name(letter, "") for letter in text)
            ):
                raise BundleError(
                    "invalid-text",
                    "protocol, label, agent, created, authors, settings and machine must be "
                    f"printable, without spaces at the start or end, got {text[:80]!r}",
                )
        if self.training_steps and self.track != "pretrained":
            raise BundleError(
                "wrong-track", f'training_steps requires the track "pretrained", got {self.track!r}'
            )

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Return the manifest in untrusted JSON.

        Raises:
            BundleError: If a field is missing, unknown or invalid.
        """
        try:
            return msgspec.json.decode(data, type=cls)
        except (ValueError, RecursionError) as error:
            raise BundleError(
                getattr(error.__cause__, "code", "invalid-manifest"),
                f"{MANIFEST}: {str(error)[:300]}",
            ) from None

    def to_json(self) -> bytes:
        """Return the canonical JSON, which is identical for equal manifests."""
        return (canonical_json(msgspec.to_builtins(self)) + "\n").encode()

    @property
    def id(self) -> str:
        """Id of the submission: SHA-256 of the manifest, which includes the hash of the steps."""
        return hashlib.sha256(self.to_json()).hexdigest()

    @property
    def entry(self) -> AgentEntry:
        """Agent of the manifest, labelled with the submission's id."""
        return AgentEntry(self.id, AgentSpec(self.agent, self.settings), self.track)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a bundle; raise an error if its folder contains other files."""
    if not folder.is_dir():
        raise BundleError("file-not-found", f"the folder {str(folder)!r} does not exist")
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in (MANIFEST, STEPS))
    if foreign:
        raise BundleError(
            "unexpected-file",
            f"a bundle must contain only {MANIFEST} and {STEPS}, got {foreign[0][:50]!r}",
        )
    return Manifest.from_json(read_file(folder / MANIFEST, MAX_MANIFEST_BYTES))


def read_file(path: Path, max_bytes: int) -> bytes:
    """Return the content of a regular file of limited size; reject links, pipes and devices."""
    # The flags also protect if the file is replaced by a link or a pipe after it was checked.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise BundleError(
                "not-a-file",
                f"{path.name} must be a regular file, not a link, folder, pipe or device",
            )
        with open(os.open(path, flags), "rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise BundleError("cannot-read", f"cannot read {str(path)!r}: {error.strerror}") from None
    if len(data) > max_bytes:
        raise BundleError("file-too-large", f"{path.name} must have at most {max_bytes:,} bytes")
    return data


def write_bundle(folder: Path, manifest: Manifest, steps: bytes) -> None:
    """Write a bundle atomically."""
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    write_durably(part / STEPS, steps)
    write_durably(part / MANIFEST, manifest.to_json())
    os.replace(part, folder)
