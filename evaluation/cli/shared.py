"""Options, output and files, shared by the commands."""

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
        help="Number of worker processes; 0 runs everything in this one. By default one per core.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]

PICTURE_FORMATS = (".jpg", ".pdf", ".png", ".svg")


class CommandError(UserError):
    """An error in the arguments of a command, or of what they name."""


def check_folder(path: Path) -> None:
    """Refuse a folder, or a file whose folder is missing or read-only, before the work."""
    if path.is_dir() or not os.access(path.parent, os.W_OK):  # false where there is no folder
        raise CommandError(f"cannot write {str(path)!r}: give a file in a folder that exists")


def check_picture(path: Path, *, also: tuple[str, ...] = ()) -> None:
    """Refuse a picture that cannot be written, before the work.

    Args:
        path: The file.
        also: Endings that the command takes besides those of pictures.
    """
    known = sorted((*PICTURE_FORMATS, *also))
    if path.suffix.lower() not in known:
        raise CommandError(f"a picture's name must end in {', '.join(known)}, got {str(path)!r}")
    check_folder(path)


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure into a file."""
    from periodic_envs.files import write_figure  # the package brings Gymnasium with it

    with writing(path):
        write_figure(figure, path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Report errors of the system as errors of the user."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    from periodic_envs.files import write_atomically

    with writing(path):
        write_atomically(path, content)
