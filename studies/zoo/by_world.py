"""One sweep of agents whose settings depend on the world, under one name in all worlds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from agents.base import Problem
from evaluation.play import problem_of
from evaluation.protocol import Protocol
from evaluation.results import UNIFORM
from evaluation.store import StoredRun
from studies.lab import Lab
from studies.zoo.bench import Bench

Problems = Mapping[str, Sequence[Problem]]
"""For each world what agents are told in each of its runs."""
Names = Mapping[str, Mapping[str, str]]
"""For each name what it stands for in each world, in the command line's notation."""


def problems_of(protocol: Protocol, lab: Lab[Any]) -> dict[str, list[Problem]]:
    """What agents are told in every run of a protocol."""
    lab.uses(worlds=(entry.spec.env_id for entry in protocol.envs))
    found: dict[str, list[Problem]] = {}
    for entry in protocol.envs:
        env = protocol.world(entry).make()
        for seed in protocol.seeds_of(entry):
            _, info = env.reset(seed=seed)
            found.setdefault(entry.label, []).append(problem_of(env, info))
    return found


def everywhere(agents: Sequence[str], worlds: Sequence[str]) -> dict[str, Mapping[str, str]]:
    """Agents that are the same in all worlds, under their own names."""
    return {agent: dict.fromkeys(worlds, agent) for agent in agents}


def sweep_by_world(
    protocol: Protocol, lab: Lab[Any], names: Names
) -> tuple[Bench, list[StoredRun]]:
    """Run what is missing; what came of it under the names, and the runs that failed.

    Args:
        protocol: Worlds, seeds and horizon; its agents do not matter.
        lab: Where it is run.
        names: What is run.
    """
    worlds_of: dict[str, list[str]] = {}
    for by_world in names.values():
        for world, agent in by_world.items():
            worlds = worlds_of.setdefault(agent, [])
            if world not in worlds:
                worlds.append(world)
    entries = [{"name": a, "label": a, "envs": worlds} for a, worlds in worlds_of.items()]
    results = lab.sweep(protocol.restricted(agents=entries))
    bench = Bench.of(results)
    shares = {world: _named(frame, world, names) for world, frame in bench.shares.items()}
    return Bench(shares, bench.ms_per_step), list(results.failures)


def _named(frame: pd.DataFrame, world: str, names: Names) -> pd.DataFrame:
    """The columns of a world under their names."""
    there = {n: by_world[world] for n, by_world in names.items() if by_world.get(world) in frame}
    columns = {name: frame[agent] for name, agent in there.items()}
    return pd.DataFrame({**columns, UNIFORM: frame[UNIFORM]})
