"""Results of a sweep as DataFrames, arrays, figures and pages."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from evaluation.specs import (
    CHANGES,
    REFERENCE_ROWS,
    REFERENCES,
    TRACKS,
    TRAINING,
    check_known,
    require_list,
)
from evaluation.statistics import ChangeCosts, change_costs, score_of_regret
from evaluation.store import Store, StoredRun, StoredSweep
from periodic_envs.arrays import Array
from periodic_envs.checks import one_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evaluation.tables import ResultsTable

UNIFORM = "uniform-random"
"""Name of the reference row for choosing at random."""
RUN = ["env", "agent", "track", "seed"]
"""Columns that identify a run."""
COMPARED = ("regret", "runs", "difference", "p_value")
"""Keys of the columns of a comparison."""
Regrets = dict[str, dict[tuple[str, int], float]]
"""Total regrets in a task, by agent or reference row, then by world and seed."""


class RunSource(Protocol):
    """Interface of a source of finished runs: a store, saved totals or an edition."""

    @property
    def sweep(self) -> StoredSweep:
        """Sweep of the runs."""

    def runs(self) -> list[StoredRun]:
        """Return the finished runs with their totals, ordered by world, track, agent and seed."""

    def columns(self, key: str) -> dict[str, NDArray[Any]]:
        """Return the columns of a run, or an empty dictionary if the run failed."""

    def size(self) -> int:
        """Return the number of runs, finished or not."""

    def machines(self) -> list[dict[str, Any]]:
        """Return the machines on which the runs were computed."""


@dataclass(frozen=True)
class Scores:
    """Scores of the agents that have finished at least one run in every task.

    Attributes:
        agents: Labels of the agents, in the order of the protocol.
        tasks: Tasks with scores. Scores of a task are defined if the regret of choosing at random
            is positive in all runs.
        values: Scores on the worlds and seeds that all agents have finished, shape (agents, runs,
            tasks). The number of runs is the same for every task.
    """

    agents: list[str]
    tasks: list[str]
    values: Array


def scores_of(regrets: Mapping[str, Regrets], agents: Sequence[str]) -> Scores:
    """Return the scores of agents, computed from their regrets in each task."""
    # Scores are undefined for tasks in which choosing at random has no regret.
    scored = {
        task: runs
        for task, runs in regrets.items()
        if all(regret > 0 for regret in runs.get(UNIFORM, {}).values())
    }
    complete = [a for a in agents if all({a, UNIFORM} <= set(runs) for runs in scored.values())]
    columns = []
    for runs in scored.values() if complete else ():
        *common, uniform = common_runs(runs, [*complete, UNIFORM])
        columns.append(score_of_regret(common, uniform=uniform))
    if not columns or min(column.shape[1] for column in columns) == 0:
        return Scores([], [], np.zeros((0, 0, 0)))
    count = min((c.shape[1] for c in columns if c.shape[1] > 1), default=1)
    # If a task has only one run, this run is repeated to fill the array. The task then adds no
    # variance.
    equal = [c.repeat(count, axis=1) if c.shape[1] == 1 else c[:, :count] for c in columns]
    return Scores(complete, list(scored), np.stack(equal, axis=2))


def common_runs(regrets: Regrets, agents: Sequence[str]) -> Array:
    """Return the regrets of agents on the seeds that all have finished, shape (agents, runs)."""
    runs = sorted(set.intersection(*(set(regrets[agent]) for agent in agents)))
    return np.array([[regrets[agent][run] for run in runs] for agent in agents])


@dataclass(frozen=True)
class Curves:
    """Regret curves of one agent in one task.

    Attributes:
        names: World and seed of each run, by which runs of different agents are paired.
        t: Times of the steps, shape (steps,).
        regret: Regret of each step, shape (runs, steps).
    """

    names: list[tuple[str, int]]
    t: NDArray[np.int64]
    regret: Array


class Results:
    """Results of a sweep, returned by ``evaluation.run`` and ``evaluation.load``.

    ``print`` displays all tables as text, and a notebook displays them as HTML.

    Args:
        source: Source of the runs: a store, saved totals or an edition.
        agents: Labels of the agents to include; by default all agents.
        tasks: Tasks to include; by default all tasks.

    Attributes:
        source: Source of the runs.
        sweep: Protocol, hash and data of the sweep.
        runs: Finished runs, without training runs. Failed runs have a ``reason``.
        trainings: Finished training runs.
        tasks: Labels of the worlds of each included task, in the order of the protocol.
        entries: Included agents of the protocol, as plain data.
    """

    def __init__(
        self,
        source: RunSource,
        *,
        agents: Collection[str] | None = None,
        tasks: Collection[str] | None = None,
    ) -> None:
        self.source = source
        self.sweep = source.sweep
        every = source.runs()
        self.runs = [run for run in every if run.track != TRAINING]
        self.trainings = [run for run in every if run.track == TRAINING]
        self.tasks: dict[str, list[str]] = {}
        for entry in self.sweep.protocol["envs"]:
            if tasks is None or entry["group"] in tasks:
                self.tasks.setdefault(entry["group"], []).append(entry["label"])
        self.entries = [
            entry
            for entry in self.sweep.protocol["agents"]
            if agents is None or entry["label"] in agents
        ]
        self._scores: dict[str, Scores] = {}

    # Runs

    @property
    def tracks(self) -> list[str]:
        """Tracks of the included agents."""
        return list(dict.fromkeys(entry["track"] for entry in self.entries))

    def agents(self, track: str = "online") -> list[str]:
        """Return the labels of the agents of a track, in the order of the protocol."""
        return [entry["label"] for entry in self.entries if entry["track"] == track]

    @property
    def size(self) -> int:
        """Number of runs of the sweep, finished or not."""
        return self.source.size()

    @property
    def failures(self) -> list[StoredRun]:
        """Failed runs, each with a ``reason``."""
        return [run for run in (*self.trainings, *self.runs) if run.reason is not None]

    @property
    def machines(self) -> list[dict[str, Any]]:
        """Machines on which the runs were computed."""
        return self.source.machines()

    @property
    def provenance(self) -> pd.Series[str]:
        """Protocol, seeds, date, commit, versions and processor of the runs."""
        protocol, machines = self.sweep.protocol, self.machines
        facts = {
            "protocol": self.sweep.name,
            "hash": self.sweep.hash,
            "seeds": f"{len(protocol['seeds'])} from {min(protocol['seeds'])}",
            "runs": f"{len(self.runs):,} of {self.size - len(self.trainings):,}",
            "date": self.sweep.started[:10],
            "command": self.sweep.command,
        }
        for name in ("commit", "cpu", "platform", "python", "blas"):
            facts[name] = _joined(machine.get(name) for machine in machines)
        for package in dict.fromkeys(p for m in machines for p in m.get("packages", {})):
            facts[package] = _joined(m.get("packages", {}).get(package) for m in machines)
        return pd.Series(facts, name=self.sweep.name)

    def select(
        self, *, agents: Collection[str] | None = None, envs: Collection[str] | None = None
    ) -> Results:
        """Return the results of the selected agents in the selected tasks.

        Args:
            agents: Labels of the agents to include; by default all agents.
            envs: Names of the tasks to include, as in tables; by default all tasks.

        Raises:
            ValueError: If an agent or a task is unknown.
        """
        every = [entry["label"] for entry in self.entries]
        return Results(
            self.source,
            agents=_known("agents", "agent", agents, every),
            tasks=_known("envs", "environment", envs, self.tasks),
        )

    # Numbers

    @cached_property
    def totals(self) -> pd.DataFrame:
        """Totals of all successful runs, with one row per run.

        The columns are task, env, agent, track, seed, steps, regret and ms_per_step. The references
        (oracle, best-per-phase, best-fixed, uniform-random) have the track "references".
        """
        columns = ["task", *RUN, "steps", "regret", "ms_per_step"]
        return pd.DataFrame(self._total_rows, columns=columns)

    @cached_property
    def _total_rows(self) -> list[dict[str, Any]]:
        rows = [
            {**self._named(run), "regret": run.regret, "ms_per_step": ms_per_step(run)}
            for run in self._agent_runs
        ]
        for run in self.runs_of(REFERENCES, REFERENCES):
            columns = self._worlds[run.env, run.seed]
            rows += [
                {**self._named(run), "agent": name, "regret": float(columns[name].sum())}
                for name in REFERENCE_ROWS
            ]
        return rows

    @cached_property
    def by_task(self) -> dict[str, Regrets]:
        """Total regrets by task, then by agent or reference row, then by run."""
        regrets: dict[str, Regrets] = {task: {} for task in self.tasks}
        for row in self._total_rows:
            if row["regret"] is not None:
                runs = regrets[row["task"]].setdefault(row["agent"], {})
                runs[row["env"], row["seed"]] = row["regret"]
        return regrets

    def regrets(self, task: str, track: str = "online") -> pd.DataFrame:
        """Return the total regrets in a task, with one row per run and one column per agent.

        Each reference (oracle, ...) also has a column. Rows are indexed by world and seed. The
        regrets of unfinished and failed runs are NaN.
        """
        check_known("task", task, self.tasks)
        check_known("track", track, TRACKS)
        runs, names = self.by_task[task], [*self.agents(track), *REFERENCE_ROWS]
        return pd.DataFrame({name: runs[name] for name in names if name in runs}).sort_index()

    def runs_of(self, agent: str, track: str, task: str | None = None) -> list[StoredRun]:
        """Return the successful runs of an agent in one task, or in all tasks by default."""
        envs = self._task_of if task is None else self.tasks[task]
        return [run for run in self._runs_of[agent, track] if run.env in envs]

    def scores(self, track: str = "online") -> Scores:
        """Return the scores of the agents of a track over all tasks."""
        if track not in self._scores:
            self._scores[track] = scores_of(self.by_task, self.agents(track))
        return self._scores[track]

    def training(self, task: str, agent: str) -> tuple[int, float] | None:
        """Return the maximum number of interactions and of seconds for training an agent in a task.

        The maxima are computed over the agent's successful training runs in the task. The result is
        None if the agent has no such run.
        """
        trainings = [
            run
            for run in self.trainings
            if run.agent == agent and run.env in self.tasks[task] and run.reason is None
        ]
        if not trainings:
            return None
        used = [int(self.source.columns(run.key)["interactions"][0]) for run in trainings]
        return max(used), max(run.agent_seconds or 0.0 for run in trainings)

    @cached_property
    def change_costs(self) -> pd.DataFrame:
        """Costs of the changes of worlds, with one row per run.

        The columns are the task, the columns of ``RUN``, and the attributes of
        ``evaluation.statistics.ChangeCosts``. Only runs in worlds that change are included.
        """
        saved = getattr(self.source, "change_costs", None)
        costs = self._computed_costs() if saved is None else saved
        return costs.merge(self.totals.query(f"track != '{REFERENCES}'")[["task", *RUN]], on=RUN)

    def _computed_costs(self) -> pd.DataFrame:
        rows = []
        for run in self._agent_runs:
            world = self._worlds.get((run.env, run.seed), {})
            if len(world.get(CHANGES, ())):
                regret = self.source.columns(run.key)["regret"]
                places = world[CHANGES] - world["t"][0]
                costs = change_costs(regret, places, periods=world["period"])
                rows.append({**self._named(run), **asdict(costs)})
        return pd.DataFrame(rows, columns=[*RUN, *CHANGE_COSTS])

    # Steps

    @property
    def steps(self) -> pd.DataFrame:
        """Steps of all successful runs, with one row per run and step.

        The columns are agent, env, seed, t, action, reward and regret.
        """
        frames = list(self._step_frames())
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=STEPS)

    def _step_frames(self) -> Iterator[pd.DataFrame]:
        for run in self._agent_runs:
            columns = self.source.columns(run.key)
            action = columns["action"]
            action = action[:, 0] if action.ndim == 2 and action.shape[1] == 1 else action
            more = {name: columns[name] for name in ("t", "reward", "regret")}
            more["action"] = action if action.ndim == 1 else pd.Series(action.tolist())
            yield pd.DataFrame({"agent": run.agent, "env": run.env, "seed": run.seed, **more})[
                STEPS
            ]

    def curves(self, task: str, agent: str, track: str = "online") -> Curves:
        """Return the regret curves of an agent, or of a reference if the track is "references".

        If the worlds of a task differ in length, the curves are truncated to the shortest length.
        """
        check_known("task", task, self.tasks)
        check_known("track", track, (*TRACKS, REFERENCES))
        is_reference = track == REFERENCES
        known = REFERENCE_ROWS if is_reference else self.agents(track)
        check_known("agent", agent, known, f"in the track {track}")
        runs = self.runs_of(REFERENCES if is_reference else agent, track, task)
        if not runs:
            return Curves([], np.zeros(0, dtype=np.int64), np.zeros((0, 0)))
        columns = [self.source.columns(run.key) for run in runs]
        steps = min(len(c["t"]) for c in columns)
        regret = np.stack([c[agent if is_reference else "regret"][:steps] for c in columns])
        return Curves([(run.env, run.seed) for run in runs], columns[0]["t"][:steps], regret)

    def periods(self, task: str) -> dict[tuple[str, int], float]:
        """Return the initial period of every run of a task, by world and seed."""
        worlds = self._worlds.items()
        return {name: float(w["period"][0]) for name, w in worlds if name[0] in self.tasks[task]}

    @cached_property
    def _worlds(self) -> dict[tuple[str, int], dict[str, NDArray[Any]]]:
        """Columns of the reference runs, by world and seed."""
        runs = self.runs_of(REFERENCES, REFERENCES)
        return {(run.env, run.seed): self.source.columns(run.key) for run in runs}

    def _named(self, run: StoredRun) -> dict[str, Any]:
        names = {name: getattr(run, name) for name in (*RUN, "steps")}
        return {"task": self._task_of[run.env], **names}

    @cached_property
    def _task_of(self) -> dict[str, str]:
        return {env: task for task, envs in self.tasks.items() for env in envs}

    @cached_property
    def _agent_runs(self) -> list[StoredRun]:
        """Successful runs of agents."""
        selected = {(entry["label"], entry["track"]) for entry in self.entries}
        finished = (run for run in self.runs if run.reason is None and run.env in self._task_of)
        return [run for run in finished if (run.agent, run.track) in selected]

    @cached_property
    def _runs_of(self) -> defaultdict[tuple[str, str], list[StoredRun]]:
        """Successful runs by agent and track."""
        grouped: defaultdict[tuple[str, str], list[StoredRun]] = defaultdict(list)
        for run in self.runs:
            if run.reason is None and run.env in self._task_of:
                grouped[run.agent, run.track].append(run)
        return grouped

    # Tables

    def table(self, *, baseline: str | None = None, track: str = "online") -> ResultsTable:
        """Return a table with one row per task and agent, reference rows last.

        Args:
            baseline: Agent of the track, or reference row. If it is given, the table includes the
                paired difference between each row and the baseline.
            track: Track of the agents: "online" or "pretrained".
        """
        from evaluation.tables import task_table

        check_known("track", track, TRACKS)
        if baseline is not None:
            known = [*self.agents(track), *REFERENCE_ROWS]
            check_known("agent", baseline, known, f"in the track {track}")
        return task_table(self, baseline=baseline, track=track).frame()

    def overall(self, *, baseline: str | None = None, track: str = "online") -> ResultsTable:
        """Return a table with one row per agent over all tasks, best first.

        Only agents with a finished run in every task are ranked. The ranking uses the runs that
        these agents have in common, and the same number of runs in every task. To rank the other
        agents, select tasks in which they have finished runs:
        ``results.select(envs=[...]).overall()``.

        Args:
            baseline: Ranked agent of the track. If it is given, the table includes the probability
                that a run of each other agent scores higher than a run of the baseline.
            track: Track of the agents: "online" or "pretrained".
        """
        from evaluation.tables import overall_table

        check_known("track", track, TRACKS)
        if baseline is not None:
            check_known("agent", baseline, self.scores(track).agents, f"in the track {track}")
        return overall_table(self, baseline=baseline, track=track).frame()

    def compare(
        self, agent: str, other: str | None = None, *, track: str = "online"
    ) -> ResultsTable:
        """Return differences of regret, with 95 % intervals and p-values.

        Only the worlds and seeds that both agents have finished are compared.

        ``compare("gp-ucb")`` compares every agent of a track with GP-UCB. The p-values are
        corrected for the number of agents. ``compare("ppo, trained", "gp-ucb")`` returns the regret
        of the first agent minus the regret of the second, like the command ``periodic-gp compare``.
        The two agents may belong to different tracks.

        Args:
            agent: Agent or reference row with which all others are compared. If ``other`` is given,
                the first of the two agents.
            other: Agent or reference row whose regret is subtracted from that of ``agent``.
            track: Track of the agents, "online" or "pretrained"; ignored if ``other`` is given.
        """
        from evaluation.tables import pair_table

        if other is not None:
            every = [entry["label"] for entry in self.entries] + list(REFERENCE_ROWS)
            for name in (agent, other):
                check_known("agent", name, every)
            return pair_table(self, agent, other).frame()
        table = self.table(baseline=agent, track=track).content
        rows = [row for row in table.rows if row["agent"] != agent]
        columns = [column for column in table.columns if column.key in COMPARED]
        return replace(table, rows=rows, columns=columns).frame()

    # Output

    def __repr__(self) -> str:
        from evaluation.tables import remarks, tables_of

        width = shutil.get_terminal_size().columns
        tables = [table.text(width) for table in tables_of(self)]
        return "\n\n".join([self._title(), *tables, *remarks(self)])

    def _repr_html_(self) -> str:
        from evaluation.tables import remarks, tables_of

        parts = [Markup("<p><b>{}</b></p>").format(self._title())]
        parts += [table.html() for table in tables_of(self)]
        parts += [Markup("<p>{}</p>").format(remark) for remark in remarks(self)]
        return "".join(parts)

    def _title(self) -> str:
        sweep = self.sweep
        return f"Protocol {sweep.name}, hash {sweep.hash[:12]}, sweep {sweep.id}"

    def plot(
        self,
        kind: str = "curves",
        *,
        agents: Collection[str] | None = None,
        envs: Collection[str] | None = None,
    ) -> Figure:
        """Return a figure, which notebooks display and ``savefig`` writes to a file.

        Curves have 95 % bands if there are at least five runs. Profiles pool the runs of all tasks,
        so their bands require fewer runs per task.

        Args:
            kind: "curves" (regret over time), "phases" (regret by phase of the season) or
                "profiles" (share of runs above each score).
            agents: Labels of the agents to draw; by default all agents.
            envs: Names of the tasks to draw, as in tables; by default all tasks.
        """
        from evaluation.plots import FIGURES

        one_of("kind", kind, tuple(FIGURES))
        return FIGURES[kind](self.select(agents=agents, envs=envs))

    def to_html(self, path: Path | str) -> Path:
        """Write an HTML page of all results and return its path.

        The plotting library is written to the same folder, so that the page works offline.

        Raises:
            OSError: If the files cannot be written.
        """
        from evaluation.page import write_page
        from evaluation.page.content import store_content

        return write_page(path, store_content(self))

    def to_latex(self, *, baseline: str | None = None, track: str = "online") -> str:
        """Return the table of all tasks as LaTeX code, in the style of the package booktabs."""
        return self.table(baseline=baseline, track=track).content.latex()

    def save_totals(self, path: Path | str, *, points: int = 0) -> None:
        """Write totals per run to a Parquet file for ``evaluation.load``.

        Args:
            path: Path of the file.
            points: Number of points of each curve to save. With 0, the curves cannot be drawn from
                the file.
        """
        from evaluation.saved import save_totals

        save_totals(self, Path(path), points)

    def save_steps(self, path: Path | str) -> int:
        """Write all steps to a .parquet or .csv file and return the number of rows.

        Actions are written as numbers if all actions of the sweep are numbers, and otherwise as
        lists of numbers. In CSV files, lists are encoded as JSON.
        """
        from evaluation.saved import save_steps

        return save_steps(self._step_frames, Path(path))


STEPS = ["agent", "env", "seed", "t", "action", "reward", "regret"]
CHANGE_COSTS = [field.name for field in fields(ChangeCosts)]


def load(path: Path | str, sweep: str | int | None = None) -> Results:
    """Load results from a file.

    Args:
        path: Path of a store, or of a Parquet file that ``Results.save_totals`` has written.
        sweep: Name or number of a sweep in the store; by default the last sweep.

    Raises:
        StoreError: If the file is missing or invalid.
        LookupError: If the sweep is not in the store.
    """
    from evaluation.saved import SavedTotals

    if Path(path).suffix == ".parquet":
        return Results(SavedTotals.read(Path(path)))
    store = Store(path, create=False)
    return Results(store.source(store.find(sweep).id))


def _known(
    argument: str, what: str, chosen: Collection[str] | None, every: Collection[str]
) -> Collection[str]:
    """Return the chosen names after validation, or all names if ``chosen`` is None."""
    if chosen is None:
        return list(every)
    names = require_list(argument, chosen)
    if not names:
        raise ValueError(f"{argument} must not be empty: omit {argument} to select all")
    for name in names:
        check_known(what, name, every)
    return names


def ms_per_step(run: StoredRun) -> float:
    """Return the mean time per step that the agent needed in a run, in milliseconds."""
    return 1e3 * (run.agent_seconds or 0.0) / max(run.steps, 1)


def _joined(values: Iterator[Any]) -> str:
    return ", ".join(dict.fromkeys(str(value) for value in values if value)) or "unknown"
