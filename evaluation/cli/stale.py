"""The command ``stale``: pages that were made with other code than the installed one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evaluation.cli.shared import CommandError, say


def stale(
    folder: Annotated[Path, typer.Argument(help="The folder of the pages.")] = Path("docs"),
) -> None:
    """List the pages that studies wrote, and what has changed since each was made.

    Every page has a stamp with hashes of the code of its agents, its worlds, the runner and the
    study. Fresh is a page whose code is the installed one, to the last letter; of a stale one the
    command says what has changed, and which command makes it anew; unknown is one without a stamp.
    Below stand the files of findings that a page rests on, with stamps of their own.
    Ends with 0 if all are fresh and with 1 otherwise.
    """
    from evaluation.studies.stale import findings, kept_findings

    if not folder.is_dir():
        raise CommandError(f"there is no folder {str(folder)!r}")
    found = list(findings(folder))
    if not found:
        raise CommandError(f"{str(folder)!r} has no page that a study wrote")
    found += kept_findings(folder)
    for finding in found:
        part = f", {finding.part}" if finding.part else ""
        say(f"{finding.page}{part}: {finding.state}")
        say(f"    made with {finding.made or 'unknown code'}; anew by: {finding.command}")
        if finding.changes:
            say(f"    {'changed since' if finding.made else 'since'} {'; '.join(finding.changes)}")
    old = sum(finding.state != "fresh" for finding in found)
    say(f"{old} of {len(found)} are not fresh." if old else f"All {len(found)} are fresh.")
    if old:
        raise typer.Exit(1)
