"""Table of commands. For a fast start, a command is imported only when it is called."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from agents.errors import CodedError
    from periodic_envs.data import DataError


class Command(NamedTuple):
    """Entry of the table of commands.

    Attributes:
        place: Import path of the function, or of the Typer app of a group, as "module:attribute".
        summary: Description in ``periodic-gp --help``.
    """

    place: str
    summary: str


COMMANDS = {
    "envs": Command("evaluation.cli.lists:list_envs", "List, describe or draw environments."),
    "agents": Command("evaluation.cli.lists:list_agents", "List the agents, or describe one."),
    "protocols": Command("evaluation.cli.lists:list_protocols", "List the protocols, or show one."),
    "play": Command("evaluation.cli.single_run:play_one", "Run one agent for one episode."),
    "run": Command("evaluation.cli.sweeps:run_protocol", "Run the agents of a protocol."),
    "show": Command("evaluation.cli.sweeps:show", "Show the tables of a sweep."),
    "compare": Command("evaluation.cli.sweeps:compare", "Compare two agents on common seeds."),
    "plot": Command(
        "evaluation.cli.sweeps:plot", "Draw regret curves, regret by phase or profiles."
    ),
    "export": Command("evaluation.cli.sweeps:export", "Write every step of every run to a file."),
    "submit": Command(
        "evaluation.cli.leaderboard:submit_agent", "Run your agent and write a bundle to submit."
    ),
    "verify": Command("evaluation.cli.leaderboard:verify_bundle", "Verify a bundle, tier by tier."),
    "leaderboard": Command(
        "evaluation.cli.leaderboard:app", "Open, judge and check editions of the leaderboard."
    ),
}
"""Commands by name.

Each command is built on demand, because building all commands takes seconds.
"""


class CommandGroup(TyperGroup):
    """Group that lists commands with their summaries, and imports only the called command."""

    table: Mapping[str, Command] = {}

    def set_table(self, table: Mapping[str, Command]) -> None:
        """Set the commands of the group."""
        self.table = table
        self.commands = {name: TyperCommand(name, help=own.summary) for name, own in table.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the command and the remaining arguments of a call."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, load(self.table[str(name)].place, str(name)), rest


def load(place: str, name: str) -> Any:
    """Return the command or group at an import path, with its options."""
    module, _, attribute = place.partition(":")
    target = getattr(import_module(module), attribute)
    if isinstance(target, typer.Typer):
        return typer.main.get_command(target)
    single = typer.Typer(add_completion=False)
    single.command(name)(target)
    return typer.main.get_command(single)


app = typer.Typer(cls=CommandGroup, no_args_is_help=True, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"periodic-gp {version('periodic-gp')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Bandit problems with periodic rewards: environments, agents, comparisons and decisions."""


def command_group(table: Mapping[str, Command] = COMMANDS) -> CommandGroup:
    """Return the command-line interface with the commands of a table."""
    group = typer.main.get_group(app)
    assert isinstance(group, CommandGroup)
    group.set_table(table)
    return group


def main(table: Mapping[str, Command] = COMMANDS, *, reword: Callable[[str], str] = str) -> None:
    """Run the command that ``sys.argv`` names.

    Args:
        table: Commands by name.
        reword: Function that rewrites the text of errors and warnings, for example to name
            options instead of arguments.
    """
    from evaluation.console import say

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"Note: {reword(str(message))}", error=True)

    gc.set_threshold(50_000)  # imports create many objects but little garbage
    warnings.showwarning = show
    try:
        command_group(table).main(args=sys.argv[1:], prog_name="periodic-gp")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except user_errors() as error:
        say(f"Error [{error.code}]: {reword(str(error))}", error=True)
        raise SystemExit(1) from None


def user_errors() -> tuple[type[CodedError] | type[DataError], ...]:
    """Return the exception types that are reported as one sentence, without a traceback."""
    from agents.registry import UnknownAgentError
    from evaluation.errors import UserError
    from periodic_envs.data import DataError

    return UserError, DataError, UnknownAgentError
