"""Command ``play``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from threadpoolctl import threadpool_limits

from agents import AgentSpec, UnknownAgentError
from evaluation.cli.lists import WORLD_HELP, make_world, say_origin
from evaluation.cli.shared import CommandError, check_picture, save_picture
from evaluation.console import Reporter, say
from evaluation.entries import TAKES, accepts, taken_by
from evaluation.limits import reason_of
from evaluation.pictures import Film, run_figure
from evaluation.play import play
from evaluation.references import reference_rewards
from evaluation.specs import WorldSpec

FILM = ".gif"


def play_one(
    env: Annotated[str, typer.Argument(help=WORLD_HELP)],
    agent: Annotated[
        str,
        typer.Argument(
            help="Agent: a name, file.py:Class or module:Class, optionally followed by "
            ":setting=value,..."
        ),
    ],
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the world, its noise and the agent.")
    ] = 0,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="File for a picture of choices and regret, or for an animation if its name ends "
            "in .gif."
        ),
    ] = None,
) -> None:
    """Run one agent for one episode."""
    world = make_world(env)
    film = None
    if picture is not None:
        check_picture(picture, also=(FILM,))
        film = Film(world) if picture.suffix.lower() == FILM else None
        world.render_mode = "rgb_array" if film else None

    spec = AgentSpec.parse(agent)
    if not accepts(spec.name, world.setup):
        raise CommandError(
            "unsupported-environment",
            f"{agent} supports only {TAKES[str(taken_by(spec.name))]}, but the action space of "
            f"{env} is {world.action_space}",
        )
    try:
        # One thread, as in sweeps: additional threads slow down operations on small matrices.
        with threadpool_limits(1), Reporter(f"Playing {spec.name} in {env}"):
            on_step = film.step if film else None
            run = play(WorldSpec.parse(env).as_played(world), spec, seed, on_step=on_step)
    except UnknownAgentError:
        raise
    except Exception as error:  # report errors of all types with their location
        raise CommandError(
            getattr(error, "code", "failed-run"), f"{agent}: {reason_of(error)}"
        ) from error
    engine = getattr(getattr(run.agent, "posterior", None), "name", None)
    say(
        f"{agent} in {env}, seed {seed}: regret {run.regret.sum():,.2f} over {len(run.t)} steps, "
        f"{1e3 * run.agent_seconds.mean():.2f} ms per step"
        + (f", engine {engine}" if engine else "")
    )
    # The agent's rewards include noise; the rewards of references are means.
    for name, rewards in {"total reward": run.reward, **reference_rewards(world)}.items():
        total = float(rewards.sum())
        say(f"  {name:<14}  {total:>14,.2f}  {total / len(rewards):>12,.4g} a step")
    say_origin(world)
    if picture is not None:
        if film:
            film.write(picture)
        else:
            save_picture(run_figure(f"{agent} in {env}, seed {seed}", world, run), picture)
        say(f"Wrote a picture of the run to {picture}")
