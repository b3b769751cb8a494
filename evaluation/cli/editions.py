"""What the commands of the leaderboard share: their options, an edition and its secret."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evaluation import sandbox
from evaluation.leaderboard.edition import EDITION, Edition, EditionError
from evaluation.leaderboard.secret import Secret, SecretError, default_path
from evaluation.running.process import hide_from_others

FOLDER = Path("leaderboard")

FolderOption = Annotated[
    Path, typer.Option("--folder", help="Folder of the leaderboard, which holds its editions.")
]
EditionOption = Annotated[
    str | None, typer.Option("--edition", help="Name of the edition; the last one if left out.")
]
SecretOption = Annotated[
    Path | None,
    typer.Option("--secret", help="File with the edition's secret; by default in your settings."),
]
MoreTrialsOption = Annotated[
    bool,
    typer.Option(
        "--more-trials",
        help="Give a submission one more trial on hidden seeds than there are; the log says so.",
    ),
]
WithoutSandboxOption = Annotated[
    bool,
    typer.Option(
        "--without-sandbox",
        help="Give out hidden seeds even where there is no sandbox; the log says so.",
    ),
]


def load_secret(edition: Edition, place: Path | None) -> Secret:
    """The secret of an open edition, which no other process is to read from this one's memory."""
    edition.check_open()  # before its secret is looked for, which hardly anybody has
    place = place or default_path(edition.name)
    found = Secret.load(place)
    if sandbox.available() and sandbox.shows(place):
        raise SecretError(
            f"the secret {str(place)!r} is in a folder of Python or the system, which agents can "
            "read in the sandbox: move it elsewhere, and name its place with --secret"
        )
    hide_from_others()
    edition.check_secret(found)
    found.mark_used(place)  # unless the opening was ended before it could say so
    return found


def find_edition(folder: Path, name: str | None) -> Edition:
    """The edition of this name, or the last one."""
    found = (path.parent.name for path in folder.glob(f"*/{EDITION}"))
    known = sorted(name for name in found if not name.startswith("."))  # half opened ones do
    if not known:
        raise EditionError(
            f"there is no edition in {str(folder)!r}: give this command in a copy of the "
            "repository, or name another folder with --folder"
        )
    if name is not None and name not in known:
        raise EditionError(
            f"there is no edition {name!r} in {folder}; there are {', '.join(known)}"
        )
    return Edition(folder / (name or known[-1]))
