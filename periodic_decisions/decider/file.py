"""Deciders in files: plain arrays and one JSON header, replaced whole, by one process at a time."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from periodic_decisions.decider.clock import DeciderError
from periodic_envs.files import settle, whole_file

FORMAT = "periodic-gp decider"
MAX_BYTES = 2**30
MAX_HEADER_BYTES = 2**24
MAX_WAITING_SECONDS = 60.0


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file: another file beside it.

    Raises:
        DeciderError: If another process holds it for a minute, or there is no folder for it.
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
    """Replace a file whole, and wait until it is on the disk; its mode stays.

    Raises:
        DeciderError: If it cannot be written; the old file is kept.
    """
    said = {"format": FORMAT, "version": version("periodic-gp")}
    try:
        data = to_bytes(arrays, {**said, "header": json.dumps(header)})
        with whole_file(path) as part:
            part.write_bytes(data)
            if path.exists():
                shutil.copymode(path, part)
        settle(path.parent)
    except (OSError, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DeciderError(f"cannot write {str(path)!r}: {reason}") from error


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Read the header and the arrays of a file.

    Raises:
        DeciderError: If it is missing, too large, damaged, or not a decider; also for any error
            while its content is used, since a damaged file can fail anywhere.
    """
    check_exists(path)
    writer = "it is damaged, or not a decider"
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            header_bytes = int.from_bytes(file.read(8), "little")
        if size > MAX_BYTES or header_bytes > min(size, MAX_HEADER_BYTES):
            raise DeciderError("it is not a decider, or too large for one")
        with safe_open(path, framework="numpy") as tensors:
            said = tensors.metadata() or {}
            if said.get("format") != FORMAT:
                raise DeciderError("it is not a decider")
            writer = f"it is damaged (written by version {said.get('version')})"
            arrays = {name: tensors.get_tensor(name) for name in list(tensors.keys())}
        yield json.loads(said["header"]), arrays
    except DeciderError as error:
        raise DeciderError(f"cannot load {str(path)!r}: {error}") from None
    except Exception as error:
        raise DeciderError(f"cannot load {str(path)!r}: {writer}") from error


def check_exists(path: Path) -> None:
    """Refuse a missing file."""
    if not path.is_file():
        raise DeciderError(
            f"there is no file {str(path)!r}: make a decider with periodic-gp decide init"
        )
