"""Commands that list, draw and play: ``envs``, ``agents``, ``play``."""

from __future__ import annotations

import inspect
import traceback
import warnings
from pathlib import Path
from typing import Annotated

import typer
from gymnasium.error import InvalidAction
from rich.markup import escape
from rich.progress import TaskProgressColumn
from rich.table import Table
from threadpoolctl import threadpool_limits

import agents
import periodic_envs
from agents import AgentSpec, UnknownAgentError, describe, names
from agents.registry import find_class, settings_of
from evaluation.cli.shared import CommandError, bar, check_picture, console, save_picture, say
from evaluation.pictures import run_figure
from evaluation.protocol.entries import UnknownWorldError, WorldSpec
from evaluation.running.play import play
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.rendering import world_figure

WORLD_HELP = "An environment: its id, or id:argument=value,list=[1,2] in quotes."


def envs(
    env: Annotated[
        str | None, typer.Argument(help=f"{WORLD_HELP} Without one, all are listed.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the landscape of one world into this file.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the world to draw.")] = 0,
) -> None:
    """List the environments, describe one, or draw one."""
    if env is None:
        if picture is not None:
            raise CommandError("--picture needs an id: periodic-gp envs ID --picture FILE")
        say(_env_lines())
        return
    world = _make(env)
    if picture is None:
        text = inspect.cleandoc(type(world.setup.world).__doc__ or "")
        say(text)
        return
    world.reset(seed=seed)
    assert world.episode is not None
    save_picture(world_figure(f"{env}, seed {seed}", world.setup, world.episode), picture)
    say(f"Drew {env}, seed {seed}, into {picture}")
    _say_origin(world)


def list_agents(
    agent: Annotated[
        str | None,
        typer.Argument(help="The name of an agent, to read about it. Without one, all are listed."),
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


def play_one(
    env: Annotated[str, typer.Argument(help=WORLD_HELP)],
    agent: Annotated[
        str,
        typer.Argument(help="An agent: name, name:setting=value, module:Class or file.py:Class."),
    ],
    seed: Annotated[
        int, typer.Option(min=0, help="The seed of the world, its noise and the agent.")
    ] = 0,
    picture: Annotated[
        Path | None, typer.Option(help="Draw choices, belief and regret into this file.")
    ] = None,
) -> None:
    """Run one agent through one episode."""
    world = _make(env)
    if picture is not None:
        check_picture(picture)
    try:
        spec = AgentSpec.parse(agent)
        # One thread, as in sweeps: on small matrices more of them get in each other's way.
        with threadpool_limits(1), bar(TaskProgressColumn()) as progress:
            task = progress.add_task(f"{spec.name} in {env}", total=world.horizon)
            run = play(world, spec, seed, on_step=lambda: progress.advance(task))
    except UnknownAgentError as error:
        raise CommandError(str(error)) from error
    except InvalidAction as error:
        raise CommandError(f"{agent}: {error}") from error
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
    say(
        f"{agent} in {env}, seed {seed}: {total}, {milliseconds:.2f} ms per step"
        + (f", engine {engine}" if engine else "")
    )
    _say_origin(world)
    if picture is not None:
        save_picture(run_figure(f"{agent} in {env}, seed {seed}", world, run), picture)
        say(f"Drew the run into {picture}")


def _is_ours(where: traceback.FrameSummary) -> bool:
    """Whether one of our own checks spoke: its sentence is enough."""
    return Path(where.filename).is_relative_to(Path(agents.__file__).parent)


def _env_lines() -> str:
    """For each id its facts, and below them what it is: fits a narrow window."""
    lines = [f"{'id':<33}{'actions':<14}{'period':<12}horizon"]
    for env_id in periodic_envs.ids():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nobody has asked for this one's data yet
            env = _make(env_id)
        public = env.public
        finite = public.n_actions is not None
        actions = f"Discrete({public.n_actions})" if finite else f"Box({public.dim})"
        periods = ", ".join(f"{period:.4g}" for period in public.periods) or "hidden"
        lines.append(f"{env_id:<33}{actions:<14}{periods:<12}{env.horizon}")
        lines.append("    " + (type(env.setup.world).__doc__ or "").strip().splitlines()[0])
    return "\n".join(lines)


def _make(env: str) -> PeriodicBanditEnv:
    try:
        return WorldSpec.parse(env).make()
    except UnknownWorldError as error:
        raise CommandError(str(error)) from error


def _say_origin(world: PeriodicBanditEnv) -> None:
    origin = world.setup.origin
    if origin is not None:
        say(f"Data: {origin.source}, fingerprint {origin.fingerprint[:12]}")
        for note in origin.notes:
            say(f"  {note}")
