"""Runs of the protocol ``shift``, and the page of them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from evaluation.compared import TaskRuns
from evaluation.protocol.entries import parse_seeds
from evaluation.protocol.protocol import Protocol
from evaluation.results import Results
from evaluation.statistics import Interval, mean_interval, paired_ratio
from evaluation.studies import shift
from evaluation.studies.lab import FailedRunError, study_lab, study_parser
from evaluation.studies.markdown import markdown_table, shown
from evaluation.studies.pages import write_page
from evaluation.studies.shift.text import TEXT, findings

STUDY = "evaluation.studies.shift"
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

    def costs(self, task: str) -> dict[str, pd.DataFrame]:
        """What changes cost each agent, run by run."""
        return TaskRuns(self.results, "online", None, 0, task).change_costs

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

    def around_table(self, kind: str) -> str:
        """Regret before and after changes, recovery and the worst season."""
        costs = self.costs(kind)
        rows = []
        for agent in sorted(self._of(kind), key=lambda agent: self.mean(kind, agent)):
            found = costs[agent]
            cells = {
                name: shown(mean_interval(found[name]).at_least(0.0), digits)
                for name, digits in (("before", 2), ("after", 2), ("recovery", 0), ("worst", 0))
            }
            cells["recovered"] = f"{100 * found['recovered'].mean():.0f} %"
            around = ("before", "after", "recovery", "recovered", "worst")
            rows.append([agent, *(cells[name] for name in around)])
        return markdown_table(["agent", "before", "after", "recovery", "back", "worst"], rows)

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
        around = "\n\n".join(f"### {kind.title()}\n\n{self.around_table(kind)}" for kind in KINDS)
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
