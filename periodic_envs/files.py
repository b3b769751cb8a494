"""Data folder, and functions that write files atomically."""

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
    """Return the folder of imported data, ``$PERIODIC_GP_DATA`` or a folder in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(DATA_VARIABLE) or Path(cache) / "periodic-gp")


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces the file ``path`` at the end.

    The temporary file is in the same folder. Readers of ``path`` see either the old content or the
    new content, never a part of a file. After an error the temporary file is removed.
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
    """Write a file so that readers see either the old or the new content, never a part of it."""
    with whole_file(path) as part, part.open("xb") as file:
        file.write(data)


def write_durably(path: Path, data: bytes) -> None:
    """Write a file atomically, and return after the file is stored on disk."""
    write_atomically(path, data)
    settle(path.parent)


def settle(folder: Path) -> None:
    """Flush the entries of a folder to disk, if the operating system supports this."""
    if os.name == "nt":  # Windows cannot open a folder as a file
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_figure(figure: Any, path: Path, **settings: Any) -> None:
    """Write a Matplotlib figure atomically; ``settings`` are passed to ``savefig``."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:].lower(), **settings)
    write_atomically(path, drawn.getvalue())
