"""Options and functions for files that several commands use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluation.errors import UserError

StoreOption = Annotated[Path, typer.Option("--store", help="SQLite file with the results.")]
ProcessesOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Number of worker processes, by default one per core; 0 uses the main process.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]

PICTURE_FORMATS = (".jpg", ".pdf", ".png", ".svg")


class CommandError(UserError):
    """Raised if an argument of a command is invalid."""


def check_folder(path: Path) -> None:
    """Raise an error if a file cannot be created at a path."""
    if path.is_dir() or not os.access(path.parent, os.W_OK):  # False for a missing folder
        raise CommandError(
            "cannot-write", f"cannot write {str(path)!r}: choose a file in a writable folder"
        )


def check_picture(path: Path, *, also: tuple[str, ...] = ()) -> None:
    """Raise an error if a picture cannot be written to a path.

    Args:
        path: Path of the picture.
        also: Further file extensions that the command accepts.
    """
    known = sorted((*PICTURE_FORMATS, *also))
    if path.suffix.lower() not in known:
        raise CommandError(
            "unknown-file-type",
            f"the name of a picture must end in one of {', '.join(known)}, got {str(path)!r}",
        )
    check_folder(path)


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure to a file."""
    from periodic_envs.files import write_figure  # imported late: the package loads Gymnasium

    with writing(path):
        write_figure(figure, path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert operating-system errors into a ``CommandError`` that names the path."""
    try:
        yield
    except OSError as error:
        raise CommandError(
            "cannot-write", f"cannot write {str(path)!r}: {error.strerror or error}"
        ) from error


def write(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    from periodic_envs.files import write_atomically

    with writing(path):
        write_atomically(path, content)
