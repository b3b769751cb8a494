"""Runs of agents on the windows of a table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.limits import Limits
from evaluation.protocol import Protocol
from evaluation.results import Results
from evaluation.runner import Progress, run
from evaluation.specs import (
    ProtocolError,
    UnknownWorldError,
    WorldSpec,
    agent_entries,
    env_entry,
)
from evaluation.store import Store
from periodic_decisions.backtest.result import BacktestResult
from periodic_decisions.backtest.windows import (
    FIXED,
    MEANINGS,
    SCHEDULES,
    plan_windows,
    window_references,
    window_worlds,
    worth_most,
)
from periodic_decisions.seasons.find import find_seasons
from periodic_decisions.seasons.slots import without_gaps
from periodic_decisions.tables.series import read_series
from periodic_envs.data.errors import DataError
from periodic_envs.data.recording import rewards_of

SEASONLESS = ("gp-ucb", "ucb1", "sw-ucb", "d-ucb")
ONE_SEASON = ("auto-gp-ucb", "periodic-gp-ucb:time_length_scale=1", "linucb", *SEASONLESS)
LIMITS = Limits(seconds=3600.0)  # limit for each run; it is high, since windows may be long


class Backtest:
    """Table that is cut into windows, and runs of agents on these windows.

    Args:
        table: Path of a table.
        periods: Lengths of the seasons in steps, the main season first; None to detect them.
        objective: "max", or "min" if the values are costs.
        windows: Number of windows; None to choose it automatically.
        window_steps: Number of decisions in each window; None to choose it automatically.
        warm_start: Number of steps before each window for which all agents receive the best arm and
            its reward; None for two seasons.
        reading: Options of ``read_series``.

    Raises:
        DataError: If the table cannot be read or is too short for the windows.
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
        self.table, self.objective, self.reading = Path(table), objective, dict(reading or {})
        self.series = series = read_series(self.table, **self.reading)
        if periods is None:
            search = find_seasons(series.values, grid=series.grid, objective=objective)
            periods = [season.period for season in search.seasons]
        self.periods = tuple(periods)
        self.plan = plan_windows(
            len(series.values),
            self.periods,
            windows=windows,
            steps=window_steps,
            warm=warm_start,
        )
        self.refused: list[str] = []
        self.failed: list[str] = []
        self.worlds = self._worlds()
        self._rewards = rewards_of(without_gaps(series.values), objective)

    def _worlds(self) -> list[dict[str, Any]]:
        """Return one world for each window, and remove windows with too many gaps from the plan."""
        worlds = window_worlds(self.table.stem, self.series, self.plan, self.objective)
        usable = []
        for world, first in zip(worlds, self.plan.firsts, strict=True):
            try:
                self._make(world)
                usable.append((world, first))
            except UnknownWorldError as error:
                start, reason = world["arguments"]["start"], error.__cause__ or error
                self.refused.append(f"The window from {start} is left out: {reason}")
        if not usable:
            raise DataError(
                "missing-values",
                *self.series.scarce_arms() or [f"no window can be used. {self.refused[0]}"],
            )
        self.plan = replace(self.plan, firsts=tuple(first for _, first in usable))
        return [world for world, _ in usable]

    def _make(self, world: Mapping[str, Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the gaps of the whole table are reported once
            return WorldSpec(world["id"], world["arguments"]).make()

    def default_agents(self) -> tuple[str, ...]:
        """Return a small set of agents, one of which is close to the best on most tables."""
        if not self.plan.periods:
            return ("auto-gp-ucb", *SEASONLESS)
        return ("seasons-gp-ucb", *ONE_SEASON) if len(self.plan.periods) > 1 else ONE_SEASON

    def protocol(self, agents: Sequence[str] | None = None) -> Protocol:
        """Return a protocol with all windows, for the given agents or the default agents."""
        entries = tuple(agent_entries(agents or self.default_agents()))
        for label in (entry.label for entry in entries):
            if label in MEANINGS:
                raise ProtocolError(
                    "reserved-label",
                    f"agents: the label {label!r} is reserved for a reference policy; choose a "
                    "different label",
                )
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
    ) -> tuple[BacktestResult, Results]:
        """Run agents on all windows and compare their rewards with reference policies.

        Args:
            agents: Agents in the command line's notation; None for the default agents.
            baseline: Agent or reference policy with which the others are compared.
            store: Store, or path of a file, for the results; None to keep them in memory.
            workers: Number of processes; 0 for this process, None for one per core.
            on_progress: Callback that receives the progress.

        Raises:
            ProtocolError: If an agent or the baseline is unknown.
        """
        protocol = self.protocol(agents)
        labels = [entry.label for entry in protocol.agents]
        known_references = [name for name in MEANINGS if self.plan.periods or name not in SCHEDULES]
        if baseline not in (*labels, *known_references):
            known = ", ".join((*labels, *known_references))
            raise ProtocolError(
                "unknown-baseline", f"unknown baseline {baseline!r}: expected one of {known}"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = run(protocol, store=store, workers=workers, on_progress=on_progress)
        failed = {(f.agent, str(f.reason)): f.env for f in reversed(results.failures)}
        self.failed = [
            f"{agent} failed in {env}: {reason}" for (agent, reason), env in failed.items()
        ]
        frame = results.steps.groupby(["agent", "env"])["reward"].sum().unstack("env")
        frame = frame.reindex(columns=[world["label"] for world in self.worlds]).dropna()
        finished = tuple(agent for agent in labels if agent in frame.index)
        totals = {agent: frame.loc[agent].to_numpy(dtype=np.float64) for agent in finished}
        schedules = self.periods if self.plan.periods else ()  # only if agents know a season
        for world, first in zip(self.worlds, self.plan.firsts, strict=True):
            before = self._rewards[:first]
            references = window_references(self._make(world), before, schedules)
            for name, total in references.items():
                totals[name] = np.append(totals.get(name, []), total)
        if baseline not in totals:
            raise ProtocolError(
                "baseline-failed",
                f"the baseline {baseline!r} did not finish all windows: choose a different "
                "baseline",
            )
        result = BacktestResult(
            table=self.table,
            series=self.series,
            plan=self.plan,
            objective=self.objective,
            totals=totals,
            agents=finished,
            baseline=baseline,
            notes=(*self.refused, *self.failed),
            reading=self.reading,
            schedule_period=worth_most(self._rewards, schedules) if schedules else None,
        )
        return result, results
