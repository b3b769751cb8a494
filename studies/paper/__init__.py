"""The paper's figures and claims, computed again: ``periodic-gp reproduce``."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from pathlib import Path

from evaluation.store import Store
from studies.claims import Section
from studies.lab import FailedRunError, Reporting, silent
from studies.paper import (
    beyond,
    bounds,
    gains,
    madrid,
    sensitivity,
    settings,
    synthetic,
    windows,
)
from studies.paper.page import COMMAND, unchecked, write_sections
from studies.paper.size import FULL, QUICK, PaperLab, PaperSize
from studies.paper.trials import usable_months

__all__ = ["FULL", "QUICK", "STUDIES", "FailedRunError", "PaperSize", "reproduce"]

STUDIES: dict[str, Callable[[PaperLab], Section]] = {
    module.NAME: module.section
    for module in (synthetic, madrid, windows, settings, sensitivity, gains, bounds, beyond)
}
"""Every section of the page, by the name that ``--only`` takes."""
ABOUT_MADRID = {m.NAME for m in (madrid, windows, settings, sensitivity, beyond)}
"""Sections that need the measurements of 2018, if there are any."""


def reproduce(
    size: PaperSize,
    *,
    store: Store,
    out: Path,
    only: Sequence[str] = (),
    workers: int | None = None,
    reporting: Reporting = silent,
) -> Path:
    """Run the studies and write the page; its path.

    Args:
        size: How much is run.
        store: Where results are kept: what is in it is not run again.
        out: Folder for the page; pictures go into a folder beside it.
        only: Names of studies; all if empty. A page of some has a name of its own.
        workers: Processes; 0 for this one; None for one per core.
        reporting: Given the title of what is run, a context that takes its progress.
    """
    only = list(dict.fromkeys(only))
    stem = "-".join(["reproduction", *only])
    pictures = out / stem
    for path in (out / f"{stem}.md", out / f"{stem}.json"):
        if path.is_dir():  # now, not after a quarter of an hour
            raise IsADirectoryError(errno.EISDIR, "there is a folder of that name", str(path))
    if not only or ABOUT_MADRID & set(only):
        usable_months(size.months)
    pictures.mkdir(parents=True, exist_ok=True)
    lab = PaperLab(size, store, pictures, workers, reporting)
    sections = [study(lab) for name, study in STUDIES.items() if not only or name in only]
    options = "".join(f" --only {name}" for name in only)
    stamp = lab.stamp(f"{COMMAND}{size.option}{options}", study=__name__)
    return write_sections(out, stem, sections if only else [*sections, unchecked()], size, stamp)
