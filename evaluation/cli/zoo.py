"""``periodic-gp zoo``: all agents in all worlds."""

from __future__ import annotations

from pathlib import Path

from evaluation.cli.pages import OutOption, QuickOption, reporting, say_done, writing
from evaluation.cli.shared import ProcessesOption, StoreOption

DEFAULT_STORE = Path("zoo.sqlite")


def zoo(
    quick: QuickOption = False,
    out: OutOption = None,
    store: StoreOption = DEFAULT_STORE,
    workers: ProcessesOption = None,
) -> None:
    """Run all agents but generic RL in the worlds of the protocol standard; write a page of it.

    Interrupted, the same command goes on where it was.
    """
    from evaluation.zoo import FULL, QUICK, write_zoo

    scale = QUICK if quick else FULL
    with writing(out, store, quick=quick) as (folder, opened):
        page = write_zoo(scale, store=opened, out=folder, workers=workers, reporting=reporting)
    say_done(page, quick=quick)
