"""Running agents on the windows of a table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.protocol import Protocol
from evaluation.results import Results
from evaluation.runner import Progress, run
from evaluation.specs import (
    Limits,
    ProtocolError,
    UnknownWorldError,
    WorldSpec,
    agent_entries,
    env_entry,
)
from evaluation.store import Store
from periodic_decisions.backtest.judged import Judged
from periodic_decisions.backtest.rewards import (
    FIXED,
    MEANINGS,
    SCHEDULES,
    window_references,
    worth_most,
)
from periodic_decisions.backtest.scarce import scarce_arms
from periodic_decisions.backtest.windows import (
    REPLAY,
    Plan,
    plan_windows,
    replay_worlds,
    write_clean,
)
from periodic_decisions.seasons.phases import without_gaps
from periodic_decisions.seasons.season import find_seasons
from periodic_decisions.tables.series import Series, read_series
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.data.recording import rewards_of

SEASONAL = ("auto-gp-ucb", "seasons-gp-ucb", "periodic-gp-ucb:time_length_scale=1", "linucb")
"""Agents that use a season, of several families."""
SEASONLESS = ("gp-ucb", "ucb1", "sw-ucb", "d-ucb")
"""Agents that use none."""
LIMITS = Limits(seconds=3600.0)
"""What a run may use: windows of somebody's table may be long."""


