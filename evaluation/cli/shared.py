"""Options and file helpers shared by the commands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluation.errors import UserError

StoreOption = Annotated[Path, typer.Option("--store", help="File with the results.")]
ProcessesOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Number of worker processes; 0 uses the main process. By default one per core.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]

PICTURE_FORMATS = (".jpg", ".pdf", ".png", ".svg")


class CommandError(UserError):
    """Invalid argument of a command."""


def check_folder(path: Path) -> None:
    """Raise an error if a file cannot be created at a path."""
    if path.is_dir() or not os.access(path.parent, os.W_OK):  # False for a missing folder
        raise CommandError(
            "cannot-write", f"cannot write {str(path)!r}: give a file in a folder that exists"
        )


def check_picture(path: Path, *, also: tuple[str, ...] = ()) -> None:
    """Raise an error if a picture cannot be written to a path.

    Args:
        path: The file.
        also: Further file extensions that the command accepts.
    """
    known = sorted((*PICTURE_FORMATS, *also))
    if path.suffix.lower() not in known:
        raise CommandError(
            "unknown-file-type",
            f"a picture's name must end in {', '.join(known)}, got {str(path)!r}",
        )
    check_folder(path)


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure into a file."""
    from periodic_envs.files import write_figure  # the package imports Gymnasium

    with writing(path):
        write_figure(figure, path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert operating-system errors into ``CommandError``."""
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
