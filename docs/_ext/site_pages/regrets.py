"""Regrets to hold one's own beside, from the page of the zoo or from a few runs made here."""

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
"""Computed, not run; they have no rank."""
SHOWN = ("best-per-phase", "best-fixed", "random", "periodic-gp-ucb", "auto-gp-ucb")
SEEDS = "0:3"
ZOO = ROOT / "studies" / "data" / "zoo.parquet"


@dataclass(frozen=True)
class Regrets:
    """Normalised regrets in one world.

    Attributes:
        task: The world, as the source names it.
        values: By agent or reference: 0 is the oracle, 1 is choosing at random.
        steps: How long the runs are.
        source: Where they come from, in Markdown.
    """

    task: str
    values: dict[str, float]
    steps: int
    source: str


def of_zoo(path: Path = ZOO) -> dict[str, dict[str, float]]:
    """Return normalised regrets of every agent in the worlds of the zoo's page."""
    import evaluation

    found: dict[str, dict[str, float]] = {}
    for row in evaluation.load(path).table().itertuples():
        found.setdefault(str(row.task), {})[str(row.agent)] = float(row.normalised)
    return found


def ranks(zoo: dict[str, dict[str, float]], agent: str) -> list[tuple[str, int, int, float]]:
    """For every world that an agent was in: its rank, among how many, and its regret.

    An agent that was run with other settings, too, is ranked at its defaults among agents at
    theirs.
    """
    rows = []
    for task, values in zoo.items():
        own = {name: v for name, v in values.items() if name not in REFERENCES and ":" not in name}
        if agent in own:
            better = sum(value < own[agent] for value in own.values())
            rows.append((task, better + 1, len(own), own[agent]))
    return rows


def regrets_of(env_id: str, zoo: dict[str, dict[str, float]], cache: Path) -> Regrets | None:
    """Regrets in a world, or None where it cannot be made here."""
    for task, values in zoo.items():
        if task == env_id or task.startswith(f"{env_id},"):
            source = "[the zoo](../../results/zoo.md)"
            return Regrets(task, values, _steps_of_zoo(task), source)
    try:
        values, steps = _cached_runs(env_id, cache)
        return Regrets(env_id, values, steps, f"made with this page: {command()}")
    except (ImportError, ValueError):  # an extra or data that are not here; the page says which
        return None


def _steps_of_zoo(task: str) -> int:
    """Return the length of the zoo's runs in a world, from its protocol."""
    from evaluation.protocol import Protocol

    protocol = Protocol.load("standard")
    (entry,) = (entry for entry in protocol.envs if entry.label == task)
    return int(protocol.arguments(entry)["horizon"])


def command() -> str:
    """Return the call that computes the regrets missing from the zoo's page."""
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
        warnings.simplefilter("ignore")  # that Madrid is simulated is said on the page
        results = evaluation.run("standard", envs=[env_id], agents=AGENTS, seeds=SEEDS, workers=0)
    totals = results.totals
    by_agent = totals.groupby("agent")["regret"].mean()
    chance = float(by_agent["uniform-random"])
    values = {str(name): float(value) / chance for name, value in by_agent.items()}
    return values, int(totals["steps"].max())
