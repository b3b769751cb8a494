"""auto-gp-ucb, judged: the core worlds, Madrid, ablations, cost and pictures, and the page of it.

    python benchmarks/auto_gp.py [core] [untold] [ablation] [share] [madrid-2018] [cost] [pictures]
                                 [--docs docs] [--store auto-gp.sqlite] [--workers 2]

Without names all parts are run, for half an hour or so. Each writes its figures into
DOCS/auto-gp.json, from which the page DOCS/auto-gp.md is made anew. Finished runs are kept in the
store and not run again. Madrid needs the measurements of 2016 to 2018 (``periodic-gp data list``).
Every knob was set on 2016 and 2017, on seeds from 100 on and on the example of demand;
``madrid-2018``, ``core`` and the simulated worlds of ``untold`` (seeds from 0 on) only judge.
"""

import argparse
import datetime
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from auto_gp_page import pictures, write_page
from madrid_prior import learn

import evaluation
from agents.auto import structures
from agents.registry import AgentSpec
from evaluation.protocol.entries import Limits, agent_entry, env_entry, parse_seeds
from evaluation.protocol.protocol import Protocol
from evaluation.protocol.world_spec import WorldSpec
from evaluation.running.play import play
from evaluation.statistics import paired_difference, paired_ratio
from periodic_envs.data.errors import DataError
from periodic_envs.worlds.replay import EXAMPLE

AUTO, PRETRAINED = "auto-gp-ucb", "auto-gp-ucb:prior=madrid"
CONTEXT = "periodic-gp-ucb:time_length_scale=1,context_length_scale=1"
QUICK = "periodic-gp-ucb:time_length_scale=1"
TELLING = "PeriodicGP-HiddenPeriod-v0, told"
UNTOLD = "PeriodicGP-HiddenPeriod-v0, not told"
SEASONAL = (
    "Synthetic",
    "SyntheticDiscrete",
    "HiddenPeriod",
    "Stationary",
    "RideShare",
    "MadridSim",
)
TOLD = (
    "periodic-gp-ucb",
    QUICK,
    "switching-gp-ucb",
    "seasons-gp-ucb",
    "gp-ucb",
    "tv-gp-ucb",
    "gp-thompson",
    "fixed",
)
"""Agents among which the best is told the truth about each of the core worlds."""
WITHOUT = ("transform=identity", "season=false", "persistence=false", "shared=false")
WITHOUT += ("reward_level=false", "expert=false", "refit=false", "beta=1", "beta=paper")
EVERY = 5
"""Days from one development window of 2016 and 2017 to the next; they overlap by half."""
DRAWS = 2000
"""Of twelve of them, to see how far as many windows tell."""
SHARES = (0.35, 0.2, 0.5, 0.75)
"""Of a season beforehand; the one that was chosen first."""


def run(name: str, envs: list[Any], agents: list[Any], seeds: str, options: Any) -> pd.DataFrame:
    """Regret of all agents in all worlds."""
    protocol = Protocol(
        name=name,
        envs=tuple(map(env_entry, envs)),
        agents=tuple(map(agent_entry, agents)),
        seeds=parse_seeds(seeds),
        limits=Limits(seconds=1800.0, memory_mb=4096),
    )
    found = evaluation.run(protocol, store=options.store, workers=options.workers)
    for failed in found.failures:
        raise SystemExit(f"{failed.agent} in {failed.env} failed: {failed.reason}")
    return found.totals


