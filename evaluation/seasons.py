"""When the worlds of runs change, and how long their seasons are before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.results import Results
from evaluation.specs import WorldSpec
from periodic_envs.arrays import Array
from periodic_envs.env import PeriodicBanditEnv

RunName = tuple[str, int]
"""World and seed of a run."""


@dataclass(frozen=True)
class Stretches:
    """What a run falls into at the changes of its world.

    Attributes:
        changes: Times of the first step after each change, ascending, shape (k,).
        seasons: Steps of a season before the first change and after each, k + 1 whole numbers.
    """

    changes: NDArray[np.int64]
    seasons: tuple[int, ...]

    @classmethod
    def of(cls, changes: NDArray[np.int64], period: float | Array) -> Stretches:
        """From the length of the season: one that stays, or that of every stretch."""
        lengths = np.broadcast_to(period, len(changes) + 1)
        return cls(changes, tuple(max(1, round(length)) for length in lengths.tolist()))


def stretches_of(results: Results, task: str) -> dict[RunName, Stretches]:
    """The stretches of every run of a task whose world changes, by world and seed.

    A record has the length of the season at the start only. What becomes of it is asked of the
    world itself, drawn again from the run's seed; where it cannot be made here, or is another one
    than then, its season is taken to keep the length of the start.
    """
    changes, periods = results.changes(task), results.periods(task)
    stored = results.sweep.protocol
    asked = {name for name, _ in changes}
    worlds = {
        e["label"]: _made(e, stored["horizon"]) for e in stored["envs"] if e["label"] in asked
    }
    found = {}
    for (world, seed), times in changes.items():
        lengths = _season_lengths(worlds[world], seed, times)
        name = (world, seed)
        found[name] = Stretches.of(times, periods[name] if lengths is None else lengths)
    return found


def _made(entry: Mapping[str, Any], horizon: int | None) -> PeriodicBanditEnv | None:
    """The world of an entry of a stored protocol; None if this machine has no such world."""
    given = {} if horizon is None else {"horizon": horizon}
    try:
        return WorldSpec(entry["id"], {**given, **entry["arguments"]}).make()
    except (TypeError, ValueError):
        return None


def _season_lengths(
    world: PeriodicBanditEnv | None, seed: int, changes: NDArray[np.int64]
) -> Array | None:
    """Length of the season at the start and after each change; None if it is not known."""
    if world is None:
        return None
    world.reset(seed=seed)
    assert world.episode is not None
    course = getattr(world.episode.process, "course", None)
    if course is None or not np.array_equal(course.changes, changes):
        return None
    lengths: Array = course.periods[[0, *changes.tolist()]]
    return lengths
