"""What all commands share: the screen, the errors, the pictures."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console


def screen(**settings: Any) -> Console:
    """A console that leaves users' words as they are: ``:-1:`` is no emoji."""
    return Console(emoji=False, **settings)


console = screen()

StoreOption = Annotated[Path, typer.Option("--store", help="The file that results are kept in.")]
ProcessesOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Number of worker processes; 0 runs everything in this one. By default one per core.",
    ),
]

PICTURE_FORMATS = (".jpg", ".pdf", ".png", ".svg")


class CommandError(Exception):
    """What the user can mend: shown as one sentence, without a traceback."""


def say(text: str) -> None:
    """A line as it is: not wrapped, not coloured."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def show_version() -> None:
    """The package and its version."""
    say(f"periodic-gp {version('periodic-gp')}")


def check_picture(path: Path) -> None:
    """Before a long run, not after it."""
    if path.suffix.lower() not in PICTURE_FORMATS:
        raise CommandError(
            f"a picture's name must end in {', '.join(PICTURE_FORMATS)}, got {str(path)!r}"
        )
    if not path.parent.is_dir():
        raise CommandError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise CommandError(f"cannot write {str(path)!r}: its folder cannot be written")


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure, or say why not."""
    check_picture(path)
    try:
        figure.savefig(path)
    except OSError as error:
        raise CommandError(f"cannot write {str(path)!r}: {error.strerror}") from error
