"""``periodic-gp reproduce``: the paper's figures and claims, computed again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from evaluation.cli.pages import OutOption, QuickOption, reporting, say_done, writing
from evaluation.cli.shared import CommandError, ProcessesOption, StoreOption, say
from periodic_envs.data.madrid.cache import years

DEFAULT_STORE = Path("reproduction.sqlite")
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
    store: StoreOption = DEFAULT_STORE,
    workers: ProcessesOption = None,
) -> None:
    """Compute every figure and claim of the paper again; write a page with verdicts.

    Interrupted, the same command goes on where it was. Within half an hour on two cores; --quick
    takes a minute. With Madrid's measurements imported, they are used; without, a simulator.
    """
    from evaluation.studies.paper import FULL, QUICK, STUDIES, FailedRunError
    from evaluation.studies.paper import reproduce as run_studies

    unknown = [name for name in only or () if name not in STUDIES]
    if unknown:
        raise CommandError(f"there is no section {unknown[0]!r}; there are {', '.join(STUDIES)}")
    try:
        with writing(out, store, quick=quick) as (folder, opened):
            page = run_studies(
                QUICK if quick else FULL,
                store=opened,
                out=folder,
                only=only or (),
                workers=workers,
                reporting=reporting,
            )
    except FailedRunError as error:
        raise CommandError(f"{error}; finished runs are in {store}") from error
    for claim, where, verdict in _CLAIM.findall(page.read_text(encoding="utf-8")):
        say(f"{claim} ({where})\n    {verdict}")
    if not years():
        say("Madrid was simulated: import the measurements of 2017 and 2018 for the paper's data.")
    say_done(page, quick=quick)
