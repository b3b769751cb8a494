"""Madrid: the windows of 2018 that judge, and those of 2016 and 2017 that everything was set on."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np

from agents.auto import structures
from agents.registry import AgentSpec
from evaluation.protocol.entries import WorldSpec
from evaluation.protocol.protocol import Protocol
from evaluation.running.play import play
from evaluation.statistics import paired_difference, paired_ratio
from evaluation.studies.flagship import AUTO, PRETRAINED, FlagshipLab, Rows, numbers
from evaluation.studies.madrid.prior import learn
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.worlds.replay import EXAMPLE

MADRID = "PeriodicGP-Madrid-v0"
WITHOUT = ["transform=identity", "season=false", "persistence=false", "shared=false"]
WITHOUT += ["reward_level=false", "expert=false", "refit=false", "beta=1", "beta=paper"]
ABLATED = (f"{AUTO}, pretrained", f"{AUTO}, pretrained, expert=false")
DAYS_BETWEEN_WINDOWS = 5
"""Of development windows of 2016 and 2017; they overlap by half."""
DRAWS = 2000
"""How often twelve of them are drawn, to see how much as many windows say."""
SHARES = (0.35, 0.2, 0.5, 0.75)
"""Shares of a season that may be assumed beforehand; the one that was chosen first."""


def madrid_2018(lab: FlagshipLab) -> Rows:
    """The twelve windows of 2018, through the protocol."""
    protocol = Protocol.load("madrid-2018")
    agents: list[Any] = [e.label for e in protocol.agents if e.track == "online"]
    agents.append({"name": PRETRAINED, "label": PRETRAINED, "track": "pretrained"})
    rows = []
    for goal in ("max", "min"):
        envs = [
            {"id": e.spec.env_id, "label": e.label, "arguments": e.spec.arguments, "group": e.group}
            for e in protocol.envs
            if e.label.endswith(goal)
        ]
        found = lab.run(f"madrid-2018-{goal}", envs=envs, agents=agents).totals
        track = found.groupby("agent")["track"].first()
        total = found.pivot(index="env", columns="agent", values="regret")
        for name, regret in total.items():
            ratio = paired_ratio(regret.to_numpy(), total["best-fixed"].to_numpy())
            row = {"goal": goal, "agent": name, "track": track[name]}
            row |= {"regret": float(regret.sum()), "static": numbers(ratio)}
            rows.append(row | {"gp": float(regret.sum() / total["gp-ucb"].sum())})
    return rows


def development_windows() -> list[str]:
    """First days of the development windows that have enough measurements."""
    first, last = datetime.date(2016, 1, 3), datetime.date(2017, 12, 22)
    days = range(0, (last - first).days + 1, DAYS_BETWEEN_WINDOWS)
    return [day for n in days if _measured(day := str(first + datetime.timedelta(n)))]


def _measured(start: str) -> bool:
    try:
        WorldSpec(MADRID, {"start": start}).make()
    except (DataError, ValueError):
        return False
    return True


def ablation(lab: FlagshipLab) -> Rows:
    """What each part brings on the development windows, paired by window."""
    starts = development_windows()
    names = [AUTO, *(f"{AUTO}:{part}" for part in WITHOUT), "gp-ucb", "periodic-gp-ucb", *ABLATED]
    static, total = _development_regret(starts, names, lab.size.store.parent)
    rows = []
    for name in names:
        gap = paired_difference(total[name], total[ABLATED[0] if name in ABLATED else AUTO])
        share = float(total[name].sum() / static.sum())
        rows.append({"agent": name, "share": share, "gap": numbers(gap)})
    rng, few = np.random.default_rng(0), []
    for _ in range(DRAWS):
        twelve = rng.choice(len(starts), 12, replace=False)
        few.append(total[AUTO][twelve].sum() / static[twelve].sum())
    about: dict[str, Any] = {"windows": len(starts), "static": float(static.mean())}
    return [about | {"twelve": np.quantile(few, (0.05, 0.95)).tolist()}, *rows]


def _development_regret(
    starts: list[str], names: list[str], folder: Path
) -> tuple[Array, dict[str, Array]]:
    """Regret of the best station in hindsight, and of all agents, on each window.

    What is pretrained on one year is judged on the other.
    """
    priors = {year: folder / f"prior-{year}.json" for year in (2016, 2017)}
    for year, path in priors.items():
        path.write_text(json.dumps(learn([year])))
    static, total = np.zeros(len(starts)), {name: np.zeros(len(starts)) for name in names}
    for i, start in enumerate(starts):
        env = WorldSpec(MADRID, {"start": start}).make()
        static[i] = static_regret(env)
        for name in names:
            spec = AgentSpec.parse(name.partition(", ")[0])
            if name in ABLATED:
                spec.settings["prior"] = str(priors[4033 - int(start[:4])])
                spec.settings["expert"] = name == ABLATED[0]
            total[name][i] = play(env, spec, 0).regret.sum()
    return static, total


def static_regret(env: Any) -> float:
    """Regret of the best station in hindsight."""
    env.reset(seed=0)
    first, process = env.public.first_step, env.episode.process
    arms, steps = range(env.public.n_actions), range(first, first + env.horizon)
    values = np.array([[float(process.mean(arm, t)) for arm in arms] for t in steps])
    return float(values.max(1).sum() - values.sum(0).max())


def share(lab: FlagshipLab) -> Rows:
    """What is best assumed of a season beforehand, on data and seeds that judge nothing."""
    demand = {"data": str(EXAMPLE), "period": 24}
    data: dict[str, list[tuple[WorldSpec, int]]] = {
        "Madrid 2016-2017": [
            (WorldSpec(MADRID, {"start": day}), 0) for day in development_windows()
        ],
        "example of demand": [(WorldSpec("PeriodicGP-Replay-v0", demand), s) for s in range(8)],
        "RideShare": [(WorldSpec("PeriodicGP-RideShare-v0"), s) for s in range(1000, 1064)],
        "MadridSim": [(WorldSpec("PeriodicGP-MadridSim-v0"), s) for s in range(1000, 1048)],
    }
    rows = []
    for name, runs in data.items():
        worlds = [(spec.make(), seed) for spec, seed in runs]
        total = {beforehand: _regret_with_share(beforehand, worlds) for beforehand in SHARES}
        for beforehand, regret in total.items():
            row = {"data": name, "runs": len(runs), "share": beforehand}
            ratio = numbers(paired_ratio(regret, total[SHARES[0]]))
            rows.append(row | {"regret": float(regret.mean()), "ratio": ratio})
    return rows


def _regret_with_share(beforehand: float, worlds: list[tuple[Any, int]]) -> Array:
    """Regret of the agent on each world and seed if it assumed this share."""
    chosen = structures.SEASON_SHARE
    assert chosen == SHARES[0]
    structures.SEASON_SHARE = beforehand
    try:
        spec = AgentSpec.parse(AUTO)
        return np.array([play(env, spec, seed).regret.sum() for env, seed in worlds])
    finally:
        structures.SEASON_SHARE = chosen
