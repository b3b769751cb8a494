"""Results that show themselves: as text, in a notebook, as pictures and as a page."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from markupsafe import Markup

from agents.checks import one_of
from evaluation.names import check_known
from evaluation.participation import Part, rankings, remarks
from evaluation.results import Curves, Results
from evaluation.selection import Selection
from evaluation.specs import REFERENCE_ROWS, REFERENCES, TRACKS
from evaluation.summary import ResultsTable, overall, pair_table, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COMPARED = ("regret", "runs", "difference", "p_value")
"""Columns of a comparison begin with one of these."""


class ShownResults(Results):
    """What ``evaluation.run`` and ``evaluation.load`` return: results, with ways to look at them.

    It has all that :class:`~evaluation.results.Results` has. ``print`` shows all tables as text; a
    notebook shows them as they are.
    """

    def __repr__(self) -> str:
        from evaluation.tables import tables_of, text_of

        width = shutil.get_terminal_size().columns
        tables = (shown for frame in self._frames() for shown in tables_of(frame))
        return "\n\n".join([self._title(), text_of(tables, width), *remarks(self)])

    def _repr_html_(self) -> str:
        parts = [Markup("<p><b>{}</b></p>").format(self._title())]
        parts += [Markup(frame._repr_html_()) for frame in self._frames()]
        parts += [Markup("<p>{}</p>").format(remark) for remark in remarks(self)]
        return "".join(parts)

    def plot(
        self,
        kind: str = "curves",
        *,
        agents: Collection[str] | None = None,
        envs: Collection[str] | None = None,
        dark: bool = False,
    ) -> Figure:
        """A picture that shows itself in a notebook; ``savefig`` writes it into a file.

        Curves and profiles have 95 % bands where tables have intervals: of five runs or more, or,
        in profiles, of all tasks together.

        Args:
            kind: "curves" (regret over time), "phases" (regret by phase of the season) or
                "profiles" (share of runs above each score).
            agents: Labels of the agents to draw; all if left out. They look the same as there.
            envs: Tasks to draw, as tables name them; all if left out.
            dark: Whether it is for a dark page.
        """
        from evaluation.plots import FIGURES

        one_of("kind", kind, tuple(FIGURES))
        return FIGURES[kind](Selection(self, agents=agents, tasks=envs), dark=dark)

    def table(self, *, baseline: str | None = None, track: str = "online") -> ResultsTable:
        """One row per task and agent, reference rows last.

        Args:
            baseline: An agent of the track or a reference row, with which the others are compared.
            track: Track of the agents: "online" or "pretrained".
        """
        check_known("track", track, TRACKS)
        if baseline is not None:
            self._check_agent(baseline, [*self.agents(track), *REFERENCE_ROWS], track)
        return table(self, baseline=baseline, track=track)

    def overall(
        self,
        *,
        baseline: str | None = None,
        track: str = "online",
        envs: Collection[str] | None = None,
    ) -> ResultsTable:
        """One row per agent over all tasks, the best first.

        Only runs that all agents have finished count, the same number in every task. Who does not
        take part in every task is not in it, and its title says so: name the tasks that it takes
        part in.

        Args:
            baseline: An agent of the track, with which the others are compared.
            track: Track of the agents: "online" or "pretrained".
            envs: Tasks to rank over, as tables name them; all if left out.
        """
        check_known("track", track, TRACKS)
        ranked: Results = self
        if envs is not None:
            ranked = Part(self, tuple(Selection(self, tasks=envs).tasks))
        known = ranked.scores(track).agents
        if baseline is not None:
            self._check_agent(baseline, known, track)
        found = overall(ranked, baseline=baseline, track=track)
        if absent := [agent for agent in self.agents(track) if agent not in known]:
            found.attrs["title"] += f"; not in every task: {', '.join(absent)}"
        return found

    def compare(
        self, agent: str, other: str | None = None, *, track: str = "online"
    ) -> ResultsTable:
        """Differences on common runs: with 95 % intervals and p values.

        ``compare("gp-ucb")`` is every agent of a track minus GP-UCB, with p values corrected for
        their number. ``compare("ppo, trained", "gp-ucb")`` is the first minus the second, whatever
        their tracks, as ``periodic-gp compare`` has it.

        Args:
            agent: The agent or reference row that the others are compared with; of two, the first.
            other: The agent or reference row that is subtracted, to compare two.
            track: Track of the agents, "online" or "pretrained"; of two it does not matter.
        """
        check_known("track", track, TRACKS)
        if other is not None:
            every = [name for t in self.tracks for name in self.agents(t)] + list(REFERENCE_ROWS)
            for name in (agent, other):
                check_known("agent", name, every)
            return pair_table(self, agent, other)
        self._check_agent(agent, [*self.agents(track), *REFERENCE_ROWS], track)
        whole = self.table(baseline=agent, track=track)
        keys = [key for key in whole if str(key).startswith(COMPARED)]
        found = ResultsTable(whole.loc[whole["agent"] != agent, ["task", "agent", *keys]])
        found.attrs.update(whole.attrs)
        return found

    def regrets(self, task: str, track: str = "online") -> pd.DataFrame:
        """Total regret of each run of a task: a column for each agent of a track and reference.

        Rows are named by world and seed; what an agent has not finished is NaN.
        """
        check_known("task", task, self.tasks)
        check_known("track", track, (*TRACKS, REFERENCES))
        return super().regrets(task, track)

    def curves(self, task: str, agent: str, track: str = "online") -> Curves:
        """The runs of an agent in a task, or of a reference row with the track "references".

        Worlds of one task may differ in length: then only the steps that all have are returned.
        """
        check_known("task", task, self.tasks)
        check_known("track", track, (*TRACKS, REFERENCES))
        known = REFERENCE_ROWS if track == REFERENCES else self.agents(track)
        check_known("agent", agent, known, f"in the track {track}")
        return super().curves(task, agent, track)

    def _check_agent(self, agent: str, known: Collection[str], track: str) -> None:
        """Refuse a name that is not known in a track; it may be in the other one."""
        others = [name for name in self.tracks if name != track and agent in self.agents(name)]
        if agent not in known and others:
            there = f"is in the track {others[0]!r}: give track={others[0]!r}"
            raise ValueError(f"{agent!r} {there}, or two agents to compare(), of any tracks")
        check_known("agent", agent, known)

    def to_html(self, path: Path | str) -> Path:
        """Write one self-contained page of everything, which works offline; returns its path.

        Raises:
            OSError: One sentence, if it cannot be written there.
        """
        from evaluation.report.content import store_content
        from evaluation.report.page import render
        from evaluation.report.sheet import Pictures
        from periodic_envs.files import write_atomically

        out = Path(path)
        if out.is_dir():
            raise IsADirectoryError(f"cannot write {str(out)!r}: it is a folder")
        if not out.parent.is_dir():
            where = str(out.parent)
            raise FileNotFoundError(f"cannot write {str(out)!r}: there is no folder {where!r}")
        page = render(store_content(self, Pictures())).encode()
        try:
            write_atomically(out, page)
        except OSError as error:
            raise OSError(f"cannot write {str(out)!r}: {error.strerror or error}") from error
        return out

    def _frames(self) -> Iterator[ResultsTable]:
        for track in self.tracks:
            yield self.table(track=track)
            yield from rankings(self, track=track)

    def _title(self) -> str:
        sweep = self.sweep
        return f"Protocol {sweep.name}, hash {sweep.hash[:12]}, sweep {sweep.id}"


def load(store: Path | str, sweep: str | int | None = None) -> ShownResults:
    """Results that were kept in a file.

    Args:
        store: The file.
        sweep: Its name or number there; the last one by default.

    Raises:
        StoreError: If there is no such file, or it is none of ours.
        LookupError: If there is no such sweep in it.
    """
    from evaluation.store import Store

    opened = Store(store, create=False)
    return ShownResults(opened.source(opened.find(sweep).id))
