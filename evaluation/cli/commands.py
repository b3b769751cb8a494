"""All commands of ``periodic-gp``, each imported when it is called: together they take seconds."""

from __future__ import annotations

import ast
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from evaluation.cli.shared import screen, show_version

COMMANDS = {
    "envs": "evaluation.cli.lists:envs",
    "agents": "evaluation.cli.lists:list_agents",
    "protocols": "evaluation.cli.lists:list_protocols",
    "play": "evaluation.cli.play:play_one",
    "run": "evaluation.cli.sweeps:run_protocol",
    "show": "evaluation.cli.sweeps:show",
    "compare": "evaluation.cli.sweeps:compare",
    "plot": "evaluation.cli.sweeps:plot",
    "export": "evaluation.cli.sweeps:export",
    "serve": "evaluation.cli.pages:serve_store",
    "submit": "evaluation.cli.leaderboard:submit_agent",
    "verify": "evaluation.cli.leaderboard:verify_bundle",
    "leaderboard": "evaluation.cli.leaderboard:app",
    "data": "periodic_decisions.cli.data:app",
    "backtest": "periodic_decisions.cli.backtest:backtest",
    "decide": "periodic_decisions.cli.decide:app",
    "learn-prior": "periodic_decisions.cli.priors:learn_prior",
}
"""Names, and the function or the group of commands behind each."""

READERS = ("backtest", "data", "decide", "learn-prior")
"""Commands that have the reader's arguments as options."""


class Commands(TyperGroup):
    """Knows the names of all commands, and imports the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name) for name in COMMANDS}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Put the command itself in the place of its name."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = _command(args[0])
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Say of each what the first line of its documentation says."""
        for name, command in self.commands.items():
            command.help = _summary(name)
        super().format_help(ctx, formatter)


def _command(name: str) -> Any:
    module, _, attribute = COMMANDS[name].partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        one = typer.Typer(add_completion=False)
        one.command(name)(found)
        found = one
    return typer.main.get_command(found)


def _summary(name: str) -> str:
    """The first line of a function's documentation, or a group's module's: read, not imported."""
    module, _, attribute = COMMANDS[name].partition(":")
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    found = next((node for node in functions if node.name == attribute), tree)
    return (ast.get_docstring(found) or "").partition("\n\n")[0]


app = typer.Typer(
    cls=Commands,
    help="Decision-making in a world that repeats.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def run() -> None:
    """Run the command that was given."""
    errors = screen(stderr=True, soft_wrap=True)

    def show(message: Any, *_: Any, **__: Any) -> None:
        errors.print(f"Note: {_worded(message)}", markup=False, highlight=False, style="yellow")

    warnings.showwarning = show
    try:
        app()
    except Exception as error:
        if not isinstance(error, _mendable()):
            raise
        errors.print(f"Error: {_worded(error)}", markup=False, highlight=False, style="red")
        raise SystemExit(1) from None


def _worded(error: Any) -> str:
    """What is wrong; where the reader's arguments are options, by these."""
    if sys.argv[1:2] and sys.argv[1] in READERS:
        from periodic_decisions.cli.options import in_a_shell

        return in_a_shell(str(error))
    return str(error)


def _mendable() -> tuple[type[Exception], ...]:
    """What the user can mend: said in one sentence."""
    from agents.registry import UnknownAgentError
    from evaluation.cli.shared import CommandError
    from evaluation.leaderboard.bundle import LeaderboardError
    from evaluation.report.serve import ServeError
    from evaluation.running.executors.base import SweepStoppedError
    from evaluation.running.executors.dask import DaskUnavailableError
    from evaluation.specs import ProtocolError
    from evaluation.store import StoreError
    from periodic_decisions.decider.clock import DeciderError
    from periodic_envs.data import DataError

    return (
        *(CommandError, DataError, DeciderError, ProtocolError, StoreError),
        *(DaskUnavailableError, SweepStoppedError, LeaderboardError, ServeError),
        UnknownAgentError,
    )


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
