"""The command line, ``periodic-gp``."""

from __future__ import annotations

import difflib
import inspect
import traceback
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import typer
from gymnasium.error import InvalidAction
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

import agents
import periodic_envs
from agents import AgentSpec, UnknownAgentError, describe, names
from agents.registry import find_class, settings_of
from evaluation.pictures import run_figure
from evaluation.runner import play
from periodic_envs.base import PeriodicBanditEnv
from periodic_envs.rendering import world_figure

app = typer.Typer(
    help="Decision-making in a world that repeats.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = Console()

PICTURE_FORMATS = (".jpg", ".pdf", ".png", ".svg")


class CommandError(Exception):
    """What the user can mend: shown as one sentence, without a traceback."""


def main() -> None:
    """Run the command line."""
    try:
        app()
    except CommandError as error:
        Console(stderr=True, soft_wrap=True).print(f"Error: {error}", markup=False, style="red")
        raise SystemExit(1) from None


def _show_version(wanted: bool) -> None:
    if wanted:
        console.print(f"periodic-gp {version('periodic-gp')}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Decision-making in a world that repeats."""


@app.command()
def envs(
    env_id: Annotated[
        str | None, typer.Argument(help="An id, to read about it; without, all are listed.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the landscape of one world into this file.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which world to draw.")] = 0,
) -> None:
    """List the environments, describe one, or draw one."""
    if env_id is None:
        if picture is not None:
            raise CommandError("--picture needs an id: periodic-gp envs ID --picture FILE")
        console.print(_env_lines(), highlight=False, markup=False, soft_wrap=True)
        return
    env = _make(env_id)
    if picture is None:
        text = inspect.cleandoc(type(env.setup.world).__doc__ or "")
        console.print(text, highlight=False, markup=False)
        return
    env.reset(seed=seed)
    assert env.episode is not None
    figure = world_figure(f"{env_id}, seed {seed}", env.setup, env.episode)
    _save(figure, picture)
    console.print(f"Drew {env_id}, seed {seed}, into {picture}", highlight=False, soft_wrap=True)


@app.command("agents")
def list_agents(
    agent: Annotated[
        str | None, typer.Argument(help="A name, to read about it; without, all are listed.")
    ] = None,
) -> None:
    """List the agents, or describe one with its settings."""
    if agent is not None:
        _describe_agent(agent)
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("agent", no_wrap=True)
    table.add_column("what it does")
    for name in names():
        try:
            table.add_row(name, describe(name))
        except UnknownAgentError as error:
            table.add_row(name, f"[red]broken: {escape(str(error))}[/red]")
    console.print(table)


def _describe_agent(agent: str) -> None:
    try:
        found = find_class(AgentSpec.parse(agent).name)
    except UnknownAgentError as error:
        raise CommandError(str(error)) from error
    console.print(inspect.getdoc(found) or "", highlight=False, markup=False)
    settings = settings_of(found)
    if settings:
        console.print("\nSettings and their defaults:", highlight=False)
        for name, default in settings.items():
            console.print(f"  {name} = {default}", highlight=False, markup=False)


@app.command("play")
def play_one(
    env_id: Annotated[str, typer.Argument(help="An environment id.")],
    agent: Annotated[
        str, typer.Argument(help="An agent: name, name:setting=value, module:Class, file.py:Class.")
    ],
    seed: Annotated[int, typer.Option(min=0, help="Which world and noise.")] = 0,
    picture: Annotated[
        Path | None, typer.Option(help="Draw choices, belief and regret into this file.")
    ] = None,
) -> None:
    """Let one agent live through one episode."""
    env = _make(env_id)
    if picture is not None:
        _check_picture(picture)
    try:
        spec = AgentSpec.parse(agent)
        screen = Console(stderr=True)
        with Progress(console=screen, transient=True, disable=not screen.is_terminal) as progress:
            task = progress.add_task(f"{spec.name} in {env_id}", total=env.horizon)
            run = play(env, spec, seed, on_step=lambda: progress.advance(task))
    except (UnknownAgentError, InvalidAction) as error:
        raise CommandError(str(error)) from error
    except Exception as error:  # an agent can fail in any way; its author needs the place
        where = traceback.extract_tb(error.__traceback__)[-1]
        ours = isinstance(error, ValueError) and _is_ours(where)
        place = (
            "" if ours else f" ({type(error).__name__} in {where.filename}, line {where.lineno})"
        )
        raise CommandError(f"{agent}: {error}{place}") from error
    milliseconds = 1e3 * run.agent_seconds.mean()
    engine = getattr(getattr(run.agent, "posterior", None), "name", None)
    total = f"regret {run.regret.sum():,.2f} over {len(run.t)} steps"
    console.print(
        f"{agent} in {env_id}, seed {seed}: {total}, {milliseconds:.2f} ms per step"
        + (f", engine {engine}" if engine else ""),
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    if picture is not None:
        _save(run_figure(f"{agent} in {env_id}, seed {seed}", env, run), picture)
        console.print(f"Drew the run into {picture}", highlight=False, soft_wrap=True)


def _is_ours(where: traceback.FrameSummary) -> bool:
    """Whether one of our own checks spoke: its sentence is enough."""
    return Path(where.filename).is_relative_to(Path(agents.__file__).parent)


def _env_lines() -> str:
    """For each id its facts, and below them what it is: fits a narrow window."""
    lines = [f"{'id':<33}{'actions':<14}{'period':<12}horizon"]
    for env_id in periodic_envs.ids():
        env = _make(env_id)
        public = env.public
        finite = public.n_actions is not None
        actions = f"Discrete({public.n_actions})" if finite else f"Box({public.dim})"
        periods = ", ".join(f"{period:.4g}" for period in public.periods) or "hidden"
        lines.append(f"{env_id:<33}{actions:<14}{periods:<12}{env.horizon}")
        lines.append("    " + (type(env.setup.world).__doc__ or "").strip().splitlines()[0])
    return "\n".join(lines)


def _make(env_id: str) -> PeriodicBanditEnv:
    if env_id not in periodic_envs.ids():
        close = difflib.get_close_matches(env_id, periodic_envs.ids(), n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(close)}?" if close else "see: periodic-gp envs"
        raise CommandError(f"there is no environment {env_id!r}; {hint}")
    env = gym.make(env_id).unwrapped
    assert isinstance(env, PeriodicBanditEnv)
    return env


def _check_picture(path: Path) -> None:
    """Before a long run, not after it."""
    if path.suffix.lower() not in PICTURE_FORMATS:
        raise CommandError(
            f"a picture's name must end in {', '.join(PICTURE_FORMATS)}, got {str(path)!r}"
        )
    if not path.parent.is_dir():
        raise CommandError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")


def _save(figure: Any, path: Path) -> None:
    _check_picture(path)
    try:
        figure.savefig(path)
    except OSError as error:
        raise CommandError(f"cannot write {str(path)!r}: {error.strerror}") from error
