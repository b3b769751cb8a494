"""Which tasks of a sweep were simulated Madrid: a store keeps fingerprints of data, not words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluation.results import Results

WORD = "simulated"
"""What is said of them, on every picture and page."""


def simulated_tasks(results: Results) -> list[str]:
    """The tasks with a world whose rewards were simulated in the place of measurements."""
    entries, data = results.sweep.protocol["envs"], results.sweep.data
    found = {e["group"] for e in entries if _is_simulated(e, data.get(e["label"]))}
    return [task for task in results.tasks if task in found]


def titles(results: Results) -> dict[str, str]:
    """What stands above the picture of each task: its name, and that it was simulated if so."""
    simulated = simulated_tasks(results)
    return {task: f"{task}, {WORD}" if task in simulated else task for task in results.tasks}


def _is_simulated(entry: Mapping[str, Any], fingerprint: str | None) -> bool:
    """Whether a world has the data that the simulator gives for its arguments."""
    name = entry["id"].rpartition(":")[2]
    if name == "PeriodicGP-MadridSim-v0":
        return True
    return name == "PeriodicGP-Madrid-v0" and fingerprint == _of_simulator(entry["arguments"])


def _of_simulator(arguments: Mapping[str, Any]) -> str | None:
    from periodic_envs.worlds.madrid import Madrid
    from periodic_envs.worlds.madrid_sim import MadridSim

    shared = {field.name for field in fields(MadridSim)} & {field.name for field in fields(Madrid)}
    asked = {f.name: arguments.get(f.name, f.default) for f in fields(Madrid) if f.name in shared}
    try:
        return MadridSim(**asked).origin.fingerprint
    except (TypeError, ValueError):  # arguments of another version: nothing is known
        return None
