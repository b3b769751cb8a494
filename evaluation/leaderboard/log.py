"""The log of verdicts: only ever added to, every line signed and bound to the one before.

A line is ``{"entry": ..., "signature": ...}`` in canonical JSON. An entry holds its number, the
time and the SHA-256 of the line before; the signature is Ed25519 over the entry, so anybody who has
the public key can check it, and only the holder of the private key can add to it. ``log.head``
beside it, signed as well, says how many lines there are, so that cutting off the end is noticed,
too. Who can replace both files can set them back to an older state: publish the head (the page
shows it).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from filelock import FileLock

from evaluation.leaderboard.bundle import decode
from evaluation.protocol.entries import canonical_json
from periodic_envs.files import write_atomically

MAX_LINE_BYTES = 2**20


class LogError(Exception):
    """A log that was tampered with or cannot be read: one sentence that says where."""


class _SignedLine(msgspec.Struct, forbid_unknown_fields=True):
    entry: dict[str, Any]
    signature: str


class Log:
    """A signed log in a file.

    Args:
        path: The file; the head is beside it.
        public_key: In hexadecimal digits.
    """

    def __init__(self, path: Path, public_key: str) -> None:
        self.path = path
        self._head = path.with_suffix(".head")
        try:
            self._key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        except ValueError as error:
            raise LogError(f"the public key of {path.name} is none: {error}") from None

    def entries(self) -> list[dict[str, Any]]:
        """All entries, checked from the first to the last."""
        entries, hashes = self._chain()
        if self._marked() != (len(entries), hashes[-1]):
            raise LogError(
                f"{self.path.name} does not end where log.head says: lines were added without the "
                "key, or cut off"
            )
        return entries

    def _chain(self) -> tuple[list[dict[str, Any]], list[str]]:
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
        head = self._signed(self._head.read_bytes(), "log.head")
        return int(head["entries"]), str(head["last"])

    @property
    def head(self) -> str | None:
        """SHA-256 of the last line, which stands for all before it."""
        lines = list(self._lines())
        return hashlib.sha256(lines[-1]).hexdigest() if lines else None

    def append(self, content: dict[str, Any], key: Ed25519PrivateKey) -> dict[str, Any]:
        """Add an entry, whole or not at all."""
        if key.public_key().public_bytes_raw() != self._key.public_bytes_raw():
            raise LogError(f"this is not the key that {self.path.name} is signed with")
        with FileLock(self.path.with_suffix(".lock")):
            entries, hashes = self._chain()
            number = len(entries)
            # A power cut between the two files below leaves one line more than the head knows.
            behind = number > 0 and self._marked() == (number - 1, hashes[-2])
            if not behind:
                self.entries()
            entry = {
                **content,
                "number": number,
                "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                "previous": hashes[-1],
            }
            line = _sign(entry, key)
            if len(line) + 1 >= MAX_LINE_BYTES:
                raise LogError(f"an entry of {len(line):,} bytes is too long for the log")
            head = {"entries": number + 1, "last": hashlib.sha256(line).hexdigest()}
            before = self.path.read_bytes() if number else b""
            # The log first: if power fails between the two, the next entry mends the head.
            write_atomically(self.path, before + line + b"\n")
            write_atomically(self._head, _sign(head, key) + b"\n")
        return entry

    def _lines(self) -> Iterator[bytes]:
        if self.path.exists():
            with self.path.open("rb") as file:
                for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES), b"")):
                    if not line.endswith(b"\n"):
                        raise LogError(f"line {number + 1} of {self.path.name} is cut off")
                    yield line[:-1]

    def _checked(self, line: bytes, number: int, previous: str) -> dict[str, Any]:
        entry = self._signed(line, f"line {number + 1} of {self.path.name}")
        if entry.get("number") != number or entry.get("previous") != previous:
            raise LogError(
                f"line {number + 1} of {self.path.name} does not follow the line before it: lines "
                "were removed, repeated or moved"
            )
        return entry

    def _signed(self, line: bytes, what: str) -> dict[str, Any]:
        """The content of a signed line."""
        try:
            signed = decode(line, _SignedLine, what)
            self._key.verify(bytes.fromhex(signed.signature), canonical_json(signed.entry).encode())
        except InvalidSignature:
            raise LogError(f"{what} was changed: its signature does not fit") from None
        except (ValueError, RecursionError):
            raise LogError(f"{what} is not a signed entry") from None
        return signed.entry


def _sign(content: dict[str, Any], key: Ed25519PrivateKey) -> bytes:
    signature = key.sign(canonical_json(content).encode()).hex()
    return canonical_json({"entry": content, "signature": signature}).encode()