def core(options: Any) -> list[dict[str, Any]]:
    """Against the best agent of the zoo that is told the truth, on every core id."""
    standard = Protocol.load("standard")
    agents: list[Any] = [*TOLD, AUTO]
    contextual = [e.label for e in standard.envs if "Contextual" in e.label]
    agents.append({"name": CONTEXT, "label": CONTEXT, "envs": contextual})
    wanted = [e for e in standard.envs if not options.worlds or e.label in options.worlds]
    envs = [
        {"id": e.spec.env_id, "label": e.label, "arguments": standard.arguments(e)} for e in wanted
    ]
    agents = [a for a in agents if isinstance(a, str) or any(e in a["envs"] for e in labels(envs))]
    regret = run("auto-gp core", envs, agents, options.seeds, options)
    truth = {label: label for label in labels(envs)}  # where the others are judged
    for env in envs:
        if env["label"] == TELLING:
            env = env | {"label": UNTOLD, "arguments": env["arguments"] | {"reveal_period": False}}
            more = run("auto-gp core, not told", [env], [AUTO], options.seeds, options)
            regret, truth[UNTOLD] = pd.concat((regret, more)), TELLING
    regret = regret.set_index(["env", "agent", "seed"])["regret"].sort_index()
    rows = []
    for label, told in truth.items():
        mine = regret[label, AUTO]
        there = [a for a in (*TOLD, CONTEXT) if (told, a) in regret.index.droplevel(2)]
        best = min(there, key=lambda agent: regret[told, agent].mean())
        theirs = regret[told, best]
        ratio = paired_ratio(mine.to_numpy(), theirs.to_numpy())
        rows.append(
            {
                "world": label.removeprefix("PeriodicGP-"),
                "seeds": options.seeds,
                "auto": float(mine.mean()),
                "best": best,
                "told": float(theirs.mean()),
                "ratio": [ratio.estimate, ratio.low, ratio.high],
            }
        )
        print(rows[-1], flush=True)
    return rows


