"""Results that show themselves: as text, in a notebook, as pictures and as a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from evaluation.participation import rankings, remarks
from evaluation.protocol.tracks import REFERENCE_ROWS
from evaluation.results import Results
from evaluation.summary import ResultsTable, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COMPARED = ("regret", "runs", "difference", "p_value")
"""Columns of a comparison begin with one of these."""


class ShownResults(Results):
    """What came of a sweep, with ways to look at it.

    ``print`` shows all tables as text; a notebook shows them as they are.
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

    def plot(self, kind: str = "curves", *, dark: bool = False) -> Figure:
        """A picture that shows itself in a notebook; ``savefig`` writes it into a file.

        Args:
            kind: "curves" (regret over time), "phases" (regret by phase of the season) or
                "profiles" (share of runs above each score).
            dark: Whether it is for a dark page.
        """
        from evaluation.plots import FIGURES

        if kind not in FIGURES:
            raise ValueError(f"kind must be one of {', '.join(FIGURES)}, got {kind!r}")
        return FIGURES[kind](self, dark=dark)

    def compare(self, baseline: str, *, track: str = "online") -> ResultsTable:
        """Every agent minus one, on common runs: with 95 % intervals and corrected p values.

        Args:
            baseline: The agent or reference row that the others are compared with.
            track: Track of the agents.
        """
        known = [*self.agents(track), *REFERENCE_ROWS]
        if baseline not in known:
            raise ValueError(f"there is no {baseline!r} here; there are {', '.join(known)}")
        whole = table(self, baseline=baseline, track=track)
        keys = [key for key in whole if str(key).startswith(COMPARED)]
        found = ResultsTable(whole.loc[whole["agent"] != baseline, ["task", "agent", *keys]])
        found.attrs.update(whole.attrs)
        return found

    def to_html(self, path: Path | str) -> Path:
        """Write one self-contained page of everything, which works offline; returns its path."""
        from evaluation.report.content import store_content
        from evaluation.report.page import render
        from evaluation.report.sheet import Pictures
        from periodic_envs.files import write_atomically

        out = Path(path)
        write_atomically(out, render(store_content(self, Pictures())).encode())
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
