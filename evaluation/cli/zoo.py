"""``periodic-gp zoo``: all agents in all worlds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.cli.progress import Reporter
from evaluation.cli.shared import CommandError, say
from evaluation.store import Store

if TYPE_CHECKING:
    from evaluation.zoo import Report

DEFAULT_STORE = Path("zoo.sqlite")


def zoo(
    quick: Annotated[
        bool, typer.Option("--quick", help="A minute or two, with too few runs to decide.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the page and its picture: docs, or out with --quick."),
    ] = None,
    store: Annotated[Path, typer.Option(help="The file of results.")] = DEFAULT_STORE,
    workers: Annotated[
        int | None,
        typer.Option(min=0, help="Processes; 0 to run in this one. Default: one per core."),
    ] = None,
) -> None:
    """Run all agents but generic RL in the worlds of the protocol standard; write a page of it.

    Interrupted, the same command goes on where it was.
    """
    from evaluation.zoo import FULL, QUICK, write_zoo

    folder = out or Path("out" if quick else "docs")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with Store(store) as opened:
            scale = QUICK if quick else FULL
            page = write_zoo(scale, store=opened, out=folder, workers=workers, reporting=_reporting)
    except KeyboardInterrupt:
        say(f"Stopped. What is finished is in {store}: run the same command again to go on.")
        raise typer.Exit(130) from None
    except OSError as error:
        place = error.filename or folder
        raise CommandError(f"cannot write {str(place)!r}: {error.strerror}") from error
    if quick:
        say("This was the quick version: too few runs to decide; leave out --quick for verdicts.")
    say(f"Wrote {page}")


@contextmanager
def _reporting() -> Iterator[Report]:
    """A line or a bar."""
    with Reporter(quiet=False, title="zoo") as report:
        yield report
