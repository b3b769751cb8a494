"""Reference regrets for the pages of environments, from the zoo or from a few runs."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from site_pages.repository import ROOT

AGENTS = ("random", "periodic-gp-ucb", "auto-gp-ucb")
REFERENCES = ("oracle", "best-per-phase", "best-fixed", "uniform-random")
"""References, which are computed and not run, and have no rank."""
SHOWN = ("best-per-phase", "best-fixed", "random", "periodic-gp-ucb", "auto-gp-ucb")
SEEDS = "0:3"
ZOO = ROOT / "studies" / "data" / "zoo.parquet"


@dataclass(frozen=True)
class Regrets:
    """Normalised regrets in one world.

    Attributes:
        task: Name of the world in the source.
        values: Regrets by agent or reference: 0 is the oracle, 1 is choosing at random.
        steps: Length of the runs.
        source: Description of the source, in Markdown.
    """

    task: str
    values: dict[str, float]
    steps: int
    source: str


def of_zoo(path: Path = ZOO) -> dict[str, dict[str, float]]:
    """Return the normalised regrets of every agent in the worlds of the zoo, by world."""
    import evaluation

    found: dict[str, dict[str, float]] = {}
    for row in evaluation.load(path).table().itertuples():
        found.setdefault(str(row.task), {})[str(row.agent)] = float(row.normalised)
    return found


def ranks(zoo: dict[str, dict[str, float]], agent: str) -> list[tuple[str, int, int, float]]:
    """Return the world, the rank, the number of ranked agents and the regret for each world.

    Worlds in which the agent was not run are omitted. Only runs with default settings are ranked.
    """
    rows = []
    for task, values in zoo.items():
        own = {name: v for name, v in values.items() if name not in REFERENCES and ":" not in name}
        if agent in own:
            better = sum(value < own[agent] for value in own.values())
            rows.append((task, better + 1, len(own), own[agent]))
    return rows


def regrets_of(env_id: str, zoo: dict[str, dict[str, float]], cache: Path) -> Regrets | None:
    """Return the regrets in a world, or None if the world cannot be created."""
    for task, values in zoo.items():
        if task == env_id or task.startswith(f"{env_id},"):
            source = "[the zoo](../../results/zoo.md)"
            return Regrets(task, values, _steps_of_zoo(task), source)
    try:
        values, steps = _cached_runs(env_id, cache)
        return Regrets(env_id, values, steps, f"runs of {command()}")
    except (ImportError, ValueError):  # a missing package or data; the page names them
        return None


def _steps_of_zoo(task: str) -> int:
    """Return the number of steps of the zoo's runs in a world."""
    from evaluation.protocol import Protocol

    protocol = Protocol.load("standard")
    (entry,) = (entry for entry in protocol.envs if entry.label == task)
    return int(protocol.arguments(entry)["horizon"])


def command() -> str:
    """Return the call that computes the regrets in a world that the zoo does not contain."""
    agents = ", ".join(f'"{agent}"' for agent in AGENTS)
    return f'`evaluation.run("standard", envs=[ID], agents=[{agents}], seeds="{SEEDS}")`'


def _cached_runs(env_id: str, cache: Path) -> tuple[dict[str, float], int]:
    from evaluation.keys import our_code
    from evaluation.specs import WorldSpec

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        setup = WorldSpec.parse(env_id).make().setup
    parts = [our_code(), *AGENTS, SEEDS]
    parts += [str(setup.origin.fingerprint if setup.origin else "")]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    path = cache / "regrets" / f"{env_id}.json"
    if path.is_file():
        kept: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if kept["key"] == key and "steps" in kept:
            return dict(kept["values"]), int(kept["steps"])
    values, steps = _runs(env_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"key": key, "values": values, "steps": steps}), "utf-8")
    return values, steps


def _runs(env_id: str) -> tuple[dict[str, float], int]:
    import evaluation

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page states that Madrid is simulated
        results = evaluation.run("standard", envs=[env_id], agents=AGENTS, seeds=SEEDS, workers=0)
    totals = results.totals
    by_agent = totals.groupby("agent")["regret"].mean()
    chance = float(by_agent["uniform-random"])
    values = {str(name): float(value) / chance for name, value in by_agent.items()}
    return values, int(totals["steps"].max())
