"""``periodic-gp reproduce`` and ``periodic-gp zoo``: studies that write a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluation.cli.shared import CommandError, ProcessesOption, StoreOption, say
from evaluation.store import Store

QuickOption = Annotated[
    bool, typer.Option("--quick", help="A minute or two, with too few runs to decide.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(help="Folder for the page and its pictures: docs, or out with --quick."),
]
_CLAIM = re.compile(r"^\| (B?\d+\. .*) \| (.*) \| (.*) \|$", re.MULTILINE)


def reproduce(
    quick: QuickOption = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this section (several times for several): synthetic, madrid, windows, "
            "settings, sensitivity, gains, bounds, beyond."
        ),
    ] = None,
    out: OutOption = None,
    store: StoreOption = Path("reproduction.sqlite"),
    workers: ProcessesOption = None,
) -> None:
    """Compute every figure and claim of the paper again; write a page with verdicts.

    Interrupted, the same command goes on where it was. Within half an hour on two cores; --quick
    takes a minute. With Madrid's measurements imported, they are used; without, a simulator.
    """
    from evaluation.studies import paper
    from periodic_envs.data.madrid.cache import years

    unknown = [name for name in only or () if name not in paper.STUDIES]
    if unknown:
        names = ", ".join(paper.STUDIES)
        raise CommandError(f"there is no section {unknown[0]!r}; there are {names}")
    size = paper.QUICK if quick else paper.FULL
    try:
        with _place(out, store, workers, quick=quick) as place:
            page = paper.reproduce(size, only=only or (), **place)
    except paper.FailedRunError as error:
        raise CommandError(f"{error}; finished runs are in {store}") from error
    for claim, where, verdict in _CLAIM.findall(page.read_text(encoding="utf-8")):
        say(f"{claim} ({where})\n    {verdict}")
    if not years() and (not only or paper.ABOUT_MADRID & set(only)):
        say("Madrid was simulated: import the measurements of 2017 and 2018 for the paper's data.")
    _say_done(page, quick=quick)


def zoo(
    quick: QuickOption = False,
    controls: Annotated[
        bool, typer.Option("--controls", help="Only the controls, on a page of their own.")
    ] = False,
    out: OutOption = None,
    store: StoreOption = Path("zoo.sqlite"),
    workers: ProcessesOption = None,
) -> None:
    """Run all agents but generic RL in the worlds of the protocol standard; write a page of it.

    Interrupted, the same command goes on where it was.
    """
    from evaluation.studies.zoo import study

    size = study.QUICK if quick else study.FULL
    write = study.write_controls if controls else study.write_zoo
    with _place(out, store, workers, quick=quick) as place:
        page = write(size, **place)
    _say_done(page, quick=quick)


@contextmanager
def _place(
    out: Path | None, store: Path, workers: int | None, *, quick: bool
) -> Iterator[dict[str, Any]]:
    """Where a study is run; an interruption or an error is said in a sentence."""
    from evaluation.studies.lab import aloud

    folder = out or Path("out" if quick else "docs")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with Store(store) as opened:
            yield {"store": opened, "out": folder, "workers": workers, "reporting": aloud}
    except KeyboardInterrupt:
        say(f"Stopped. What is finished is in {store}: run the same command again to go on.")
        raise typer.Exit(130) from None
    except OSError as error:
        place = error.filename or folder
        raise CommandError(f"cannot write {str(place)!r}: {error.strerror}") from error


def _say_done(page: Path, *, quick: bool) -> None:
    """The last words."""
    if quick:
        say("This was the quick version: too few runs to decide; leave out --quick for verdicts.")
    say(f"Wrote {page}")
