"""The command ``serve``: results as a page that follows a sweep."""

from __future__ import annotations

from typing import Annotated

import typer

from evaluation.cli.shared import StoreOption, say
from evaluation.cli.sweeps import DEFAULT_STORE, SweepOption
from evaluation.page.serve import LiveStore, serve
from evaluation.results import load


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
    load(store, sweep)  # report now what is missing
    serve(
        LiveStore(store, sweep),
        host=host,
        port=port,
        on_ready=lambda url: say(f"Serving {store} at {url} (Ctrl-C to end)"),
    )
