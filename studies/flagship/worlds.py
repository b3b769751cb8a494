"""The core worlds, with the season's length known and unknown, and what a step costs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from agents.registry import AgentSpec
from evaluation.play import play
from evaluation.protocol import Protocol
from evaluation.specs import WorldSpec
from evaluation.statistics import paired_ratio
from periodic_envs.worlds.replay import EXAMPLE
from studies.flagship import AUTO, KNOWN, UNKNOWN, FlagshipLab, Rows, numbers
from studies.lab import regret_by_run

QUICK = "periodic-gp-ucb:time_length_scale=1"
CONTEXT = f"{QUICK},context_length_scale=1"
HIDDEN = "PeriodicGP-HiddenPeriod-v0"
KNOWING = (
    "periodic-gp-ucb",
    QUICK,
    "switching-gp-ucb",
    "seasons-gp-ucb",
    "gp-ucb",
    "tv-gp-ucb",
    "gp-thompson",
    "fixed",
)
"""Agents of which one knows the truth about each of the core worlds."""
SEASONAL = [
    "Synthetic",
    "SyntheticDiscrete",
    "HiddenPeriod",
    "Stationary",
    "RideShare",
    "MadridSim",
]
TIMED = ["Synthetic", "SyntheticDiscrete", "RideShare", "MultiSeason", "MadridSim"]
TIMED += [f"HiddenPeriod{UNKNOWN}", f"MadridSim{UNKNOWN}"]


def core(lab: FlagshipLab) -> Rows:
    """Against the best agent of the zoo that knows the truth, on every core id."""
    seeds, envs = lab.size.seeds, _core_worlds(lab.size.worlds)
    labels = [env["label"] for env in envs]
    agents: list[Any] = [*KNOWING, AUTO]
    contextual = [label for label in labels if "Contextual" in label]
    if contextual:
        agents.append({"name": CONTEXT, "label": CONTEXT, "envs": contextual})
    regret = regret_by_run(lab.run("core", envs=envs, agents=agents, seeds=seeds))
    others = {label: label for label in labels}  # where the other agents are judged
    for env in envs:
        if env["label"] == HIDDEN + KNOWN:
            hidden = {**env["arguments"], "reveal_period": False}
            env = env | {"label": HIDDEN + UNKNOWN, "arguments": hidden}
            more = lab.run("core-unknown", envs=[env], agents=[AUTO], seeds=seeds)
            regret = pd.concat((regret, regret_by_run(more))).sort_index()
            others[env["label"]] = HIDDEN + KNOWN
    return [_core_row(regret, *places) | {"seeds": seeds} for places in others.items()]


def _core_worlds(wanted: list[str] | None) -> list[dict[str, Any]]:
    standard = Protocol.load("standard")
    worlds = [
        {
            "id": e.spec.env_id,
            "label": HIDDEN + KNOWN if e.spec.env_id == HIDDEN else e.label,
            "arguments": standard.arguments(e),
        }
        for e in standard.envs
    ]
    return [world for world in worlds if not wanted or world["label"] in wanted]


def _core_row(regret: pd.Series, world: str, other_world: str) -> dict[str, Any]:
    judged = regret[other_world].index.unique("agent")
    there = [agent for agent in (*KNOWING, CONTEXT) if agent in judged]
    best = min(there, key=lambda agent: regret[other_world, agent].mean())
    mine, theirs = regret[world, AUTO].to_numpy(), regret[other_world, best].to_numpy()
    return {
        "world": world.removeprefix("PeriodicGP-"),
        "auto": float(mine.mean()),
        "best": best,
        "best_regret": float(theirs.mean()),
        "ratio": numbers(paired_ratio(mine, theirs)),
    }


def merged(rows: Rows, new: Rows) -> Rows:
    """New rows in the place of old ones, whose ratio stays on record."""
    by_world = {row["world"]: row for row in new}
    for row in rows:
        if row["world"] in by_world and row["seeds"] != by_world[row["world"]]["seeds"]:
            by_world[row["world"]]["before"] = {"seeds": row["seeds"], "ratio": row["ratio"]}
    return list(({row["world"]: row for row in rows} | by_world).values())


def unknown_period(lab: FlagshipLab) -> Rows:
    """Nobody knows the season's length, against the same agents that know it."""
    seeds = lab.size.seeds
    given: dict[str, dict[str, Any]] = {
        f"PeriodicGP-{world}-v0": {"horizon": 200} for world in SEASONAL
    }
    given["PeriodicGP-Replay-v0"] = {"data": str(EXAMPLE), "period": 24}
    envs = [
        {"id": id, "label": id + label, "arguments": {**arguments, "reveal_period": known}}
        for id, arguments in given.items()
        for label, known in ((KNOWN, True), (UNKNOWN, False))
    ]
    regret = regret_by_run(lab.run("unknown-period", envs=envs, agents=[AUTO, QUICK], seeds=seeds))
    rows = []
    for id in given:
        for agent in (AUTO, QUICK):
            known, unknown = (regret[id + label, agent].to_numpy() for label in (KNOWN, UNKNOWN))
            ratio = numbers(paired_ratio(unknown, known))
            row = {"world": id.removeprefix("PeriodicGP-"), "seeds": seeds, "agent": agent}
            row |= {"known": float(known.mean()), "unknown": float(unknown.mean())}
            rows.append(row | {"ratio": ratio if len(known) > 1 else ratio[:1]})
    return rows


def cost(lab: FlagshipLab) -> Rows:
    """CPU time per step, all of it (construction and refits), against periodic-gp-ucb."""
    rows = []
    for world in TIMED:
        name, _, hidden = world.partition(", ")
        arguments = {"horizon": 192, "reveal_period": not hidden}
        spec = WorldSpec(f"PeriodicGP-{name}-v0", arguments)
        lab.uses(agents=["periodic-gp-ucb", AUTO], worlds=[spec.env_id])
        env = spec.make()
        times: dict[str, list[float]] = {"periodic-gp-ucb": [], AUTO: []}
        for seed in range(6):
            for agent, spent in times.items():
                start = time.process_time()
                steps = len(play(env, AgentSpec.parse(agent), seed).reward)
                spent.append((time.process_time() - start) / steps)
        ours, theirs = (1e3 * float(np.mean(times[n][1:])) for n in (AUTO, "periodic-gp-ucb"))
        rows.append({"world": world, "auto": ours, "periodic": theirs, "ratio": ours / theirs})
    return rows
