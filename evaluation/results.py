"""Results of a run, ready for a table or a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evaluation.protocol.protocol import REFERENCES, TRAINING, YARDSTICKS
from evaluation.store import Store, StoredCell, StoredRun

Array = NDArray[np.float64]

STEP_COLUMNS = ["agent", "env", "seed", "t", "action", "reward", "regret"]


@dataclass(frozen=True)
class Runs:
    """The runs of one agent in one task.

    Attributes:
        names: World and seed of each run: what is paired between agents.
        t: Times, shape (steps,).
        regret: Shape (runs, steps).
    """

    names: list[tuple[str, int]]
    t: NDArray[np.int64]
    regret: Array


class Results:
    """What came of a run: tables of it as DataFrames, steps of it as arrays.

    Attributes:
        run: The run: its protocol, hash and data.
        cells: Its finished cells; failed ones have a ``reason``.
        trainings: Finished trainings, which ``cells`` leaves out.
    """

    def __init__(self, store: Store, run: StoredRun) -> None:
        self._store = store
        self.run = run
        everything = store.cells(run.id)
        self.cells: list[StoredCell] = [cell for cell in everything if cell.track != TRAINING]
        self.trainings: list[StoredCell] = [cell for cell in everything if cell.track == TRAINING]

    def table(self, *, baseline: str | None = None, track: str = "online") -> pd.DataFrame:
        """See ``evaluation.summary.table``."""
        from evaluation.summary import table

        return table(self, baseline=baseline, track=track)

    def overall(self, *, baseline: str | None = None, track: str = "online") -> pd.DataFrame:
        """See ``evaluation.summary.overall``."""
        from evaluation.summary import overall

        return overall(self, baseline=baseline, track=track)

    @property
    def size(self) -> int:
        """How many cells the run has, finished or not."""
        return self._store.size(self.run.id)

    @property
    def failures(self) -> list[StoredCell]:
        """Cells that failed, with the reason."""
        every = [*self.trainings, *self.cells]
        return [cell for cell in every if cell.reason is not None]

    @property
    def machines(self) -> list[dict[str, Any]]:
        """Where it was computed."""
        return self._store.machines(self.run.id)

    @cached_property
    def tasks(self) -> dict[str, list[str]]:
        """The worlds of every task, in the protocol's order."""
        tasks: dict[str, list[str]] = {}
        for entry in self.run.protocol["envs"]:
            tasks.setdefault(entry["group"], []).append(entry["label"])
        return tasks

    def agents(self, track: str = "online") -> list[str]:
        """Labels of the agents of a track, in the protocol's order."""
        entries = self.run.protocol["agents"]
        return [entry["label"] for entry in entries if entry["track"] == track]

    def training(self, task: str, agent: str) -> tuple[int, float] | None:
        """Interactions and seconds that an agent was trained in the worlds of a task, if it was.

        The largest of them, where a task has several worlds.
        """
        envs = self.tasks[task]
        mine = [
            c for c in self.trainings if c.agent == agent and c.env in envs and c.reason is None
        ]
        if not mine:
            return None
        used = [int(self._store.columns(cell.key)["interactions"][0]) for cell in mine]
        return max(used), max(cell.agent_seconds or 0.0 for cell in mine)

    @property
    def tracks(self) -> list[str]:
        """Tracks that have agents."""
        return list(dict.fromkeys(entry["track"] for entry in self.run.protocol["agents"]))

    @cached_property
    def totals(self) -> pd.DataFrame:
        """One row per run: task, env, agent, track, seed, steps, regret, ms_per_step.

        Reference rows (oracle, best-per-phase, best-fixed, uniform-random) have the track
        "references".
        """
        task_of = {env: task for task, envs in self.tasks.items() for env in envs}
        rows: list[dict[str, Any]] = []
        for cell in self._good(YARDSTICKS, other=True):
            seconds = (cell.agent_seconds or 0.0) / max(cell.steps, 1)
            rows.append({**_key(cell), "regret": cell.regret, "ms_per_step": 1e3 * seconds})
        for cell in self._good(YARDSTICKS):
            for name, regret in self._yardsticks(cell).items():
                rows.append({**_key(cell), "agent": name, "regret": float(regret.sum())})
        columns = ["env", "agent", "track", "seed", "steps", "regret", "ms_per_step"]
        frame = pd.DataFrame(rows, columns=columns)
        frame.insert(0, "task", frame["env"].map(task_of))
        return frame

    @property
    def steps(self) -> pd.DataFrame:
        """One row per run and step: agent, env, seed, t, action, reward, regret."""
        empty = pd.DataFrame(columns=STEP_COLUMNS)
        frames = list(self.step_frames())
        return pd.concat(frames, ignore_index=True) if frames else empty

    def step_frames(self) -> Iterator[pd.DataFrame]:
        """The same, run by run, so that large results need little memory."""
        for cell in self._good(YARDSTICKS, other=True):
            columns = self._store.columns(cell.key)
            frame = pd.DataFrame({name: columns[name] for name in ("t", "reward", "regret")})
            action = columns["action"]
            action = action[:, 0] if action.ndim == 2 and action.shape[1] == 1 else action
            frame.insert(1, "action", action if action.ndim == 1 else pd.Series(action.tolist()))
            for place, name in enumerate(("agent", "env", "seed")):
                frame.insert(place, name, getattr(cell, name))
            yield frame

    def runs(self, task: str, agent: str, track: str = "online") -> Runs:
        """The runs of an agent in a task, or of a reference row with the track "references".

        Worlds of one task may differ in length: then only the steps that all have are returned.
        """
        envs = self.tasks[task]
        yardstick = track == YARDSTICKS
        cells = self._good(YARDSTICKS if yardstick else agent, track=track)
        chosen = [cell for cell in cells if cell.env in envs]
        columns = [self._store.columns(cell.key) for cell in chosen]
        name = agent if yardstick else "regret"
        steps = min((len(c["t"]) for c in columns), default=0)
        regret = [c[name][:steps] for c in columns]
        return Runs(
            [(cell.env, cell.seed) for cell in chosen],
            columns[0]["t"][:steps] if columns else np.zeros(0, dtype=np.int64),
            np.stack(regret) if regret else np.zeros((0, 0)),
        )

    def _good(
        self, agent: str, *, track: str | None = None, other: bool = False
    ) -> list[StoredCell]:
        """Cells of an agent (or of all others) that did not fail."""
        return [
            cell
            for cell in self.cells
            if cell.reason is None
            and (cell.agent == agent) != other
            and (track is None or cell.track == track)
        ]

    def _yardsticks(self, cell: StoredCell) -> dict[str, Array]:
        columns = self._store.columns(cell.key)
        return {name: columns[name] for name in REFERENCES}

    def periods(self, task: str) -> dict[tuple[str, int], float]:
        """The season of every run of a task, by world and seed."""
        cells = [cell for cell in self._good(YARDSTICKS) if cell.env in self.tasks[task]]
        return {(c.env, c.seed): float(self._store.columns(c.key)["period"][0]) for c in cells}


def _key(cell: StoredCell) -> dict[str, Any]:
    return {
        "env": cell.env,
        "agent": cell.agent,
        "track": cell.track,
        "seed": cell.seed,
        "steps": cell.steps,
    }
