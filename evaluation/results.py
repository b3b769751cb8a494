"""Results of a sweep, ready for a table or a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evaluation.protocol.protocol import REFERENCE_ROWS, REFERENCES, TRAINING
from evaluation.store import Store, StoredRun, StoredSweep

Array = NDArray[np.float64]

STEP_COLUMNS = ["agent", "env", "seed", "t", "action", "reward", "regret"]


@dataclass(frozen=True)
class Curves:
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
    """What came of a sweep: tables of it as DataFrames, steps of it as arrays.

    Attributes:
        sweep: Its protocol, hash and data.
        runs: Its finished runs; failed ones have a ``reason``.
        trainings: Finished trainings, which ``runs`` leaves out.
    """

    def __init__(self, store: Store, sweep: StoredSweep) -> None:
        self._store = store
        self.sweep = sweep
        everything = store.runs(sweep.id)
        self.runs: list[StoredRun] = [run for run in everything if run.track != TRAINING]
        self.trainings: list[StoredRun] = [run for run in everything if run.track == TRAINING]

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
        """How many runs the sweep has, finished or not."""
        return self._store.size(self.sweep.id)

    @property
    def failures(self) -> list[StoredRun]:
        """Runs that failed, with the reason."""
        every = [*self.trainings, *self.runs]
        return [run for run in every if run.reason is not None]

    @property
    def machines(self) -> list[dict[str, Any]]:
        """Where it was computed."""
        return self._store.machines(self.sweep.id)

    @cached_property
    def tasks(self) -> dict[str, list[str]]:
        """The worlds of every task, in the protocol's order."""
        tasks: dict[str, list[str]] = {}
        for entry in self.sweep.protocol["envs"]:
            tasks.setdefault(entry["group"], []).append(entry["label"])
        return tasks

    def agents(self, track: str = "online") -> list[str]:
        """Labels of the agents of a track, in the protocol's order."""
        entries = self.sweep.protocol["agents"]
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
        used = [int(self._store.columns(run.key)["interactions"][0]) for run in mine]
        return max(used), max(run.agent_seconds or 0.0 for run in mine)

    @property
    def tracks(self) -> list[str]:
        """Tracks that have agents."""
        return list(dict.fromkeys(entry["track"] for entry in self.sweep.protocol["agents"]))

    @cached_property
    def totals(self) -> pd.DataFrame:
        """One row per run: task, env, agent, track, seed, steps, regret, ms_per_step.

        Reference rows (oracle, best-per-phase, best-fixed, uniform-random) have the track
        "references".
        """
        task_of = {env: task for task, envs in self.tasks.items() for env in envs}
        rows: list[dict[str, Any]] = []
        for run in self._good(REFERENCES, other=True):
            seconds = (run.agent_seconds or 0.0) / max(run.steps, 1)
            rows.append({**_key(run), "regret": run.regret, "ms_per_step": 1e3 * seconds})
        for run in self._good(REFERENCES):
            for name, regret in self._references(run).items():
                rows.append({**_key(run), "agent": name, "regret": float(regret.sum())})
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
        for run in self._good(REFERENCES, other=True):
            columns = self._store.columns(run.key)
            frame = pd.DataFrame({name: columns[name] for name in ("t", "reward", "regret")})
            action = columns["action"]
            action = action[:, 0] if action.ndim == 2 and action.shape[1] == 1 else action
            frame.insert(1, "action", action if action.ndim == 1 else pd.Series(action.tolist()))
            for place, name in enumerate(("agent", "env", "seed")):
                frame.insert(place, name, getattr(run, name))
            yield frame

    def curves(self, task: str, agent: str, track: str = "online") -> Curves:
        """The runs of an agent in a task, or of a reference row with the track "references".

        Worlds of one task may differ in length: then only the steps that all have are returned.
        """
        envs = self.tasks[task]
        reference = track == REFERENCES
        runs = self._good(REFERENCES if reference else agent, track=track)
        chosen = [run for run in runs if run.env in envs]
        columns = [self._store.columns(run.key) for run in chosen]
        name = agent if reference else "regret"
        steps = min((len(c["t"]) for c in columns), default=0)
        regret = [c[name][:steps] for c in columns]
        return Curves(
            [(run.env, run.seed) for run in chosen],
            columns[0]["t"][:steps] if columns else np.zeros(0, dtype=np.int64),
            np.stack(regret) if regret else np.zeros((0, 0)),
        )

    def _good(
        self, agent: str, *, track: str | None = None, other: bool = False
    ) -> list[StoredRun]:
        """Runs of an agent (or of all others) that did not fail."""
        return [
            run
            for run in self.runs
            if run.reason is None
            and (run.agent == agent) != other
            and (track is None or run.track == track)
        ]

    def _references(self, run: StoredRun) -> dict[str, Array]:
        columns = self._store.columns(run.key)
        return {name: columns[name] for name in REFERENCE_ROWS}

    def periods(self, task: str) -> dict[tuple[str, int], float]:
        """The season of every run of a task, by world and seed."""
        runs = [run for run in self._good(REFERENCES) if run.env in self.tasks[task]]
        return {(c.env, c.seed): float(self._store.columns(c.key)["period"][0]) for c in runs}


def _key(run: StoredRun) -> dict[str, Any]:
    return {
        "env": run.env,
        "agent": run.agent,
        "track": run.track,
        "seed": run.seed,
        "steps": run.steps,
    }
