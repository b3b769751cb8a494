"""A submission on disk: ``manifest.json`` and ``steps.parquet``, in a folder of their own.

Bundles come from strangers. They are read with bounded sizes, nothing in them is run, and nothing
in them says where to read or write.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from evaluation.specs import canonical_json

FORMAT = 2
MANIFEST, STEPS = "manifest.json", "steps.parquet"
MAX_MANIFEST_BYTES = 4 * 2**20
MAX_TABLE_LETTERS, MAX_DEPTH = 20_000, 20
"""Bounds of settings and machine, each as JSON."""

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Real = Whole | Annotated[float, msgspec.Meta(ge=0.0)]


class BundleError(ValueError):
    """A bundle that is refused: one sentence that says why."""


class RunRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run: which, the regret that its author claims, and the seconds that the agent took."""

    env: str
    seed: Whole
    regret: Real
    seconds: Real

    def __post_init__(self) -> None:
        _short_text("env", self.env, 1000)


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a submission says about itself, and nothing that its protocol or a replay says.

    Attributes:
        protocol: Name of the protocol.
        challenge: SHA-256 of its worlds, seeds, horizon and limits (``Protocol.challenge``).
        label: The name under which the agent is listed.
        agent: The name under which it was run.
        settings: Its settings.
        track: "online" or "pretrained".
        training_steps: Interactions before judgement.
        source_sha256: Of its code (``submit.code_hash``).
        authors: Who made it.
        link: Where to read about it, or None.
        machine: Versions and platform.
        created: When, in ISO format.
        steps_sha256: Of ``steps.parquet``.
        runs: The runs, in the protocol's order.
        format: Version of this form.
    """

    protocol: str
    challenge: str
    label: str
    agent: str
    settings: dict[str, Any]
    track: str
    training_steps: Whole
    source_sha256: str
    authors: tuple[str, ...]
    link: str | None
    machine: dict[str, Any]
    created: str
    steps_sha256: str
    runs: Annotated[tuple[RunRecord, ...], msgspec.Meta(max_length=100_000)]
    format: int

    def __post_init__(self) -> None:
        """What the kinds of the fields do not say."""
        for name in ("protocol", "agent", "created"):
            _short_text(name, getattr(self, name), 300)
        check_words(self.label, self.authors, self.link)
        for name in ("challenge", "steps_sha256", "source_sha256"):
            _digest(name, getattr(self, name))
        known = self.track in ("online", "pretrained")
        _require(known, 'track must be "online" or "pretrained"', self.track)
        for name in ("settings", "machine"):
            _plain(name, getattr(self, name))
        trained = self.training_steps == 0 or self.track == "pretrained"
        _require(trained, 'training is for the track "pretrained"', self.training_steps)

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Read what a stranger wrote, or say what is wrong with it."""
        try:
            check_format(data, MANIFEST, FORMAT)
            return decode(data, cls, MANIFEST)
        except ValueError as error:
            raise BundleError(str(error)) from None

    @property
    def agent_seconds(self) -> float:
        """Time of the agent by its author's word, all runs together."""
        return float(sum(run.seconds for run in self.runs))

    def to_json(self) -> bytes:
        """The bytes that are signed for: always the same for the same content."""
        return (canonical_json(msgspec.to_builtins(self)) + "\n").encode()

    @property
    def id(self) -> str:
        """SHA-256 of the manifest, which holds that of the steps: the submission's name."""
        return hashlib.sha256(self.to_json()).hexdigest()


