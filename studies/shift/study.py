"""Runs of the protocol ``shift``, and the page of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import cached_property
from typing import Any

import pandas as pd

from evaluation.columns import TaskRuns
from evaluation.protocol import Protocol
from evaluation.results import Results
from evaluation.specs import CHANGES, REFERENCES, parse_seeds
from evaluation.statistics import (
    Interval,
    change_costs,
    mean_interval,
    paired_ratio,
    worst_window,
)
from studies import shift
from studies.lab import FailedRunError, study_lab, study_parser
from studies.markdown import markdown_table, shown
from studies.pages import write_page
from studies.shift.text import TEXT, findings

STUDY = "studies.shift"
STILL = "still"
KINDS = ("phase", "period", "swap", "amplitude")
"""Tasks of the protocol in which nobody is told anything, and rewards come at once."""
TOLD = {
    "phase, told of it": "phase",
    "swap, told of it": "swap",
    "phase, told all": "phase",
    "phase, 20 steps late": "phase",
}
"""Tasks that differ from one of those in what is told, or when."""
BASE = "periodic-gp-ucb, l = 1"
STANDS_FOR = {"restarted when told": BASE, "gp-ucb in what is told": BASE}
"""Agents that have no place without a notice, and the one that they are held against there."""
AROUND: dict[str, tuple[str, int | None]] = {
    "before": ("before", 2),
    "after 1st": ("after_first", 2),
    "recovery 1st": ("recovery_first", 0),
    "back 1st": ("recovered_first", None),
    "recovery all": ("recovery", 0),
    "back all": ("recovered", None),
    "worst": ("worst_window", 0),
}
"""Columns of the tables around changes: what is in them, and its decimals, None of a share."""
QUICK_SEEDS = "0:4"


class Study:
    """What came of the protocol, and what is said of it.

    Args:
        results: Its runs.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        self.agents = results.agents()

    def regrets(self, task: str, agent: str) -> pd.Series:
        """Total regret of an agent in a task, by seed."""
        found: pd.Series = self.results.regrets(task)[agent].droplevel("env")
        return found

    def ratio(self, task: str, other: str, agent: str) -> Interval:
        """Regret in a task in units of that in another, or of who stands for the agent there."""
        there = STANDS_FOR.get(agent, agent)
        return paired_ratio(self.regrets(task, agent), self.regrets(other, there))

    def versus(self, task: str, agent: str, other: str) -> Interval:
        """Regret of an agent in units of another's in the same task."""
        return paired_ratio(self.regrets(task, agent), self.regrets(task, other))

    def takes_part(self, task: str, agent: str) -> bool:
        """Whether an agent is run in a task."""
        return agent in self.results.regrets(task)

    def mean(self, task: str, agent: str) -> float:
        """Mean regret."""
        return float(self.regrets(task, agent).mean())

    @cached_property
    def costs(self) -> dict[str, dict[str, pd.DataFrame]]:
        """What changes cost each agent, run by run, for each kind of change.

        And for the world that stands still, at the times at which the others change: what these
        figures are where nothing happens.
        """
        runs = {task: TaskRuns(self.results, "online", None, 0, task) for task in KINDS}
        return {STILL: self._still_costs(), **{kind: runs[kind].change_costs for kind in KINDS}}

    def _still_costs(self) -> dict[str, pd.DataFrame]:
        (world,) = self.results.tasks[KINDS[0]]
        changes = {
            run.seed: self.results.source.columns(run.key)[CHANGES]
            for run in self.results.runs
            if run.agent == REFERENCES and run.env == world
        }
        periods, costs = self.results.periods(STILL), {}
        for agent in self.agents:
            runs, rows = self.results.curves(STILL, agent), []
            for (env, seed), regret in zip(runs.names, runs.regret, strict=True):
                seasons = [max(1, round(periods[env, seed]))] * (len(changes[seed]) + 1)
                row = asdict(change_costs(regret, changes[seed] - runs.t[0], seasons=seasons))
                rows.append({**row, "worst_window": worst_window(regret, window=seasons[0])})
            costs[agent] = pd.DataFrame(rows)
        return costs

    def cost_table(self) -> str:
        """Regret without changes, and its multiples with them."""
        agents = [agent for agent in self.agents if self.takes_part(STILL, agent)]
        rows = [
            [
                agent,
                f"{self.mean(STILL, agent):,.0f}",
                *(shown(self.ratio(kind, STILL, agent), 2) for kind in KINDS),
            ]
            for agent in sorted(agents, key=lambda agent: self.mean(STILL, agent))
        ]
        return markdown_table(["agent", "regret, still", *KINDS], rows)

    def told_table(self) -> str:
        """Multiples of the regret in the same world where nothing is told, or told at once."""
        rows = []
        for agent in self.agents:
            pairs = TOLD.items()
            rows.append([agent, *(self._told_cell(task, other, agent) for task, other in pairs)])
        return markdown_table(["agent", *TOLD], rows)

    def _told_cell(self, task: str, other: str, agent: str) -> str:
        if not self.takes_part(task, agent):
            return ""
        there = STANDS_FOR.get(agent, agent)
        if self.regrets(task, agent).equals(self.regrets(other, there)):
            return "the same"
        return shown(self.ratio(task, other, agent), 2)

    def around_table(self, task: str) -> str:
        """Regret before and after changes, recovery and the worst season."""
        agents = sorted(self._of(task), key=lambda agent: self.mean(task, agent))
        beside = "" if task == STILL else " (still)"
        header = [name + beside * (digits is None) for name, (_, digits) in AROUND.items()]
        return markdown_table(["agent", *header], [[a, *self._around(task, a)] for a in agents])

    def _around(self, task: str, agent: str) -> Iterator[str]:
        found, still = self.costs[task][agent], self.costs[STILL][agent]
        for name, digits in AROUND.values():
            if digits is not None:
                yield shown(mean_interval(found[name]).at_least(0.0), digits)
                continue
            chance = "" if task == STILL else f" ({100 * still[name].mean():.0f} %)"
            yield f"{100 * found[name].mean():.0f} %{chance}"

    def _of(self, task: str) -> list[str]:
        return [agent for agent in self.agents if self.takes_part(task, agent)]

    def numbers(self) -> dict[str, Any]:
        """Regrets of all runs, for machines."""
        return {
            task: {agent: self.regrets(task, agent).round(3).tolist() for agent in self._of(task)}
            for task in self.results.tasks
        }

    def page(self, command: str, seeds: str) -> str:
        """The page."""
        tasks = (STILL, *KINDS)
        around = "\n\n".join(f"### {task.title()}\n\n{self.around_table(task)}" for task in tasks)
        return TEXT.format(
            command=command,
            seeds=seeds,
            costs=self.cost_table(),
            told=self.told_table(),
            around=around,
            findings=findings(self),
        )


def main(arguments: list[str] | None = None) -> None:
    """Run, print, and write what is to be written."""
    about = shift.__doc__ or ""
    parser = study_parser(about, store="shift.sqlite", seeds="0:20", page="shift.md")
    parser.add_argument("--quick", action="store_true", help=f"Try the seeds {QUICK_SEEDS} only.")
    options = parser.parse_args(arguments)
    seeds = QUICK_SEEDS if options.quick else options.seeds
    protocol = Protocol.load("shift").restricted(seeds=parse_seeds(seeds))
    with study_lab("shift", options) as lab:
        study = Study(lab.sweep(protocol))
        for failed in study.results.failures:
            raise FailedRunError(f"{failed.agent} in {failed.env} failed: {failed.reason}")
        command = f"python -m {STUDY} --docs docs --seeds {seeds}"
        text, numbers = study.page(command, seeds), study.numbers()
        stamp = lab.stamp(command, study=STUDY)
    print(text)
    if options.docs:
        write_page(options.docs, "shift", text, numbers, [stamp])
