"""The data folder, and atomic writing of files."""

from __future__ import annotations

import contextlib
import io
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA_VARIABLE = "PERIODIC_GP_DATA"
"""Environment variable that names the data folder."""


def data_folder() -> Path:
    """Return the folder of imported data: ``$PERIODIC_GP_DATA``, or one in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(DATA_VARIABLE) or Path(cache) / "periodic-gp")


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside ``path``, which replaces it at the end.

    Readers of ``path`` see the old bytes or the new ones, never a part. After an error the
    temporary file is removed.
    """
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        yield part
        with part.open("r+b") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that readers see the old bytes or the new ones, never a part."""
    with whole_file(path) as part, part.open("xb") as file:
        file.write(data)


def write_durably(path: Path, data: bytes) -> None:
    """Write a file atomically, and return when it is on disk."""
    write_atomically(path, data)
    settle(path.parent)


def settle(folder: Path) -> None:
    """Flush the entries of a folder to disk, if the system supports it."""
    if os.name == "nt":  # folders cannot be opened there
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_figure(figure: Any, path: Path, **settings: Any) -> None:
    """Write a figure of Matplotlib atomically; ``settings`` are those of ``savefig``."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:].lower(), **settings)
    write_atomically(path, drawn.getvalue())
