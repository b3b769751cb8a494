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
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evaluation.protocol.protocol import canonical_json

FORMAT = 1
MANIFEST, STEPS = "manifest.json", "steps.parquet"
MOST_MANIFEST_BYTES = 4 * 2**20
MAX_RUNS = 100_000
_WRITTEN = {"runs": "cells"}
"""What format 1 calls otherwise in the file."""
MOST_TABLE = 20_000
"""Letters of settings, machine or worlds."""


class BundleError(ValueError):
    """A bundle that is refused: one sentence that says why."""


@dataclass(frozen=True)
class RunRecord:
    """One run: which, how long, and the regret that its author claims."""

    env: str
    seed: int
    steps: int
    regret: float


@dataclass(frozen=True)
class Manifest:
    """What a submission says about itself.

    Attributes:
        protocol: Name of the protocol.
        challenge: SHA-256 of its worlds, seeds, horizon and limits (``Protocol.challenge``).
        envs: For each world its label, id, arguments and the fingerprint of its data.
        seeds: Of the protocol.
        label: The name under which the agent is listed.
        agent: The name under which it was run.
        settings: Its settings.
        track: "online" or "pretrained".
        training_steps: Interactions before judgement.
        source_sha256: Of its own files (``sources.own_hash``), None for a built-in agent.
        authors: Who made it.
        link: Where to read about it, or None.
        machine: Versions and platform.
        created: When, in ISO format.
        agent_seconds: Time of the agent, all runs together.
        steps_sha256: Of ``steps.parquet``.
        runs: The runs, in the protocol's order.
        format: Version of this form.
    """

    protocol: str
    challenge: str
    envs: tuple[dict[str, Any], ...]
    seeds: tuple[int, ...]
    label: str
    agent: str
    settings: dict[str, Any]
    track: str
    training_steps: int
    source_sha256: str | None
    authors: tuple[str, ...]
    link: str | None
    machine: dict[str, Any]
    created: str
    agent_seconds: float
    steps_sha256: str
    runs: tuple[RunRecord, ...]
    format: int = FORMAT

    def __post_init__(self) -> None:
        _require(self.format == FORMAT, f"format must be {FORMAT}", self.format)
        for name in ("protocol", "agent", "created"):
            _short_text(name, getattr(self, name), 300)
        check_words(self.label, self.authors, self.link)
        for name in ("challenge", "steps_sha256"):
            _digest(name, getattr(self, name))
        if self.source_sha256 is not None:
            _digest("source_sha256", self.source_sha256)
        known = self.track in ("online", "pretrained")
        _require(known, 'track must be "online" or "pretrained"', self.track)
        for name in ("settings", "machine"):
            _require(isinstance(getattr(self, name), dict), f"{name} must be a table", "")
        for name in ("settings", "machine", "envs"):
            _plain(name, getattr(self, name))
        _require(_whole(self.training_steps), "training_steps must be a whole number from 0 on", "")
        trained = self.training_steps == 0 or self.track == "pretrained"
        _require(trained, 'training is for the track "pretrained"', self.training_steps)
        _require(_real(self.agent_seconds), "agent_seconds must be a number from 0 on", "")

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Read what a stranger wrote, or say what is wrong with it."""
        try:
            table = json.loads(data, parse_constant=_finite, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            raise BundleError(f"{MANIFEST} is not JSON: {error}") from None
        names = {_WRITTEN.get(field.name, field.name) for field in fields(cls)}
        _require(isinstance(table, dict), f"{MANIFEST} must be a table", "")
        missing = sorted(names - table.keys())
        strange = sorted(key[:50] for key in table.keys() - names)[:3]
        _require(not missing, f"{MANIFEST} lacks", ", ".join(missing))
        _require(not strange, f"{MANIFEST} has what does not belong there", ", ".join(strange))
        for name in ("envs", "seeds", "authors", "cells"):
            _require(isinstance(table[name], list), f"{name} must be a list", "")
        runs = table.pop("cells")
        _require(len(runs) <= MAX_RUNS, f"more than {MAX_RUNS:,} runs", "")
        table["runs"] = tuple(map(_run, runs))
        for name in ("envs", "seeds", "authors"):
            table[name] = tuple(table[name])
        return cls(**table)

    def to_json(self) -> bytes:
        """The bytes that are signed for: always the same for the same content."""
        table = {_WRITTEN.get(name, name): value for name, value in asdict(self).items()}
        return (json.dumps(json.loads(canonical_json(table)), indent=1) + "\n").encode()

    @property
    def id(self) -> str:
        """SHA-256 of the manifest, which holds that of the steps: the submission's name."""
        return hashlib.sha256(self.to_json()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a bundle, in a folder that holds nothing else but the steps."""
    if not folder.is_dir():
        raise BundleError(f"there is no folder {str(folder)!r}")
    strange = sorted(path.name for path in folder.iterdir() if path.name not in (MANIFEST, STEPS))
    _require(not strange, "the folder holds what does not belong there", ", ".join(strange[:3]))
    return Manifest.from_json(read_file(folder / MANIFEST, MOST_MANIFEST_BYTES))


def read_steps_file(folder: Path, manifest: Manifest, *, rows: int) -> bytes:
    """The bytes of the steps, no more than so many rows of the protocol need."""
    steps = read_file(folder / STEPS, 100_000 + 300 * rows)
    if hashlib.sha256(steps).hexdigest() != manifest.steps_sha256:
        raise BundleError(f"{STEPS} is not the file that {MANIFEST} was written for (its SHA-256)")
    return steps


def read_file(path: Path, most: int) -> bytes:
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
        _require(about.st_size <= most, f"{path.name} is larger than {most:,} bytes", about.st_size)
        return file.read(most + 1)


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


def _run(value: Any) -> RunRecord:
    named = isinstance(value, dict) and value.keys() == {"env", "seed", "steps", "regret"}
    _require(named, "a run has env, seed, steps and regret", str(value)[:100])
    run = RunRecord(**value)
    _short_text("env", run.env, 1000)
    _require(_whole(run.seed), "a seed must be a whole number from 0 on", run.seed)
    _require(_whole(run.steps) and run.steps > 0, "steps must be a whole number", run.steps)
    _require(run.steps <= 10**8, "a run has at most 1e8 steps", run.steps)
    _require(_real(run.regret), "a regret must be a finite number from 0 on", run.regret)
    return run


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _real(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < float("inf")


def _digest(name: str, value: Any) -> None:
    good = isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")
    _require(good, f"{name} must be a SHA-256 in hexadecimal digits", str(value)[:80])


def _short_text(name: str, value: Any, most: int) -> None:
    good = isinstance(value, str) and 0 < len(value) <= most and _visible(value)
    _require(good, f"{name} must be a text of 1 to {most} printable letters", str(value)[:80])


def _visible(text: str) -> bool:
    """Whether people see what is there: no controls, no lone halves, no blanks around it."""
    fillers = any("FILLER" in unicodedata.name(letter, "") for letter in text)
    return text.isprintable() and text == text.strip() and not fillers


def _plain(name: str, value: Any) -> None:
    """Tables that strangers fill in are small and printable."""
    try:
        text = canonical_json(value)
        shown = all(word.isprintable() for word in _texts(value))
    except (ValueError, RecursionError):
        raise BundleError(f"{name} must be plain data of finite numbers") from None
    _require(len(text) <= MOST_TABLE, f"{name} is longer than {MOST_TABLE:,} letters", len(text))
    _require(shown, f"{name} holds letters that cannot be shown", "")


def _texts(value: Any) -> Iterator[str]:
    """All texts in plain data, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _finite(text: str) -> float:
    value = float(text)
    if not -float("inf") < value < float("inf"):
        raise ValueError(f"{text} is not a finite number")
    return value


def _require(true: bool, rule: str, value: Any) -> None:
    if not true:
        shown = str(value)[:200]
        raise BundleError(f"{rule}: {shown!r}" if shown else rule)
