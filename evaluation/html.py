"""Tables of results for notebooks: a piece of HTML without scripts, in the notebook's own colours.

Names of agents and reasons of failures are written by others: everything is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from evaluation.column import Column
from evaluation.columns import columns_in
from evaluation.specs import REFERENCE_ROWS
from evaluation.summary import ResultsTable
from evaluation.tables import about_intervals

_NUMBER = Markup('style="text-align:right;white-space:nowrap"')
_NAME = Markup('style="text-align:left"')
_REFERENCE = Markup('style="opacity:0.65;font-style:italic"')
_WIDE = Markup('<div style="overflow-x:auto;max-width:100%">{}</div>')


def table_html(frame: ResultsTable) -> str:
    """A table of results: regret first, task by task, the best agent on top."""
    shown, baseline = columns_in(frame), frame.attrs["baseline"]
    head = _line("th", ["agent", *(column.heading(baseline) for column in shown)], shown)
    body = Markup("").join(_lines(frame, shown))
    caption = escape(frame.attrs.get("title", "Regret of each task; lower is better"))
    whole = Markup(
        '<table><caption style="text-align:left">{}</caption><thead>{}</thead><tbody>{}</tbody>'
        "</table>"
    ).format(caption, head, body)
    said = about_intervals(frame)
    return str(_WIDE.format(whole if said is None else whole + Markup("<p>{}</p>").format(said)))


def _lines(frame: ResultsTable, shown: Sequence[Column]) -> Iterator[Markup]:
    if "task" not in frame:
        yield from (_row(row, shown) for row in frame.to_dict("records"))
        return
    for task, title in frame.attrs["tasks"].items():
        rows = frame[frame["task"] == task]
        rows = rows.sort_values("regret") if "regret" in rows else rows
        yield Markup('<tr><th colspan="{}" {}>{}</th></tr>').format(len(shown) + 1, _NAME, title)
        below = rows["agent"].isin(REFERENCE_ROWS)
        for part in (rows[~below], rows[below]):
            yield from (_row(row, shown) for row in part.to_dict("records"))


def _row(row: Mapping[Any, Any], shown: Sequence[Column]) -> Markup:
    agent = str(row["agent"])
    style = _REFERENCE if agent in REFERENCE_ROWS else Markup("")
    return _line("td", [agent, *(column.text(row) for column in shown)], shown, style)


def _line(tag: str, texts: Sequence[str], shown: Sequence[Column], style: Markup = _NAME) -> Markup:
    """A line of a table; what a column means is said where the mouse rests on its heading."""
    titles = ["", *(column.description if tag == "th" else "" for column in shown)]
    cells = (
        Markup('<{0} {1} title="{2}">{3}</{0}>').format(
            Markup(tag), _NUMBER if place else _NAME, title, text
        )
        for place, (title, text) in enumerate(zip(titles, texts, strict=True))
    )
    return Markup("<tr {}>{}</tr>").format(style, Markup("").join(cells))