class Backtest:
    """A table, cut into windows, on which agents can be run.

    Args:
        table: A path to a table that ``PeriodicGP-Replay-v0`` reads.
        periods: Its seasons in steps, the main one first; None to look for them.
        objective: "max", or "min" where the table has costs.
        windows: How many windows; None to choose.
        window_steps: Decisions in each; None to choose.
        warm_start: Steps before each that everybody knows; None for two seasons.
        reading: How the table is read, see ``read_series``.

    Raises:
        DataError: If the table cannot be read, or has no room for the windows.
    """

    def __init__(
        self,
        table: Path | str,
        *,
        periods: Sequence[float] | None = None,
        objective: str = "max",
        windows: int | None = None,
        window_steps: int | None = None,
        warm_start: int | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> None:
        self.table, self.objective = Path(table), objective
        self.reading = dict(reading or {})
        self.series: Series = read_series(self.table, **self.reading)
        if periods is None:
            found = find_seasons(
                self.series.values, clock=self.series.clock, objective=objective
            ).found
            periods = [season.period for season in found]
        self.periods = tuple(periods)
        self.plan: Plan = plan_windows(
            len(self.series.values),
            self.periods,
            windows=windows,
            steps=window_steps,
            warm=warm_start,
        )
        self.refused: list[str] = []
        self.failed: list[str] = []
        self.worlds = self._worlds()

    def _worlds(self) -> list[dict[str, Any]]:
        """The windows as worlds; those that have too many gaps are left out."""
        given = {"data": str(write_clean(self.series)), **self.plan.arguments()}
        given |= {"objective": self.objective} if self.objective != "max" else {}
        worlds = replay_worlds(self.table.stem, self.plan.starts(self.series), given)
        kept, firsts = [], []
        for world, first in zip(worlds, self.plan.firsts, strict=True):
            try:
                self._make(world)
            except UnknownWorldError as error:
                reason = str(error).removeprefix(f"{REPLAY}: ")
                self.refused.append(f"The window from {world['arguments']['start']}: {reason}")
            else:
                kept.append(world)
                firsts.append(first)
        if not kept:
            raise DataError(scarce_arms(self.series) or f"no window can be used: {self.refused[0]}")
        self.plan = replace(self.plan, firsts=tuple(firsts))
        return kept

    def _make(self, world: Mapping[str, Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # gaps are said once, of the whole table
            return WorldSpec(world["id"], world["arguments"]).make()

    def default_agents(self) -> tuple[str, ...]:
        """A few of the zoo, of which one is near the best on most tables."""
        if not self.plan.periods:
            return ("auto-gp-ucb", *SEASONLESS)
        several = len(self.plan.periods) > 1
        return (*(a for a in SEASONAL if several or a != "seasons-gp-ucb"), *SEASONLESS)

    def protocol(self, agents: Sequence[str] | None = None) -> Protocol:
        """All windows as one task, for these agents or the default ones."""
        entries = tuple(agent_entries(agents or self.default_agents()))
        for label in (entry.label for entry in entries):
            if label in MEANINGS:
                raise ProtocolError(f"agents: {label!r} is a reference; choose another label")
        return Protocol(
            name=f"backtest-{self.table.stem}",
            description=f"Windows of {self.table.name}.",
            envs=tuple(map(env_entry, self.worlds)),
            agents=entries,
            seeds=(0,),
            limits=LIMITS,
        )

    def run(
        self,
        agents: Sequence[str] | None = None,
        *,
        baseline: str = FIXED,
        store: Store | Path | None = None,
        workers: int | None = None,
        on_progress: Callable[[Progress], object] = lambda progress: None,
    ) -> tuple[Judged, Results]:
        """Run agents on all windows, and hold their rewards against the references.

        Args:
            agents: In the command line's notation; None for the default ones.
            baseline: The agent or reference that the others are compared with.
            store: Where results are kept; None for memory.
            workers: Processes; 0 for this one; None for one per core.
            on_progress: Called with how far it is.

        Raises:
            ProtocolError: If there is no such agent or baseline.
        """
        protocol = self.protocol(agents)
        there = [name for name in MEANINGS if self.plan.periods or name not in SCHEDULES]
        rows = [*(entry.label for entry in protocol.agents), *there]
        if baseline not in rows:
            raise ProtocolError(f"there is no baseline {baseline!r}; there are {', '.join(rows)}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = run(protocol, store=store, workers=workers, on_progress=on_progress)
        return self._judged(results, baseline), results

    def _judged(self, results: Results, baseline: str) -> Judged:
        labels = [world["label"] for world in self.worlds]
        frame = results.steps.groupby(["agent", "env"])["reward"].sum().unstack("env")
        frame = frame.reindex(columns=labels)
        complete = frame[frame.notna().all(axis=1)]
        order = [entry["label"] for entry in results.sweep.protocol["agents"]]
        agents = [agent for agent in order if agent in complete.index]
        totals = {agent: complete.loc[agent].to_numpy(dtype=np.float64) for agent in agents}
        self.failed = _failures(results)
        totals |= self._references()
        if baseline not in totals:
            raise ProtocolError(f"the baseline {baseline!r} has not finished all windows")
        time = results.totals.groupby("agent")["ms_per_step"].mean()
        return Judged(
            source=self.table.name,
            series=self.series,
            plan=self.plan,
            objective=self.objective,
            totals=totals,
            agents=tuple(agents),
            milliseconds={agent: float(time[agent]) for agent in agents},
            baseline=baseline,
            notes=(*self.refused, *self.failed),
            timezone=self.reading.get("timezone"),
            table=self.table,
            reading=self.reading,
            periods=self.periods,
            schedule_period=self._schedule_period(),
        )

    def _references(self) -> dict[str, Array]:
        found = [
            window_references(self._make(world), self._rewards[:first], self._schedules())
            for world, first in zip(self.worlds, self.plan.firsts, strict=True)
        ]
        return {name: np.array([one[name] for one in found]) for name in found[0]}

    @cached_property
    def _rewards(self) -> Array:
        """Of all arms at all steps, more being better."""
        return rewards_of(without_gaps(self.series.values), self.objective)

    def _schedule_period(self) -> float | None:
        """The season that a schedule of the whole table would follow."""
        return worth_most(self._rewards, self._schedules()) if self._schedules() else None

    def _schedules(self) -> tuple[float, ...]:
        """Seasons that a schedule may follow: all, if there is one that was told."""
        return self.periods if self.plan.periods else ()


def _failures(results: Results) -> list[str]:
    """Which agents failed and why, each reason once, with the first window that it came up in."""
    found: dict[tuple[str, str], list[str]] = {}
    for run_ in results.failures:
        found.setdefault((run_.agent, str(run_.reason)), []).append(run_.env)
    return [
        f"{agent} failed in {windows[0]}"
        + (f" and {len(windows) - 1:,} more" if len(windows) > 1 else "")
        + f": {reason}"
        for (agent, reason), windows in found.items()
    ]
