"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a file beside ``path`` to write into, which replaces it when all is written.

    Readers of ``path`` see the old bytes or the new ones, never a part. If anything goes wrong,
    the file beside it is removed.
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
    """Write a file atomically, and return when it is on the disk under its name."""
    write_atomically(path, data)
    settle(path.parent)


def settle(folder: Path) -> None:
    """Write the names of a folder to the disk, where the system can."""
    if os.name == "nt":  # folders cannot be opened there
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_figure(figure: Any, path: Path, **settings: Any) -> None:
    """Write a figure of Matplotlib whole or not at all; ``settings`` are those of ``savefig``."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:].lower(), **settings)
    write_atomically(path, drawn.getvalue())
