"""Commands that list: ``envs``, ``agents``, ``protocols``. Nothing slow is imported to list."""

from __future__ import annotations

import inspect
import json
import textwrap
import warnings
from importlib import import_module, resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from agents.registry import AgentSpec, UnknownAgentError, describe, find_class, names
from evaluation import protocol as protocols
from evaluation.cli.docstrings import described_settings, named_settings, plain
from evaluation.cli.shared import CommandError, console, save_picture, say
from evaluation.own_worlds import look_for
from evaluation.protocol import Protocol
from evaluation.specs import MissingPackageError, UnknownWorldError, WorldSpec

if TYPE_CHECKING:
    from periodic_envs.env import PeriodicBanditEnv

MAX_WIDTH = 100
"""Signs in a line of prose, on a screen that has room for more."""
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
    world = make_world(env)
    if picture is None:
        text = inspect.cleandoc(type(world.setup.world).__doc__ or "")
        say(text)
        return
    from periodic_envs.figures import world_figure

    world.reset(seed=seed)
    assert world.episode is not None
    save_picture(world_figure(f"{env}, seed {seed}", world.setup, world.episode), picture)
    say(f"Drew {env}, seed {seed}, into {picture}")
    say_origin(world)


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
    say(plain((inspect.getdoc(found) or "").partition("\nArgs:")[0].rstrip()))
    settings = named_settings(found)
    if settings:
        say("\nSettings and their defaults:")
    says = described_settings(found) if inspect.isclass(found) else {}
    for name, default in settings.items():
        say(f"  {name} = {default}")
        if name in says:
            width = min(console.width, MAX_WIDTH)
            indent = " " * 6
            text = plain(says[name])
            say(textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent))
    if algorithm := getattr(found, "algorithm", None):
        say(f"  Any other argument of {algorithm.replace(':', '.')} is a setting, too.")


def list_protocols(
    name: Annotated[
        str | None, typer.Argument(help="The name of a protocol or a .toml file, to see all of it.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one with every agent and seed, as JSON for machines."),
    ] = False,
) -> None:
    """List the protocols, or show one as a TOML file to copy and change."""
    if name is not None:
        found = Protocol.load(name)
        if as_json:
            print(json.dumps({**found.to_dict(), "hash": found.hash}, indent=1))
        else:
            hashes = f"hash {found.hash[:12]}, without its agents {found.challenge[:12]}"
            say(f"# {found.name}, {hashes}\n{_written(name)}")
        return
    for known in protocols.names():
        try:
            found = Protocol.load(known)
        except MissingPackageError as error:  # the others can be run all the same
            say(f"{known:<16}not installed: {error.install}")
            continue
        pairs = sum(a.takes_part(e.label) for e in found.envs for a in found.agents)
        say(
            f"{known:<16}{len(found.envs)} envs, {len(found.agents)} agents, "
            f"{len(found.seeds)} seeds: {pairs * len(found.seeds):,} runs"
        )
        say(f"    {found.description}")
    say("\nA sweep also computes the references, which counts as one run per world and seed.")


def _written(name: str) -> str:
    """The file of a protocol, one that comes with the package or a user's own."""
    own = Path(name)
    file = resources.files("evaluation") / "protocols" / f"{name}.toml"
    return (own if own.is_file() else file).read_text(encoding="utf-8").rstrip()


def _env_lines() -> str:
    """For each id its facts, and below them what it is: fits a narrow window."""
    import gymnasium as gym

    import periodic_envs

    lines = [f"{'id':<33}{'actions':<14}{'period':<12}horizon"]
    for env_id in periodic_envs.ids():
        module, _, name = gym.spec(env_id).kwargs["world"].partition(":")
        world = getattr(import_module(module), name)
        facts = world.listed_as or _facts(env_id)
        lines.append(f"{env_id:<33}" + "{:<14}{:<12}{}".format(*facts))
        lines.append("    " + (world.__doc__ or "").strip().splitlines()[0])
    return "\n".join(lines)


def _facts(env_id: str) -> tuple[str, str, str]:
    """Actions, period and horizon of an environment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nobody has asked for this one's data yet
        env = make_world(env_id)
    public = env.public
    finite = public.n_actions is not None
    actions = f"Discrete({public.n_actions})" if finite else f"Box({public.dim})"
    periods = ", ".join(f"{period:.4g}" for period in public.periods) or "hidden"
    return actions, periods, str(env.horizon)


def make_world(env: str) -> PeriodicBanditEnv:
    """An environment by what the command line says of it.

    What was done to its data ``say_origin`` says: no warning says it first.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*gaps are filled by missing=")
            spec = WorldSpec.parse(env)
            look_for(spec)
            return spec.make()
    except UnknownWorldError as error:
        raise CommandError(str(error)) from error


def say_origin(world: PeriodicBanditEnv) -> None:
    """Say where the data of a world come from."""
    origin = world.setup.origin
    if origin is not None:
        say(f"Data: {origin.source}, fingerprint {origin.fingerprint[:12]}")
        for note in origin.notes:
            say(f"  {note}")
