"""Deciders in files: plain arrays and one JSON header, replaced whole, by one process at a time."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from periodic_decisions.deciding.errors import DeciderError
from periodic_envs.files import write_durably

FORMAT = "periodic-gp decider"
VERSION = "1"
MAX_BYTES = 2**30
MAX_HEADER_BYTES = 2**24
MAX_WAITING_SECONDS = 60.0


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep others who ask for the same lock out, for which there is a file beside it.

    Raises:
        DeciderError: If somebody else has it for a minute, or there is no folder for it.
    """
    if not path.parent.is_dir():  # the lock would make it
        raise DeciderError(f"cannot use {str(path)!r}: there is no folder {str(path.parent)!r}")
    lock = FileLock(path.with_name(f"{path.name}.lock"), timeout=MAX_WAITING_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise DeciderError(
            f"{str(path)!r} has been in use by another process for {MAX_WAITING_SECONDS:g} seconds"
        ) from None
    except OSError as error:
        raise DeciderError(f"cannot lock {str(path)!r}: {error.strerror or error}") from None
    try:
        yield
    finally:
        lock.release()


def write(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Put a new file in the place of the old one, and wait until both are on the disk.

    Raises:
        DeciderError: If it cannot be written; what was there before is kept.
    """
    try:
        text = json.dumps(header)
        data = to_bytes(arrays, {"format": FORMAT, "version": VERSION, "header": text})
        write_durably(path, data)
    except (OSError, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DeciderError(f"cannot write {str(path)!r}: {reason}") from error


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a file.

    Raises:
        DeciderError: If it is missing, too large, damaged, or something else.
    """
    check_there(path)
    try:
        _check_size(path)
        with safe_open(path, framework="numpy") as file:
            said = file.metadata() or {}
            if said.get("format") != FORMAT:
                raise DeciderError("it is no decider")
            if said.get("version") != VERSION:
                raise DeciderError(
                    f"it is of version {said.get('version')} of the format, this one reads "
                    f"{VERSION}"
                )
            names = list(file.keys())
            return json.loads(said["header"]), {name: file.get_tensor(name) for name in names}
    except DeciderError as error:
        raise DeciderError(f"cannot load {str(path)!r}: {error}") from None
    except Exception as error:  # a damaged file can fail anywhere
        raise DeciderError(f"cannot load {str(path)!r}: it is damaged, or no decider") from error


def check_there(path: Path) -> None:
    """Refuse a file that is not there."""
    if not path.is_file():
        raise DeciderError(
            f"there is no file {str(path)!r}: make a decider with periodic-gp decide init"
        )


def _check_size(path: Path) -> None:
    """Refuse what would take too much memory before it is opened."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
    if size > MAX_BYTES or header_bytes > min(size, MAX_HEADER_BYTES):
        raise DeciderError("it is no decider, or too large for one")
