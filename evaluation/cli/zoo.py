"""``periodic-gp zoo``: all agents in all worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evaluation.cli.pages import OutOption, QuickOption, reporting, say_done, writing
from evaluation.cli.shared import ProcessesOption, StoreOption

DEFAULT_STORE = Path("zoo.sqlite")


def zoo(
    quick: QuickOption = False,
    controls: Annotated[
        bool, typer.Option("--controls", help="Only the controls, on a page of their own.")
    ] = False,
    out: OutOption = None,
    store: StoreOption = DEFAULT_STORE,
    workers: ProcessesOption = None,
) -> None:
    """Run all agents but generic RL in the worlds of the protocol standard; write a page of it.

    Interrupted, the same command goes on where it was.
    """
    from evaluation.studies.zoo import FULL, QUICK, write_controls, write_zoo

    scale, write = QUICK if quick else FULL, write_controls if controls else write_zoo
    with writing(out, store, quick=quick) as (folder, opened):
        page = write(scale, store=opened, out=folder, workers=workers, reporting=reporting)
    say_done(page, quick=quick)
