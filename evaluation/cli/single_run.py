"""The command ``play``."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from gymnasium.error import InvalidAction
from gymnasium.spaces import Box
from threadpoolctl import threadpool_limits

import agents
from agents import AgentSpec, UnknownAgentError
from evaluation.cli.lists import WORLD_HELP, make_world, say_origin
from evaluation.cli.shared import CommandError, check_picture, save_picture, say, working
from evaluation.entries import ARMS, BOX, check_takes
from evaluation.pictures import Film, run_figure
from evaluation.play import play
from evaluation.references import reference_rewards
from evaluation.specs import WorldSpec
from periodic_envs.arrays import Array
from periodic_envs.env import PeriodicBanditEnv

FILM = ".gif"
REWARDS = {
    "total reward": "total reward",
    "best-fixed": "best fixed action, in hindsight",
    "best-per-phase": "best action of each phase, in hindsight",
    "oracle": "best action of each step",
    "uniform-random": "chance",
}


def play_one(
    env: Annotated[str, typer.Argument(help=WORLD_HELP)],
    agent: Annotated[
        str,
        typer.Argument(help="An agent: name, name:setting=value, module:Class or file.py:Class."),
    ],
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the world, its noise and the agent.")
    ] = 0,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw choices and regret into this file; as .gif, the run as it goes."),
    ] = None,
) -> None:
    """Run one agent through one episode."""
    world = make_world(env)
    film = None
    if picture is not None:
        check_picture(picture, also=(FILM,))
        film = Film(world) if picture.suffix.lower() == FILM else None
        world.render_mode = "rgb_array" if film else None

    try:
        spec = AgentSpec.parse(agent)
        check_takes(spec, BOX if isinstance(world.action_space, Box) else ARMS, env)
        # One thread, as in sweeps: on small matrices more of them get in each other's way.
        with threadpool_limits(1), working(f"Playing {spec.name} in {env}"):
            on_step = film.step if film else None
            run = play(WorldSpec.parse(env).as_played(world), spec, seed, on_step=on_step)
    except UnknownAgentError:
        raise
    except Exception as error:  # an agent can fail in any way; its author needs the place
        raise CommandError(f"{agent}: {error}{_place(error)}") from error
    milliseconds = 1e3 * run.agent_seconds.mean()
    engine = getattr(getattr(run.agent, "posterior", None), "name", None)
    total = f"regret {run.regret.sum():,.2f} over {len(run.t)} steps"
    say(
        f"{agent} in {env}, seed {seed}: {total}, {milliseconds:.2f} ms per step"
        + (f", engine {engine}" if engine else "")
    )
    for line in reward_lines(world, run.reward):
        say(line)
    say_origin(world)
    if picture is not None:
        if film:
            film.write(picture)
        else:
            save_picture(run_figure(f"{agent} in {env}, seed {seed}", world, run), picture)
        say(f"Drew the run into {picture}")


def reward_lines(world: PeriodicBanditEnv, rewards: Array) -> Iterator[str]:
    """Yield the reward of the episode that has just been played, and those of references.

    The agent's reward has noise; those of references are means.
    """
    found = {"total reward": rewards, **reference_rewards(world)}
    width = max(map(len, REWARDS.values()))
    for name, label in REWARDS.items():
        total = float(found[name].sum())
        yield f"  {label:<{width}}  {total:>14,.2f}  {total / len(rewards):>12,.4g} a step"


def _place(error: Exception) -> str:
    """Return the place of an error, unless a check of this package has raised it."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    own = Path(where.filename).is_relative_to(Path(agents.__file__).parent)
    if isinstance(error, InvalidAction) or (own and isinstance(error, ValueError)):
        return ""
    return f" ({type(error).__name__} in {where.filename}, line {where.lineno})"
