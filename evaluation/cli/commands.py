"""All commands of ``periodic-gp``."""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import typer

from evaluation.cli import (
    data,
    leaderboard,
    pages,
    priors,
    stale,
    studies,
    submissions,
    sweeps,
    worlds,
)
from evaluation.cli.shared import CommandError, screen, show_version
from evaluation.database import StoreError
from evaluation.protocol.entries import ProtocolError
from evaluation.running.executors.base import SweepStoppedError
from evaluation.running.executors.dask import DaskUnavailableError
from periodic_envs.data import DataError

MENDABLE = (
    *(CommandError, DataError, ProtocolError, StoreError),
    *(DaskUnavailableError, SweepStoppedError),
)
"""What the user can mend: said in one sentence."""

app = typer.Typer(
    help="Decision-making in a world that repeats.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("envs")(worlds.envs)
app.command("agents")(worlds.list_agents)
app.command("play")(worlds.play_one)
app.command("run")(sweeps.run_protocol)
app.command("show")(sweeps.show)
app.command("compare")(sweeps.compare)
app.command("plot")(sweeps.plot)
app.command("export")(sweeps.export)
app.command("protocols")(sweeps.list_protocols)
app.command("reproduce")(studies.reproduce)
app.command("submit")(submissions.submit_agent)
app.command("verify")(submissions.verify_bundle)
app.command("serve")(pages.serve_store)
app.add_typer(leaderboard.app, name="leaderboard")
app.command("zoo")(studies.zoo)
app.command("stale")(stale.stale)
app.command("learn-prior")(priors.learn_prior)
app.add_typer(data.app, name="data")


def run() -> None:
    """Run the command that was given."""
    errors = screen(stderr=True, soft_wrap=True)

    def show(message: Any, *_: Any, **__: Any) -> None:
        errors.print(f"Note: {message}", markup=False, highlight=False, style="yellow")

    warnings.showwarning = show
    try:
        app()
    except MENDABLE as error:
        errors.print(f"Error: {error}", markup=False, highlight=False, style="red")
        raise SystemExit(1) from None


def _show_version(wanted: bool) -> None:
    if wanted:
        show_version()
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Decision-making in a world that repeats."""
