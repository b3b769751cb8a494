"""The page docs/auto-gp.md, from the figures in docs/auto-gp.json."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from periodic_envs.files import write_atomically
from studies.flagship import AUTO, UNKNOWN, Rows, sections, text
from studies.flagship.pictures import WINDOW
from studies.flagship.reach import MAX_CORE, reach
from studies.flagship.written import interval, markdown, yes
from studies.pages import stamped
from studies.stamp import Stamp

PAGE = "auto-gp.md"


def write_page(figures: dict[str, Any], docs: Path, stamps: Iterable[Stamp]) -> None:
    """Everything that has been computed so far, and what each part was made with."""
    written = [section(name, figures[name]) for name in SECTIONS if figures.get(name)]
    parts = [text.INTRODUCTION, reach(figures), text.DIAGNOSIS, *written, text.LIMITS]
    write_atomically(docs / PAGE, stamped("\n".join(parts), stamps).encode())


def section(name: str, found: Any) -> str:
    """The section of a part, from what it has found."""
    return SECTIONS[name](found) if found else ""


def _madrid(rows: Rows) -> str:
    goals = {"max": "Seeking the most NO", "min": "Seeking the least NO"}
    tables = [_goal([r for r in rows if r["goal"] == goal], words) for goal, words in goals.items()]
    return "\n".join([text.MADRID, *tables])


def _goal(rows: Rows, words: str) -> str:
    """Both tracks in their own order, and what is known in hindsight."""
    header = ["agent", "regret", "over best static [95 %]", "over gp-ucb"]
    parts = []
    for track, name in (("online", "told nothing"), ("pretrained", "pretrained")):
        table = [
            [r["agent"], f"{r['regret']:,.0f}", interval(r["static"]), f"{r['gp']:.2f}"]
            for r in sorted(rows, key=lambda r: float(r["regret"]))
            if r["track"] == track
        ]
        parts.append(f"{words}, {name}:\n\n{markdown(header, table)}")
    known = {r["agent"]: r["static"][0] for r in rows if r["track"] == "references"}
    shares = [f"{name} {share:.2f}" for name, share in known.items() if name != "oracle"]
    return "\n".join([*parts, f"In hindsight, over best static: {', '.join(shares)}.\n"])


def _core(rows: Rows) -> str:
    header = ["world", "seeds", AUTO, "best that knows the truth", "its regret", "ratio [95 %]"]
    table = [
        [
            r["world"],
            r.get("seeds", "0:10"),
            f"{r['auto']:,.1f}",
            r["best"],
            f"{r['best_regret']:,.1f}",
            interval(r["ratio"], 3),
            "" if r["world"].endswith(UNKNOWN) else yes(round(r["ratio"][0], 2) <= MAX_CORE),
        ]
        for r in rows
    ]
    before = [
        f"{r['world']} {interval(r['before']['ratio'])} on seeds {r['before']['seeds']}"
        for r in rows
        if "before" in r
    ]
    chosen = f"\nRun again with more seeds because of what few had shown: {'; '.join(before)}.\n"
    return text.CORE + markdown([*header, f"<= {MAX_CORE:g}"], table) + (chosen if before else "")


def _unknown_period(rows: Rows) -> str:
    table = [
        [
            r["world"],
            r["agent"],
            f"{r['unknown']:,.1f}",
            f"{r['known']:,.1f}",
            interval(r["ratio"], 3),
        ]
        for r in rows
    ]
    header = ["world", "agent", "period unknown", "period known", "ratio [95 %]"]
    return text.UNKNOWN_PERIOD.format(seeds=rows[0]["seeds"]) + markdown(header, table)


def _cost(rows: Rows) -> str:
    table = [
        [r["world"], f"{r['auto']:.2f}", f"{r['periodic']:.2f}", f"{r['ratio']:.1f}"] for r in rows
    ]
    mean = np.mean([r["ratio"] for r in rows])
    header = ["world", "auto-gp-ucb, ms", "periodic-gp-ucb, ms", "ratio"]
    return text.COST + markdown(header, table) + f"\nMean of the ratios: {mean:.1f}.\n"


def _seen(found: dict[str, Any]) -> str:
    return text.SEEN.format(window=WINDOW, best=f"{found['best']:g}")


SECTIONS: dict[str, Callable[[Any], str]] = {
    "tables": sections.tables,
    "rideshare": sections.rideshare,
    "madrid": sections.madrid_years,
    "changed-city": sections.changed_city,
    "madrid-2018": _madrid,
    "core": _core,
    "unknown-period": _unknown_period,
    "ablation": sections.ablation,
    "cost": _cost,
    "pictures": _seen,
}
"""Of every part its section, in the page's order."""
