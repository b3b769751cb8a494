"""Commands that show results as a page: ``leaderboard build``, ``serve``."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from evaluation.cli.editions import FOLDER, EditionOption, FolderOption, find_edition
from evaluation.cli.shared import CommandError, StoreOption, say
from evaluation.cli.submissions import sentences
from evaluation.cli.sweeps import DEFAULT_STORE, SweepOption, chosen_results
from evaluation.cli.waiting import working
from evaluation.leaderboard.content import edition_content
from evaluation.report.content import store_content
from evaluation.report.live import LiveStore
from evaluation.report.page import render
from evaluation.report.serve import serve
from evaluation.report.sheet import Pictures
from evaluation.store import Store
from periodic_envs.files import write_atomically


def build_page(
    out: Annotated[Path, typer.Option(help="File to write the page to.")] = Path(
        "leaderboard.html"
    ),
    open_page: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
    edition: EditionOption = None,
    folder: FolderOption = FOLDER,
    store: Annotated[
        Path | None, typer.Option(help="A store of your own, instead of an edition.")
    ] = None,
    sweep: SweepOption = None,
) -> None:
    """Make one self-contained page: it works offline, from disk."""
    if not out.parent.is_dir():
        raise CommandError(f"cannot write {str(out)!r}: there is no folder {str(out.parent)!r}")
    with sentences(), working(f"Building {out}: tables, curves and pictures of worlds") as doing:
        if store is not None:
            with Store(store, create=False) as opened:
                content = store_content(chosen_results(opened, sweep), Pictures())
        else:
            content = edition_content(find_edition(folder, edition))
        doing(f"Writing {out}")
        try:
            write_atomically(out, render(content).encode())
        except OSError as error:
            raise CommandError(f"cannot write {str(out)!r}: {error.strerror}") from error
    say(f"Built {out.resolve()}")
    if open_page and not webbrowser.open(out.resolve().as_uri()):
        say("No browser could be started: open the file yourself.")


def serve_store(
    store: StoreOption = DEFAULT_STORE,
    sweep: SweepOption = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines read along.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any that is free.")
    ] = 8765,
) -> None:
    """Show a store in the browser while a sweep fills it; Ctrl-C to end."""
    with Store(store, create=False) as opened:
        chosen_results(opened, sweep)  # say now what is missing
    content = LiveStore(store, lambda opened: chosen_results(opened, sweep))
    with sentences():
        serve(
            content,
            progress=content.progress,
            host=host,
            port=port,
            on_ready=lambda url: say(f"Serving {store} at {url} (Ctrl-C to end)"),
        )
