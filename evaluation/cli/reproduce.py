"""``periodic-gp reproduce``: the paper's figures and claims, computed again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from evaluation.cli.progress import Reporter
from evaluation.cli.shared import CommandError, say
from evaluation.reproduction.lab import Report
from evaluation.store import Store
from periodic_envs.data.madrid.cache import years

DEFAULT_STORE = Path("reproduction.sqlite")
_CLAIM = re.compile(r"^\| (B?\d+\. .*) \| (.*) \| (.*) \|$", re.MULTILINE)


def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", help="A minute's version, with too few runs to decide.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this section (several times for several): synthetic, madrid, windows, "
            "settings, sensitivity, gains, bounds, beyond."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the page and its pictures: docs, or out with --quick."),
    ] = None,
    store: Annotated[Path, typer.Option(help="The file of results.")] = DEFAULT_STORE,
    workers: Annotated[
        int | None,
        typer.Option(min=0, help="Processes; 0 to run in this one. Default: one per core."),
    ] = None,
) -> None:
    """Compute every figure and claim of the paper again; write a page with verdicts.

    Interrupted, the same command goes on where it was. Within half an hour on two cores; --quick
    takes a minute. With Madrid's measurements imported, they are used; without, a simulator.
    """
    from evaluation.reproduction import FULL, QUICK, STUDIES, FailedRunError
    from evaluation.reproduction import reproduce as run_studies

    unknown = [name for name in only or () if name not in STUDIES]
    if unknown:
        raise CommandError(f"there is no section {unknown[0]!r}; there are {', '.join(STUDIES)}")
    folder = out or Path("out" if quick else "docs")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"cannot write {str(folder)!r}: {error.strerror}") from error
    try:
        with Store(store) as opened:
            page = run_studies(
                QUICK if quick else FULL,
                store=opened,
                out=folder,
                only=only or (),
                workers=workers,
                reporting=_reporting,
            )
    except KeyboardInterrupt:
        say(f"Stopped. What is finished is in {store}: run the same command again to go on.")
        raise typer.Exit(130) from None
    except FailedRunError as error:
        raise CommandError(f"{error}; finished runs are in {store}") from error
    except OSError as error:
        place = error.filename or folder
        raise CommandError(f"cannot write {str(place)!r}: {error.strerror}") from error
    for claim, where, verdict in _CLAIM.findall(page.read_text(encoding="utf-8")):
        say(f"{claim} ({where})\n    {verdict}")
    if quick:
        say("This was the quick version: too few runs to decide; leave out --quick for verdicts.")
    if not years():
        say("Madrid was simulated: import the measurements of 2017 and 2018 for the paper's data.")
    say(f"Wrote {page}")


@contextmanager
def _reporting(title: str) -> Iterator[Report]:
    """A line or a bar for each study."""
    with Reporter(quiet=False, title=title) as report:
        yield report
