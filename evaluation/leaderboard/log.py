"""The log of verdicts: only ever added to, every line signed and bound to the one before.

A line is ``{"entry": ..., "signature": ...}`` in canonical JSON. An entry holds its number, the
time and the SHA-256 of the line before; the signature is Ed25519 over the entry, so anybody who has
the public key can check it, and only the holder of the private key can add to it. ``log.head``
beside it, signed as well, says how many lines there are, so that cutting off the end is noticed,
too. It is written after the log: a power cut in between leaves it one line behind, which is read as
what it is and mended by the next entry. Who can replace both files can set them back to an older
state: publish the head (the page shows it).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from filelock import FileLock

from evaluation.leaderboard.bundle import BundleError, decode, read_file
from evaluation.specs import canonical_json
from periodic_envs.files import write_durably

MAX_LINE_BYTES = 2**20
Entry = dict[str, Any]
"""What a line says, with its number, its time and the hash of the line before."""


class LogError(Exception):
    """A log that was tampered with or cannot be read: one sentence that says where."""


class _SignedLine(msgspec.Struct, forbid_unknown_fields=True):
    entry: Entry
    signature: str


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    entries: int
    last: str


class Log:
    """A signed log in a file.

    Args:
        path: The file; the head is beside it.
        public_key: In hexadecimal digits.
    """

    def __init__(self, path: Path, public_key: str) -> None:
        self.path = path
        self._head = path.with_suffix(".head")
        self._lock = FileLock(path.with_suffix(".lock"))
        try:
            self._key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        except ValueError as error:
            raise LogError(f"the public key of {path.name} is none: {error}") from None

    def entries(self) -> list[Entry]:
        """All entries, checked from the first to the last."""
        entries, hashes = self._chain()
        ends = [(len(entries), hashes[-1])]
        if entries:
            ends.append((len(entries) - 1, hashes[-2]))  # a power cut between the two files
        if self._marked() not in ends:
            raise LogError(
                f"{self.path.name} does not end where log.head says: lines were added without the "
                "key, or cut off"
            )
        return entries

    def _chain(self) -> tuple[list[Entry], list[str]]:
        """The entries, and the hash of nothing and of every line."""
        entries, hashes = [], [""]
        for number, line in enumerate(self._lines()):
            entries.append(self._checked(line, number, hashes[-1]))
            hashes.append(hashlib.sha256(line).hexdigest())
        return entries, hashes

    def _marked(self) -> tuple[int, str]:
        """How many lines there are by ``log.head``, and the hash of the last."""
        if not self._head.exists():
            return 0, ""
        try:
            line = self._signed(read_file(self._head, MAX_LINE_BYTES), "log.head")
            head = msgspec.convert(line, _Head)
        except BundleError as error:
            raise LogError(str(error)) from None
        except ValueError:
            raise LogError("log.head does not say where the log ends") from None
        return head.entries, head.last

    @property
    def head(self) -> str | None:
        """SHA-256 of the last line, which stands for all before it."""
        lines = list(self._lines())
        return hashlib.sha256(lines[-1]).hexdigest() if lines else None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes to the edition meanwhile."""
        try:
            with self._lock:
                yield
        except OSError as error:
            raise LogError(f"cannot write beside {str(self.path)!r}: {error.strerror}") from None

    def append(
        self, content: Entry | Callable[[list[Entry]], Entry], key: Ed25519PrivateKey
    ) -> Entry:
        """Add an entry, whole or not at all.

        Args:
            content: What it says, or a function that makes it from all entries before.
            key: Signs it.
        """
        if key.public_key().public_bytes_raw() != self._key.public_bytes_raw():
            raise LogError(f"this is not the key that {self.path.name} is signed with")
        with self.locked():
            entries = self.entries()
            entry = {
                **(content(entries) if callable(content) else content),
                "number": len(entries),
                "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                "previous": self.head or "",
            }
            line = _sign(entry, key)
            if len(line) + 1 >= MAX_LINE_BYTES:
                raise LogError(f"an entry of {len(line):,} bytes is too long for the log")
            head = {"entries": len(entries) + 1, "last": hashlib.sha256(line).hexdigest()}
            before = self.path.read_bytes() if entries else b""
            write_durably(self.path, before + line + b"\n")
            write_durably(self._head, _sign(head, key) + b"\n")
        return entry

    def _lines(self) -> Iterator[bytes]:
        if not self.path.exists():
            return
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES), b"")):
                    if not line.endswith(b"\n"):
                        raise LogError(f"line {number + 1} of {self.path.name} is cut off")
                    yield line[:-1]
        except OSError as error:
            raise LogError(f"cannot read {str(self.path)!r}: {error.strerror}") from None

    def _checked(self, line: bytes, number: int, previous: str) -> Entry:
        entry = self._signed(line, f"line {number + 1} of {self.path.name}")
        if entry.get("number") != number or entry.get("previous") != previous:
            raise LogError(
                f"line {number + 1} of {self.path.name} does not follow the line before it: lines "
                "were removed, repeated or moved"
            )
        return entry

    def _signed(self, line: bytes, what: str) -> Entry:
        """The content of a signed line."""
        try:
            signed = decode(line, _SignedLine, what)
            self._key.verify(bytes.fromhex(signed.signature), canonical_json(signed.entry).encode())
        except InvalidSignature:
            raise LogError(f"{what} was changed: its signature does not fit") from None
        except (ValueError, RecursionError):
            raise LogError(f"{what} is not a signed entry") from None
        return signed.entry


def _sign(content: Entry, key: Ed25519PrivateKey) -> bytes:
    signature = key.sign(canonical_json(content).encode()).hex()
    return canonical_json({"entry": content, "signature": signature}).encode()
