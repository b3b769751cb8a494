"""What the commands that write a page share: ``reproduce`` and ``zoo``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from evaluation.cli.progress import Reporter
from evaluation.cli.shared import CommandError, say
from evaluation.running.sweep import Progress
from evaluation.store import Store

QuickOption = Annotated[
    bool, typer.Option("--quick", help="Take a minute or two, with too few runs to decide.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(help="Folder for the page and its pictures: docs, or out with --quick."),
]


@contextmanager
def writing(out: Path | None, store: Path, *, quick: bool) -> Iterator[tuple[Path, Store]]:
    """Open the folder of the page and the store; say an interruption or an error in a sentence."""
    folder = out or Path("out" if quick else "docs")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with Store(store) as opened:
            yield folder, opened
    except KeyboardInterrupt:
        say(f"Stopped. What is finished is in {store}: run the same command again to go on.")
        raise typer.Exit(130) from None
    except OSError as error:
        place = error.filename or folder
        raise CommandError(f"cannot write {str(place)!r}: {error.strerror}") from error


@contextmanager
def reporting(title: str) -> Iterator[Callable[[Progress], object]]:
    """Report each sweep by a line or a bar."""
    with Reporter(quiet=False, title=title) as report:
        yield report


def say_done(page: Path, *, quick: bool) -> None:
    """Say where the page is, and what it is worth."""
    if quick:
        say("This was the quick version: too few runs to decide; leave out --quick for verdicts.")
    say(f"Wrote {page}")
