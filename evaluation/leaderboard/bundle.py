"""Bundles: a submission on disk, ``manifest.json`` and ``steps.parquet`` in a folder of their own.

Bundles are untrusted. They are read with bounded sizes, nothing in them is run, and nothing in them
chooses a place to read from or to write to.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from evaluation.errors import UserError
from evaluation.specs import canonical_json

FORMAT = 3
MANIFEST, STEPS = "manifest.json", "steps.parquet"
MAX_MANIFEST_BYTES = 4 * 2**20
MAX_TABLE_LETTERS = 20_000
"""Of settings and machine, each as JSON."""

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Real = Annotated[float, msgspec.Meta(ge=0.0)]
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
"""A SHA-256 in hexadecimal digits."""


class LeaderboardError(UserError):
    """An error in a submission or an edition that a user can fix."""


class BundleError(LeaderboardError, ValueError):
    """A submission that is refused."""


class RunClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run of a submission: the regret its author claims, and the agent's time in seconds."""

    env: str
    seed: Whole
    regret: Real
    seconds: Real


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The statements of a submission that neither its protocol nor a replay gives.

    Attributes:
        protocol: Name of the protocol.
        challenge: SHA-256 of its worlds, seeds, horizon and limits (``Protocol.challenge``).
        label: Name of the agent in the leaderboard.
        agent: Name with which the agent was made.
        settings: Its settings.
        track: "online" or "pretrained".
        training_steps: Interactions before the submitted runs, as declared by the author.
        source_sha256: SHA-256 of the agent's code (``submit.code_hash``).
        authors: Names of the authors.
        link: Address with more information, or None.
        machine: Versions and platform.
        created: Time in ISO format.
        steps_sha256: SHA-256 of ``steps.parquet``.
        runs: The runs in the protocol's order.
        format: Version of this format.
    """

    protocol: str
    challenge: Digest
    label: str
    agent: str
    settings: dict[str, Any]
    track: str
    training_steps: Whole
    source_sha256: Digest
    authors: tuple[str, ...]
    link: str | None
    machine: dict[str, Any]
    created: str
    steps_sha256: Digest
    runs: Annotated[tuple[RunClaim, ...], msgspec.Meta(max_length=100_000)]
    format: int = FORMAT

    def __post_init__(self) -> None:
        """Check what the types of the fields do not express."""
        for name in ("protocol", "agent", "created"):
            _check_text(name, getattr(self, name), 300)
        check_names(self.label, self.authors, self.link)
        for name in ("settings", "machine"):
            _check_table(name, getattr(self, name))
        if self.track not in ("online", "pretrained"):
            raise BundleError(f'track must be "online" or "pretrained", got {self.track[:50]!r}')
        if self.training_steps and self.track != "pretrained":
            raise BundleError('training_steps are for the track "pretrained"')

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Read untrusted JSON."""
        return decode(data, cls, MANIFEST)

    def to_json(self) -> bytes:
        """Return the canonical bytes, the same for the same content."""
        return (canonical_json(msgspec.to_builtins(self)) + "\n").encode()

    @property
    def id(self) -> str:
        """SHA-256 of the manifest, which holds that of the steps: the submission's name."""
        return hashlib.sha256(self.to_json()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a bundle, in a folder that holds nothing else but the steps."""
    if not folder.is_dir():
        raise BundleError(f"no folder {str(folder)!r}")
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in (MANIFEST, STEPS))
    if foreign:
        raise BundleError(f"the folder holds other files than a bundle: {foreign[0][:50]!r}")
    return Manifest.from_json(read_file(folder / MANIFEST, MAX_MANIFEST_BYTES))


def read_steps_file(folder: Path, manifest: Manifest, *, rows: int) -> bytes:
    """Read the bytes of the steps, at most as many as the rows of the protocol need."""
    steps = read_file(folder / STEPS, 100_000 + 300 * rows)
    if hashlib.sha256(steps).hexdigest() != manifest.steps_sha256:
        raise BundleError(f"{STEPS} does not have the SHA-256 that {MANIFEST} states")
    return steps


def read_file(path: Path, max_bytes: int) -> bytes:
    """Read a plain file of bounded size: no link, pipe or device."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise BundleError(f"{path.name} is not a plain file")
        with open(os.open(path, flags), "rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise BundleError(f"cannot read {path.name}: {error.strerror}") from None
    if len(data) > max_bytes:
        raise BundleError(f"{path.name} is larger than {max_bytes:,} bytes")
    return data


def check_names(label: str, authors: Sequence[str], link: str | None) -> None:
    """Check the texts that an author chooses and the page shows.

    Raises:
        BundleError: If one is empty, too long or not printable, or the link is not a web address.
    """
    _check_text("label", label, 100)
    if not 1 <= len(authors) <= 20:
        raise BundleError(f"authors must be 1 to 20 names, got {len(authors):,}")
    for author in authors:
        _check_text("an author", author, 100)
    if link is not None:
        _check_text("link", link, 500)
        parts = urlsplit(link)
        if parts.scheme not in ("http", "https") or not parts.netloc or " " in link:
            raise BundleError(f"link must begin with http:// or https://, got {link[:80]!r}")


def _check_text(name: str, value: str, max_letters: int) -> None:
    """Require printable text: no controls, invisible letters or surrounding blanks."""
    fillers = any("FILLER" in unicodedata.name(letter, "") for letter in value[:max_letters])
    if (
        not 0 < len(value) <= max_letters
        or not value.isprintable()
        or value != value.strip()
        or fillers
    ):
        raise BundleError(f"{name} must be 1 to {max_letters} printable letters: {value[:80]!r}")


def _check_table(name: str, value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > MAX_TABLE_LETTERS:
        raise BundleError(f"{name} must have at most {MAX_TABLE_LETTERS:,} letters as JSON")
    if "\\" in text or not text.isprintable():
        raise BundleError(f"{name} must hold printable letters, without quotes and backslashes")


Record = TypeVar("Record")


def decode(data: bytes, kind: type[Record], name: str) -> Record:
    """Decode a record from JSON, which must have every field with its type and no other.

    Args:
        data: The JSON.
        kind: A ``msgspec.Struct``.
        name: Name of the file, for the message.

    Raises:
        BundleError: If it is not such a record.
    """
    try:
        table = msgspec.json.decode(data)
        version = table.get("format", FORMAT) if isinstance(table, dict) else FORMAT
        if version != FORMAT:
            raise BundleError(f"it has format {version!s:.20}, this version reads format {FORMAT}")
        return msgspec.convert(table, kind)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{name}: {str(error)[:300]}") from None
