"""Results of a sweep, ready for a table or a notebook."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evaluation.specs import CHANGES, REFERENCE_ROWS, REFERENCES, TRAINING
from evaluation.statistics import score_of_regret
from evaluation.store import StoredRun, StoredSweep
from periodic_envs.arrays import Array

STEP_COLUMNS = ["agent", "env", "seed", "t", "action", "reward", "regret"]
UNIFORM = "uniform-random"
"""The reference row that chooses at random."""


class RunSource(Protocol):
    """Finished runs to be read: a sweep of a store, or the submissions of an edition."""

    @property
    def sweep(self) -> StoredSweep:
        """The sweep that the runs belong to."""

    def runs(self) -> list[StoredRun]:
        """Return the finished runs with their totals, ordered by world, track, agent and seed."""

    def columns(self, key: str) -> dict[str, NDArray[Any]]:
        """Return the steps of a run; nothing for a failed one."""

    def size(self) -> int:
        """Return the number of runs, finished or not."""

    def machines(self) -> list[dict[str, Any]]:
        """Return the machines that the runs were computed on."""


@dataclass(frozen=True)
class Scores:
    """Scores of the agents that have finished something in every task.

    Attributes:
        agents: Their labels, in the protocol's order.
        tasks: The tasks that have a score: those in which choosing at random loses something.
        values: Shape (agents, runs, tasks); the runs are those that all agents have, the same
            number in every task.
    """

    agents: list[str]
    tasks: list[str]
    values: Array


def scores_of(regrets: Mapping[str, pd.DataFrame], agents: Sequence[str]) -> Scores:
    """Scores from regrets.

    Args:
        regrets: For each task a table with one row per run, and one column per agent and reference.
        agents: Labels of the agents to be scored.
    """
    scored = {task: runs for task, runs in regrets.items() if _has_scores(runs)}
    complete = [a for a in agents if all({a, UNIFORM} <= set(runs) for runs in scored.values())]
    columns = [_task_scores(runs, complete) for runs in scored.values()] if complete else []
    if not columns or min(column.shape[1] for column in columns) == 0:
        return Scores([], [], np.zeros((0, 0, 0)))
    return Scores(complete, list(scored), _stacked(columns))


def _has_scores(runs: pd.DataFrame) -> bool:
    """Where choosing at random loses nothing there is nothing to learn, and no score."""
    return UNIFORM not in runs or bool((runs[UNIFORM].dropna() > 0).all())


def _task_scores(runs: pd.DataFrame, agents: list[str]) -> Array:
    """Scores (agents, runs) on the runs of a task that all agents have."""
    common = runs[[*agents, UNIFORM]].dropna()
    return score_of_regret(common[agents].to_numpy().T, uniform=common[UNIFORM].to_numpy())


def _stacked(columns: list[Array]) -> Array:
    """Of scores (agents, runs) of every task one array (agents, runs, tasks)."""
    count = min((c.shape[1] for c in columns if c.shape[1] > 1), default=1)
    # A task of one run is a fixed one, without scatter: it stands for itself as often as needed.
    filled = [c.repeat(count, axis=1) if c.shape[1] == 1 else c[:, :count] for c in columns]
    return np.stack(filled, axis=2)


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

    Args:
        source: Where the runs come from: a store, or the accepted submissions of an edition.

    Attributes:
        source: Where they come from.
        sweep: Its protocol, hash and data.
        runs: Its finished runs; failed ones have a ``reason``.
        trainings: Finished trainings, which ``runs`` leaves out.
    """

    def __init__(self, source: RunSource) -> None:
        self.source = source
        self.sweep = source.sweep
        everything = source.runs()
        self.runs: list[StoredRun] = [run for run in everything if run.track != TRAINING]
        self.trainings: list[StoredRun] = [run for run in everything if run.track == TRAINING]
        self._regrets: dict[tuple[str, str], pd.DataFrame] = {}
        self._scores: dict[str, Scores] = {}

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
        return self.source.size()

    @property
    def failures(self) -> list[StoredRun]:
        """Runs that failed, with the reason."""
        every = [*self.trainings, *self.runs]
        return [run for run in every if run.reason is not None]

    @property
    def machines(self) -> list[dict[str, Any]]:
        """Where it was computed."""
        return self.source.machines()

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
        used = [int(self.source.columns(run.key)["interactions"][0]) for run in mine]
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
        for run in self._judged:
            seconds = (run.agent_seconds or 0.0) / max(run.steps, 1)
            rows.append({**_key(run), "regret": run.regret, "ms_per_step": 1e3 * seconds})
        for run in self._computed:
            columns = self.source.columns(run.key)
            for name in REFERENCE_ROWS:
                rows.append({**_key(run), "agent": name, "regret": float(columns[name].sum())})
        columns_ = ["env", "agent", "track", "seed", "steps", "regret", "ms_per_step"]
        frame = pd.DataFrame(rows, columns=columns_)
        frame.insert(0, "task", frame["env"].map(task_of))
        return frame

    def regrets(self, task: str, track: str = "online") -> pd.DataFrame:
        """Total regret of each run of a task: a column for each agent of a track and reference.

        Rows are named by world and seed; what an agent has not finished is NaN.
        """
        if (task, track) not in self._regrets:
            frame = self.totals
            chosen = frame[(frame["task"] == task) & frame["track"].isin([track, REFERENCES])]
            wide = chosen.pivot(index=["env", "seed"], columns="agent", values="regret")
            self._regrets[task, track] = wide.sort_index()
        return self._regrets[task, track]

    def scores(self, track: str = "online") -> Scores:
        """Scores of the agents of a track over all tasks."""
        if track not in self._scores:
            regrets = {task: self.regrets(task, track) for task in self.tasks}
            self._scores[track] = scores_of(regrets, self.agents(track))
        return self._scores[track]

    @property
    def steps(self) -> pd.DataFrame:
        """One row per run and step: agent, env, seed, t, action, reward, regret."""
        empty = pd.DataFrame(columns=STEP_COLUMNS)
        frames = list(self.step_frames())
        return pd.concat(frames, ignore_index=True) if frames else empty

    def step_frames(self) -> Iterator[pd.DataFrame]:
        """The steps run by run, so that large results need little memory."""
        for run in self._judged:
            columns = self.source.columns(run.key)
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
        is_reference = track == REFERENCES
        runs = self._computed if is_reference else self._by_agent[agent, track]
        runs = [run for run in runs if run.env in self.tasks[task]]
        if not runs:
            return Curves([], np.zeros(0, dtype=np.int64), np.zeros((0, 0)))
        columns = [self.source.columns(run.key) for run in runs]
        steps = min(len(c["t"]) for c in columns)
        regret = [c[agent if is_reference else "regret"][:steps] for c in columns]
        return Curves(
            [(run.env, run.seed) for run in runs], columns[0]["t"][:steps], np.stack(regret)
        )

    def periods(self, task: str) -> dict[tuple[str, int], float]:
        """The season of every run of a task, by world and seed."""
        return {name: p for name, p in self._periods.items() if name[0] in self.tasks[task]}

    def changes(self, task: str) -> dict[tuple[str, int], NDArray[np.int64]]:
        """When the world of each run of a task changes, by world and seed; empty if it never does.

        The times are those of the first step after each change.
        """
        return {name: c for name, c in self._changes.items() if name[0] in self.tasks[task]}

    @property
    def has_changes(self) -> bool:
        """Whether the world of any run changes."""
        return bool(self._changes)

    @cached_property
    def _periods(self) -> dict[tuple[str, int], float]:
        return {
            (run.env, run.seed): float(self.source.columns(run.key)["period"][0])
            for run in self._computed
        }

    @cached_property
    def _changes(self) -> dict[tuple[str, int], NDArray[np.int64]]:
        """Of every run whose world changes, when."""
        found = {run: self.source.columns(run.key).get(CHANGES, ()) for run in self._computed}
        return {(run.env, run.seed): np.asarray(c) for run, c in found.items() if len(c)}

    @property
    def _judged(self) -> list[StoredRun]:
        """Runs of agents that did not fail."""
        return [run for run in self.runs if run.reason is None and run.agent != REFERENCES]

    @cached_property
    def _computed(self) -> list[StoredRun]:
        """Runs in which the references were computed."""
        return [run for run in self.runs if run.reason is None and run.agent == REFERENCES]

    @cached_property
    def _by_agent(self) -> defaultdict[tuple[str, str], list[StoredRun]]:
        """Runs that did not fail, by agent and track."""
        found: defaultdict[tuple[str, str], list[StoredRun]] = defaultdict(list)
        for run in self._judged:
            found[run.agent, run.track].append(run)
        return found


def _key(run: StoredRun) -> dict[str, Any]:
    return {name: getattr(run, name) for name in ("env", "agent", "track", "seed", "steps")}