def agent_digest(manifest: Manifest) -> str:
    """SHA-256 of an agent's code and settings, whoever hands it in under whatever name."""
    content = [manifest.source_sha256, manifest.agent.rpartition(":")[2], manifest.settings]
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a bundle, in a folder that holds nothing else but the steps."""
    if not folder.is_dir():
        raise BundleError(f"there is no folder {str(folder)!r}")
    strange = sorted(path.name for path in folder.iterdir() if path.name not in (MANIFEST, STEPS))
    _require(not strange, "the folder holds what does not belong there", ", ".join(strange[:3]))
    return Manifest.from_json(read_file(folder / MANIFEST, MAX_MANIFEST_BYTES))


def read_steps_file(folder: Path, manifest: Manifest, *, rows: int) -> bytes:
    """The bytes of the steps, no more than so many rows of the protocol need."""
    steps = read_file(folder / STEPS, 100_000 + 300 * rows)
    if hashlib.sha256(steps).hexdigest() != manifest.steps_sha256:
        raise BundleError(f"{STEPS} is not the file that {MANIFEST} was written for (its SHA-256)")
    return steps


def read_file(path: Path, max_bytes: int) -> bytes:
    """A plain file of bounded size: no link, no pipe, no device."""
    try:
        fd = os.open(
            path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
    except OSError as error:
        raise BundleError(f"cannot read {path.name} as a plain file: {error.strerror}") from None
    about = os.fstat(fd)
    if not stat.S_ISREG(about.st_mode):
        os.close(fd)
        raise BundleError(f"{path.name} is not a plain file")
    with os.fdopen(fd, "rb") as file:
        small = about.st_size <= max_bytes
        _require(small, f"{path.name} is larger than {max_bytes:,} bytes", about.st_size)
        return file.read(max_bytes + 1)


def check_words(label: str, authors: Iterable[str], link: str | None) -> None:
    """What people will read: short, printable, and a link that is one."""
    _short_text("label", label, 100)
    authors = list(authors)
    _require(1 <= len(authors) <= 20, "authors must be a list of 1 to 20 names", len(authors))
    for author in authors:
        _short_text("an author", author, 100)
    if link is not None:
        _short_text("link", link, 500)
        try:
            parts = urlsplit(link)
            good = parts.scheme in ("http", "https") and bool(parts.netloc) and " " not in link
        except ValueError:
            good = False
        _require(good, "link must be an address that begins with http:// or https://", link)


def _digest(name: str, value: str) -> None:
    good = len(value) == 64 and set(value) <= set("0123456789abcdef")
    _require(good, f"{name} must be a SHA-256 in hexadecimal digits", value[:80])


def _short_text(name: str, value: str, max_letters: int) -> None:
    good = 0 < len(value) <= max_letters and _visible(value)
    _require(good, f"{name} must be a text of 1 to {max_letters} printable letters", value[:80])


def _visible(text: str) -> bool:
    """Whether people see what is there: no controls, no lone halves, no blanks around it."""
    fillers = any("FILLER" in unicodedata.name(letter, "") for letter in text)
    return text.isprintable() and text == text.strip() and not fillers


def _plain(name: str, value: Any) -> None:
    """Tables that strangers fill in are small and printable."""
    try:
        shown = all(word.isprintable() for word in _texts(value, MAX_DEPTH))
        letters = len(canonical_json(value))
    except ValueError:
        raise BundleError(
            f"{name} must be plain data of finite numbers, at most {MAX_DEPTH} tables deep"
        ) from None
    small = letters <= MAX_TABLE_LETTERS
    _require(small, f"{name} is longer than {MAX_TABLE_LETTERS:,} letters", letters)
    _require(shown, f"{name} holds letters that cannot be shown", "")


def _texts(value: Any, max_depth: int) -> Iterator[str]:
    """All texts in plain data, names included."""
    if max_depth < 0:
        raise ValueError("too deep")
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value.keys(), *value.values()], max_depth)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, max_depth - 1)


def _require(true: bool, rule: str, value: Any) -> None:
    if not true:
        shown = str(value)[:200]
        raise BundleError(f"{rule}: {shown!r}" if shown else rule)


class _Versioned(msgspec.Struct):
    format: int = 1


def check_format(data: bytes, name: str, expected: int) -> None:
    """Refuse a file of another version, before anything else is said about it.

    Raises:
        ValueError: In one sentence.
    """
    found = decode(data, _Versioned, name).format
    if found != expected:
        raise ValueError(
            f"{name} is of format {found}, and this version of periodic-gp reads format {expected}"
        )


Record = TypeVar("Record")


def decode(data: bytes, kind: type[Record], name: str) -> Record:
    """A record from JSON: every field is there, of its kind, once, and no other.

    Args:
        data: The JSON.
        kind: A ``msgspec.Struct``.
        name: Of the file, for the message.

    Raises:
        ValueError: In one sentence, what is wrong and where.
    """
    try:
        plain = json.loads(
            data, parse_constant=_finite, parse_float=_finite, object_pairs_hook=_unambiguous
        )
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON: {str(error)[:200]}") from None
    try:
        return msgspec.convert(plain, kind)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: {str(error)[:300]}") from None


def _finite(text: str) -> float:
    value = float(text)
    if not -float("inf") < value < float("inf"):
        raise ValueError(f"{text} is not a finite number")
    return value


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, value in pairs:
        if name in table:
            raise ValueError(f"{name[:50]!r} stands twice in a table")
        table[name] = value
    return table
