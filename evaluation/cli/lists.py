"""Commands ``envs``, ``agents`` and ``protocols``. Slow modules are imported only on demand."""

from __future__ import annotations

import inspect
import warnings
from importlib import import_module, resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.registry import AgentSpec, UnknownAgentError, describe, find_class, names, settings_of
from evaluation import protocol as protocols
from evaluation.cli.shared import CommandError, check_picture, save_picture
from evaluation.console import say
from evaluation.protocol import Protocol
from evaluation.specs import MissingPackageError, WorldSpec, look_for

if TYPE_CHECKING:
    from periodic_envs.env import PeriodicBanditEnv

WORLD_HELP = (
    "Id of an environment, optionally followed by :argument=value,... (use quotes if a value is a "
    "list)."
)


def list_envs(
    env: Annotated[
        str | None, typer.Argument(help=f"{WORLD_HELP} Without an id, all environments are listed.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="File for a picture of the mean rewards of one world.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the world to draw.")] = 0,
) -> None:
    """List the environments, describe one, or draw one."""
    if env is None:
        if picture is not None:
            raise CommandError(
                "missing-argument",
                "--picture requires the id of an environment: periodic-gp envs ID --picture FILE",
            )
        _print_envs()
        return
    world = make_world(env)
    if picture is None:
        say(inspect.getdoc(type(world.setup.world)) or "")
        return
    from periodic_envs.rendering import world_figure

    check_picture(picture)
    world.reset(seed=seed)
    assert world.episode is not None
    save_picture(world_figure(f"{env}, seed {seed}", world.setup, world.episode), picture)
    say(f"Wrote a picture of {env}, seed {seed}, to {picture}")
    say_origin(world)


def _print_envs() -> None:
    """Print the properties of each environment, with its description on the next line."""
    import gymnasium as gym

    import periodic_envs

    say(f"{'id':<33}{'actions':<14}{'period':<12}horizon")
    for env_id in periodic_envs.ids():
        module, _, name = gym.spec(env_id).kwargs["world"].partition(":")
        world = getattr(import_module(module), name)
        facts = world.listed_as or _facts(env_id)
        say(f"{env_id:<33}" + "{:<14}{:<12}{}".format(*facts))
        say("    " + (world.__doc__ or "").strip().splitlines()[0])


def _facts(env_id: str) -> tuple[str, str, str]:
    """Return the actions, the periods and the horizon of an environment as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # for example about missing data
        env = make_world(env_id)
    public = env.public
    finite = public.n_actions is not None
    actions = f"Discrete({public.n_actions})" if finite else f"Box({public.dim})"
    periods = ", ".join(f"{period:.4g}" for period in public.periods) or "hidden"
    return actions, periods, str(env.horizon)


def make_world(env: str) -> PeriodicBanditEnv:
    """Return the environment that a command-line argument specifies.

    Warnings about filled gaps are suppressed, because ``say_origin`` prints this information.
    """
    from periodic_envs.data.errors import FilledGapsWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FilledGapsWarning)
        spec = WorldSpec.parse(env)
        look_for(spec)
        return spec.make()


def say_origin(world: PeriodicBanditEnv) -> None:
    """Print the source of a world's data, with its fingerprint and notes."""
    origin = world.setup.origin
    if origin is not None:
        say(f"Data: {origin.source}, fingerprint {origin.fingerprint[:12]}")
        for note in origin.notes:
            say(f"  {note}")


def list_agents(
    agent: Annotated[
        str | None,
        typer.Argument(help="Name of an agent to describe. Without a name, all agents are listed."),
    ] = None,
) -> None:
    """List the agents, or describe one agent and its settings."""
    if agent is None:
        for name in names():
            try:
                say(f"{name:<26}{describe(name)}")
            except UnknownAgentError as error:
                say(f"{name:<26}broken: {error}")
        return
    cls = find_class(AgentSpec.parse(agent).name)
    say(inspect.getdoc(cls) or "")
    if settings := settings_of(cls):
        say("\nSettings and their defaults:")
        for name, default in settings.items():
            say(f"  {name} = {default}")
    if algorithm := getattr(cls, "algorithm", None):
        say(f"  Any other argument of {algorithm.replace(':', '.')} is also a setting.")


def list_protocols(
    name: Annotated[
        str | None, typer.Argument(help="Name of a protocol, or a .toml file, to show.")
    ] = None,
) -> None:
    """List the protocols, or show one protocol as a TOML file to copy and change."""
    if name is not None:
        chosen = Protocol.load(name)
        own, packaged = Path(name), resources.files("evaluation") / "protocols" / f"{name}.toml"
        text = (own if own.is_file() else packaged).read_text(encoding="utf-8").rstrip()
        hashes = f"hash {chosen.hash[:12]}, hash without agents {chosen.challenge[:12]}"
        say(f"# {chosen.name}, {hashes}\n{text}")
        return
    for known in protocols.names():
        try:
            listed = Protocol.load(known)
        except MissingPackageError as error:  # the other protocols still work
            say(
                f"{known:<16}not available, because a package is missing; to install it: "
                f"{error.install}"
            )
            continue
        pairs = sum(a.takes_part(e.label) for e in listed.envs for a in listed.agents)
        say(
            f"{known:<16}{len(listed.envs)} envs, {len(listed.agents)} agents, "
            f"{len(listed.seeds)} seeds: {pairs * len(listed.seeds):,} runs"
        )
        say(f"    {listed.description}")
    say("\nA sweep also computes the references: one additional run per world and seed.")