def merged(rows: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """New rows in the place of old ones, whose ratio stays on record."""
    by_world = {row["world"]: row for row in new}
    for row in rows:
        if row["world"] in by_world and row["seeds"] != by_world[row["world"]]["seeds"]:
            by_world[row["world"]]["before"] = {"seeds": row["seeds"], "ratio": row["ratio"]}
    old = {row["world"]: row for row in rows}
    return list((old | by_world).values())


def untold(options: Any) -> list[dict[str, Any]]:
    """The season's length is told to nobody, against the same agents that are told."""
    ids = [f"PeriodicGP-{world}-v0" for world in SEASONAL]
    given: dict[str, dict[str, Any]] = {id: {"horizon": 200} for id in ids}
    given["PeriodicGP-Replay-v0"] = {"data": str(EXAMPLE), "period": 24}
    envs = [
        {"id": id, "label": f"{id} {told}", "arguments": {**arguments, "reveal_period": told}}
        for id, arguments in given.items()
        for told in (True, False)
    ]
    regret = run("auto-gp untold", envs, [AUTO, QUICK], options.seeds, options)
    regret = regret.set_index(["env", "agent", "seed"])["regret"].sort_index()
    rows = []
    for id in given:
        for agent in (AUTO, QUICK):
            told, not_told = (regret[f"{id} {known}", agent].to_numpy() for known in (True, False))
            ratio = paired_ratio(not_told, told)
            means = {"told": float(told.mean()), "untold": float(not_told.mean())}
            world = {"world": id.removeprefix("PeriodicGP-"), "seeds": options.seeds}
            rows.append(world | {"agent": agent} | means)
            ends = [] if len(told) == 1 else [ratio.low, ratio.high]
            rows[-1]["ratio"] = [ratio.estimate, *ends]
            print(rows[-1], flush=True)
    return rows


def labels(envs: list[dict[str, Any]]) -> list[str]:
    """Of worlds."""
    return [env["label"] for env in envs]


def windows() -> list[str]:
    """First days of the development windows that have enough measurements."""
    first, last = datetime.date(2016, 1, 3), datetime.date(2017, 12, 22)
    days = [str(first + datetime.timedelta(n)) for n in range(0, (last - first).days + 1, EVERY)]
    return [day for day in days if _measured(day)]


def _measured(start: str) -> bool:
    try:
        WorldSpec("PeriodicGP-Madrid-v0", {"start": start}).make()
    except (DataError, ValueError):
        return False
    return True


def ablation(options: Any) -> list[dict[str, Any]]:
    """What each part brings on the development windows, paired by window."""
    priors = {year: options.store.parent / f"prior-{year}.json" for year in (2016, 2017)}
    for year, path in priors.items():
        path.write_text(json.dumps(learn([year])))
    starts, names = windows(), [AUTO, *(f"{AUTO}:{part}" for part in WITHOUT), "gp-ucb"]
    names += ["periodic-gp-ucb", f"{AUTO}, pretrained", f"{AUTO}, pretrained, expert=false"]
    total = {name: np.zeros(len(starts)) for name in [*names, "static"]}
    for i, start in enumerate(starts):
        env = WorldSpec("PeriodicGP-Madrid-v0", {"start": start}).make()
        other = priors[4033 - int(start[:4])]
        total["static"][i] = static_regret(env)
        for name in names:
            spec = AgentSpec.parse(name.partition(", ")[0])
            if "pretrained" in name:
                spec.settings["prior"] = str(other)
                spec.settings["expert"] = "expert=false" not in name
            total[name][i] = play(env, spec, 0).regret.sum()
    rows = []
    for name in names:
        base = f"{AUTO}, pretrained" if "pretrained" in name else AUTO
        gap = paired_difference(total[name], total[base])
        share = float(total[name].sum() / total["static"].sum())
        rows.append({"agent": name, "share": share, "gap": [gap.estimate, gap.low, gap.high]})
        print(rows[-1], flush=True)
    rng, few = np.random.default_rng(0), []
    for _ in range(DRAWS):
        twelve = rng.choice(len(starts), 12, replace=False)
        few.append(total[AUTO][twelve].sum() / total["static"][twelve].sum())
    about = {"windows": len(starts), "static": float(total["static"].mean())}
    return [about | {"twelve": np.quantile(few, (0.05, 0.95)).tolist()}, *rows]


def share(_: Any) -> list[dict[str, Any]]:
    """What is best assumed of a season beforehand, on data and seeds that judge nothing."""
    demand = {"data": str(EXAMPLE), "period": 24}
    data: dict[str, list[tuple[WorldSpec, int]]] = {
        "Madrid 2016-2017": [
            (WorldSpec("PeriodicGP-Madrid-v0", {"start": day}), 0) for day in windows()
        ],
        "example of demand": [(WorldSpec("PeriodicGP-Replay-v0", demand), s) for s in range(8)],
        "RideShare": [(WorldSpec("PeriodicGP-RideShare-v0"), s) for s in range(1000, 1064)],
        "MadridSim": [(WorldSpec("PeriodicGP-MadridSim-v0"), s) for s in range(1000, 1048)],
    }
    chosen, rows = structures.SEASON_SHARE, []
    assert chosen == SHARES[0]
    for name, runs in data.items():
        worlds = [(spec.make(), seed) for spec, seed in runs]
        total = {}
        for beforehand in SHARES:
            structures.SEASON_SHARE = beforehand
            spec = AgentSpec.parse(AUTO)
            total[beforehand] = np.array([play(env, spec, s).regret.sum() for env, s in worlds])
        structures.SEASON_SHARE = chosen
        for beforehand, regret in total.items():
            ratio = paired_ratio(regret, total[chosen])
            rows.append({"data": name, "runs": len(runs), "share": beforehand})
            rows[-1] |= {"regret": float(regret.mean())}
            rows[-1] |= {"ratio": [ratio.estimate, ratio.low, ratio.high]}
            print(rows[-1], flush=True)
    return rows


def static_regret(env: Any) -> float:
    """Regret of the best station in hindsight."""
    env.reset(seed=0)
    first, process = env.public.first_step, env.episode.process
    arms, steps = range(env.public.n_actions), range(first, first + env.horizon)
    values = np.array([[float(process.mean(arm, t)) for arm in arms] for t in steps])
    return float(values.max(1).sum() - values.sum(0).max())


def madrid_2018(options: Any) -> list[dict[str, Any]]:
    """The twelve windows of 2018, through the protocol."""
    protocol = Protocol.load("madrid-2018")
    rows = []
    for goal in ("max", "min"):
        entries = [e for e in protocol.envs if e.label.endswith(goal)]
        envs = [
            {"id": e.spec.env_id, "label": e.label, "arguments": e.spec.arguments, "group": e.group}
            for e in entries
        ]
        agents: list[Any] = [e.label for e in protocol.agents if e.track == "online"]
        agents.append({"name": PRETRAINED, "label": PRETRAINED, "track": "pretrained"})
        found = run(f"auto-gp madrid-2018 {goal}", envs, agents, "0:1", options)
        total = found.pivot(index="env", columns="agent", values="regret")
        for name in total.columns:
            ratio = paired_ratio(total[name].to_numpy(), total["best-fixed"].to_numpy())
            gp = float(total[name].sum() / total["gp-ucb"].sum())
            track = found.loc[found["agent"] == name, "track"].iloc[0]
            rows.append(
                {
                    "goal": goal,
                    "agent": name,
                    "track": track,
                    "regret": float(total[name].sum()),
                    "static": [ratio.estimate, ratio.low, ratio.high],
                    "gp": gp,
                }
            )
            print(rows[-1], flush=True)
    return rows


def cost(_: Any) -> list[dict[str, Any]]:
    """CPU time per step, all of it (construction and refits), against periodic-gp-ucb."""
    worlds = ["Synthetic", "SyntheticDiscrete", "RideShare", "MultiSeason", "MadridSim"]
    worlds += ["HiddenPeriod, not told", "MadridSim, not told"]
    rows = []
    for world in worlds:
        name, _, hidden = world.partition(", ")
        arguments = {"horizon": 192, "reveal_period": not hidden}
        env = WorldSpec(f"PeriodicGP-{name}-v0", arguments).make()
        times: dict[str, list[float]] = {"periodic-gp-ucb": [], AUTO: []}
        for seed in range(6):
            for agent, spent in times.items():
                start = time.process_time()
                run_ = play(env, AgentSpec.parse(agent), seed)
                spent.append((time.process_time() - start) / len(run_.reward))
        ours, theirs = (1e3 * float(np.mean(times[n][1:])) for n in (AUTO, "periodic-gp-ucb"))
        rows.append({"world": world, "auto": ours, "periodic": theirs, "ratio": ours / theirs})
        print(rows[-1], flush=True)
    return rows


PARTS = {
    "core": core,
    "untold": untold,
    "ablation": ablation,
    "share": share,
    "madrid-2018": madrid_2018,
    "cost": cost,
}


def main() -> None:
    """Run the parts that are asked for, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [*PARTS, "pictures"]
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(names)}; all by default")
    parser.add_argument("--docs", type=Path, default=Path(__file__).parents[1] / "docs")
    parser.add_argument("--store", type=Path, default=Path("auto-gp.sqlite"))
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--seeds", default="0:40", help="of core and untold")
    parser.add_argument("--worlds", nargs="*", help="of core, the others keep their rows")
    options = parser.parse_args()
    for name in set(options.parts) - set(names):
        parser.error(f"there is no part {name!r}; choose from {', '.join(names)}")
    options.docs.mkdir(parents=True, exist_ok=True)
    kept = options.docs / "auto-gp.json"
    figures = json.loads(kept.read_text()) if kept.is_file() else {}
    for name in options.parts or names:
        if name == "pictures":
            figures[name] = pictures(options.docs)
        else:
            found = PARTS[name](options)
            if name == "core" and options.worlds:
                found = merged(figures["core"], found)
            figures[name] = found
        kept.write_text(json.dumps(figures, indent=1) + "\n")
    write_page(figures, options.docs)


if __name__ == "__main__":
    main()
