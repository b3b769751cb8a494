"""What every study works with: a size, a store, processes, a folder for pictures."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Generic, TypeVar

import pandas as pd
from matplotlib.figure import Figure

from evaluation.cli.shared import Reporter
from evaluation.protocol import Protocol
from evaluation.results import Results
from evaluation.runner import Progress, run
from evaluation.specs import Limits, agent_entry, env_entry, parse_seeds
from evaluation.store import Store
from periodic_envs.files import write_figure
from studies.pages import PageError
from studies.stamp import Stamp, make_stamp

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Size = TypeVar("Size")
Reporting = Callable[[str], AbstractContextManager[Callable[[Progress], object]]]
"""Given the title of what is run, a context that takes its progress."""

LIMITS = Limits(seconds=1800.0, memory_mb=4096)
"""What a run of a study may use."""


def silent(title: str) -> AbstractContextManager[Callable[[Progress], object]]:
    """Progress is not reported."""
    return nullcontext(lambda progress: None)


def aloud(title: str) -> Reporter:
    """A bar on a terminal, or lines in a log, for each sweep."""
    return Reporter(quiet=False, title=title)


@dataclass(frozen=True)
class StudySize:
    """How much of a study is run.

    Attributes:
        name: "full" or "quick".
    """

    name: str

    @property
    def option(self) -> str:
        """What a command needs for it."""
        return "" if self.name == "full" else f" --{self.name}"

    @property
    def words(self) -> str:
        """What a page says of it."""
        return "in full" if self.name == "full" else "the quick version: too few runs to decide"


class FailedRunError(Exception):
    """A run of a study that did not finish: a sentence that says which and why."""


@dataclass
class Lab(Generic[Size]):
    """A place to run studies in.

    Attributes:
        size: How much is run.
        store: Where results are kept: a study that was interrupted goes on from there.
        pictures: Folder for pictures; it must exist.
        workers: Processes; 0 for this one; None for one per core.
        reporting: Given the title of what is run, a context that takes its progress.
        name: What the names of protocols begin with.
        memory: What several studies need and one has computed.
        agents: Names of the agents that were run, for the stamp.
        worlds: Ids of the worlds that they were run in, for the stamp.
    """

    size: Size
    store: Store
    pictures: Path = Path()
    workers: int | None = None
    reporting: Reporting = silent
    name: str = "reproduce"
    memory: dict[str, Any] = field(default_factory=dict)
    agents: set[str] = field(default_factory=set)
    worlds: set[str] = field(default_factory=set)

    def uses(self, *, agents: Iterable[str] = (), worlds: Iterable[str] = ()) -> None:
        """Count agents and worlds among those that the page is made with.

        What is swept is counted by itself; whoever plays without a sweep calls this.
        """
        self.agents.update(agents)
        self.worlds.update(worlds)

    def stamp(self, command: str, *, study: str, part: str = "") -> Stamp:
        """The stamp of what has been made here since the last one."""
        found = make_stamp(command, study=study, agents=self.agents, worlds=self.worlds, part=part)
        self.agents, self.worlds = set(), set()
        return found

    def sweep(self, protocol: Protocol, title: str = "") -> Results:
        """Run a protocol, or what is missing of it."""
        self.uses(
            agents=(entry.spec.name for entry in protocol.agents),
            worlds=(entry.spec.env_id for entry in protocol.envs),
        )
        with self.reporting(title or protocol.name) as report:
            return run(protocol, store=self.store, workers=self.workers, on_progress=report)

    def run(
        self,
        name: str,
        *,
        envs: Sequence[Any],
        agents: Sequence[Any],
        seeds: int | str = 1,
        horizon: int | None = None,
    ) -> Results:
        """Run agents in worlds, or what is missing of it; every run must finish."""
        protocol = Protocol(
            name=f"{self.name}-{name}",
            envs=tuple(map(env_entry, envs)),
            agents=tuple(map(agent_entry, agents)),
            seeds=parse_seeds(f"0:{seeds}" if isinstance(seeds, int) else seeds),
            horizon=horizon,
            limits=LIMITS,
        )
        results = self.sweep(protocol, name)
        for failed in results.failures:
            raise FailedRunError(
                f"{failed.agent} in {failed.env}, seed {failed.seed}, failed: {failed.reason}"
            )
        return results

    def map(
        self, name: str, function: Callable[[Item], Answer], items: Sequence[Item]
    ) -> list[Answer]:
        """The function of every item, in processes; the function and the items are picklable."""
        answers: list[Answer] = []
        with self.reporting(name) as report, _mapping(self.workers) as mapping:
            report(Progress(len(items), 0, 0))
            for answer in mapping(function, items):
                answers.append(answer)
                report(Progress(len(items), len(answers), 0))
        return answers

    def picture(self, figure: Figure, name: str, caption: str) -> str:
        """Save a figure; the Markdown that shows it."""
        write_figure(figure, self.pictures / f"{name}.png")
        return f"![{caption}]({self.pictures.name}/{name}.png)\n\n*{caption}*"


@contextmanager
def _mapping(workers: int | None) -> Iterator[Any]:
    """A ``map`` whose work is done by processes, or by this one; answers come in order."""
    if workers == 0:
        yield map
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield pool.map


def regrets(results: Results) -> pd.DataFrame:
    """Regret of every run: a row for each world and seed, a column for each agent."""
    totals = results.totals
    return totals.pivot(index=["env", "seed"], columns="agent", values="regret")


def regret_by_run(results: Results) -> pd.Series:
    """Regret of every run by world, agent and seed."""
    return results.totals.set_index(["env", "agent", "seed"])["regret"].sort_index()


def study_parser(
    about: str,
    *,
    store: str,
    seeds: str | None = None,
    parts: Sequence[str] = (),
    page: str = "",
) -> ArgumentParser:
    """The options that all studies have that are run as modules.

    Args:
        about: The docstring of the module, whose first line is shown.
        store: Where results are kept by default.
        seeds: Seeds by default; None if they cannot be chosen.
        parts: Names of what may be run by itself.
        page: The page that has places for the parts, where there is one.
    """

    def part(name: str) -> str:
        if name not in parts:
            raise ArgumentTypeError(f"there is no part {name!r}; choose from {', '.join(parts)}")
        return name

    parser = ArgumentParser(description=about.partition("\n")[0])
    if parts:
        words = f"What to run of {', '.join(parts)}; all by default."
        parser.add_argument("parts", nargs="*", type=part, help=words)
    if seeds is not None:
        parser.add_argument("--seeds", default=seeds, help="Seeds of the runs, as 0:40.")
    if page:
        words = f"Folder of {page}, to write the tables into; they are only printed by default."
        parser.add_argument("--docs", type=Path, help=words)
    parser.add_argument("--store", type=Path, default=Path(store), help="The file of results.")
    parser.add_argument("--workers", type=int, help="Processes; one per core by default.")
    return parser


@contextmanager
def study_lab(name: str, options: Namespace) -> Iterator[Lab[Namespace]]:
    """The lab of a study that is run as a module; what fails ends it with a sentence."""
    try:
        with Store(options.store) as store:
            yield Lab(options, store, workers=options.workers, reporting=aloud, name=name)
    except FailedRunError as error:
        raise SystemExit(f"{error}; finished runs are in {options.store}") from error
    except PageError as error:
        raise SystemExit(f"{error}") from error
