"""The page docs/auto-gp.md, from the figures in docs/auto-gp.json."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.statistics import Interval
from evaluation.studies.flagship import AUTO, PRETRAINED, UNKNOWN, Rows, text
from evaluation.studies.flagship.pictures import WINDOW
from evaluation.studies.markdown import markdown_table, shown

LIMITS = {AUTO: (0.95, 0.85), PRETRAINED: (0.80, 0.70)}
"""Regret over the best static station's: what should not be exceeded, and what is aimed at."""
MAX_RATIO, MAX_RATIO_UNKNOWN, MAX_COST_RATIO = 1.15, 1.25, 5.0
"""Over the best agent that knows the truth, the same without the season's length; cost."""


def write_page(figures: dict[str, Any], docs: Path) -> None:
    """Everything that has been computed so far."""
    makers: dict[str, Callable[[Any], str]] = {
        "madrid-2018": _madrid,
        "core": _core,
        "unknown-period": _unknown_period,
        "ablation": _ablation,
        "share": _share,
        "cost": _cost,
        "pictures": _seen,
    }
    written = [maker(figures[name]) for name, maker in makers.items() if name in figures]
    parts = [text.INTRODUCTION, _verdicts(figures), *written, text.LIMITS]
    (docs / "auto-gp.md").write_text("\n".join(parts), encoding="utf-8")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return markdown_table(header, rows) + "\n"


def _interval(values: Sequence[float], digits: int = 2) -> str:
    estimate, low, high = values if len(values) == 3 else (*values, np.nan, np.nan)
    return shown(Interval(estimate, low, high), digits)


def _yes(reached: bool) -> str:
    return "yes" if reached else "no"


def _verdicts(figures: dict[str, Any]) -> str:
    """What was aimed at, and what came of it."""
    rows = [
        *(_static_verdict(r) for r in figures.get("madrid-2018", ()) if _has_limit(r)),
        *_core_verdicts(figures.get("core", [])),
        *_cost_verdicts(figures.get("cost", [])),
    ]
    return "## In short\n\n" + _table(["what", "wanted", "measured", "reached"], rows)


def _has_limit(row: dict[str, Any]) -> bool:
    return row["goal"] == "max" and row["agent"] in LIMITS


def _static_verdict(row: dict[str, Any]) -> list[str]:
    most, aim = LIMITS[row["agent"]]
    share = row["static"][0]
    what = f"{row['agent']}, Madrid 2018, over best static"
    word = "the aim" if share <= aim else "yes, not the aim" if share <= most else "no"
    return [what, f"at most {most:.2f}, aim {aim:.2f}", f"{share:.3f}", word]


def _core_verdicts(rows: Rows) -> list[list[str]]:
    known = [r for r in rows if not r["world"].endswith(UNKNOWN)]
    return [
        *([_known_verdict(known)] if known else []),
        *(_unknown_verdict(r) for r in rows if r["world"].endswith(UNKNOWN)),
    ]


def _known_verdict(rows: Rows) -> list[str]:
    above = [r["world"] for r in rows if r["ratio"][0] > MAX_RATIO]
    again = [r["world"] for r in rows if "before" in r and r["before"]["ratio"][0] > MAX_RATIO]
    word = f"not in {', '.join(above)}" if above else "yes"
    word += f"; in {' and '.join(again)} only with more seeds" if again else ""
    worst = f"{max(r['ratio'][0] for r in rows):.3f} at worst"
    wanted = f"at most {MAX_RATIO:g} on every core id"
    return ["over the best that knows the truth", wanted, worst, word]


def _unknown_verdict(row: dict[str, Any]) -> list[str]:
    ratio, what = row["ratio"][0], f"{row['world']}, over the best that knows it"
    reached = _yes(ratio <= MAX_RATIO_UNKNOWN)
    return [what, f"at most {MAX_RATIO_UNKNOWN:g}", f"{ratio:.3f}", reached]


def _cost_verdicts(rows: Rows) -> list[list[str]]:
    if not rows:
        return []
    ratios = [r["ratio"] for r in rows]
    measured = f"{np.mean(ratios):.1f} on average, {max(ratios):.1f} at worst"
    word = "yes" if max(ratios) <= MAX_COST_RATIO else "on average"
    wanted = f"at most {MAX_COST_RATIO:g}"
    return [["cost of a step over periodic-gp-ucb's", wanted, measured, word]]


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
            [r["agent"], f"{r['regret']:,.0f}", _interval(r["static"]), f"{r['gp']:.2f}"]
            for r in sorted(rows, key=lambda r: float(r["regret"]))
            if r["track"] == track
        ]
        parts.append(f"{words}, {name}:\n\n{_table(header, table)}")
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
            _interval(r["ratio"], 3),
            _yes(r["ratio"][0] <= MAX_RATIO),
        ]
        for r in rows
    ]
    before = [
        f"{r['world']} {_interval(r['before']['ratio'])} on seeds {r['before']['seeds']}"
        for r in rows
        if "before" in r
    ]
    chosen = f"\nRun again with more seeds because of what few had shown: {'; '.join(before)}.\n"
    return text.CORE + _table([*header, f"<= {MAX_RATIO:g}"], table) + (chosen if before else "")


def _unknown_period(rows: Rows) -> str:
    table = [
        [
            r["world"],
            r["agent"],
            f"{r['unknown']:,.1f}",
            f"{r['known']:,.1f}",
            _interval(r["ratio"], 3),
        ]
        for r in rows
    ]
    header = ["world", "agent", "period unknown", "period known", "ratio [95 %]"]
    return text.UNKNOWN_PERIOD.format(seeds=rows[0]["seeds"]) + _table(header, table)


def _ablation(rows: Rows) -> str:
    about, *rest = rows
    table = [[r["agent"], f"{r['share']:.3f}", _interval(r["gap"], 0)] for r in rest]
    low, high = (f"{share:.2f}" for share in about["twelve"])
    static = f"{about['static']:,.0f}"
    said = text.ABLATION.format(windows=about["windows"], static=static, low=low, high=high)
    return said + _table(["agent", "over best static", "difference per window [95 %]"], table)


def _share(rows: Rows) -> str:
    table = [
        [
            f"{r['data']}, {r['runs']} runs",
            f"{r['share']:g}",
            f"{r['regret']:,.0f}",
            _interval(r["ratio"], 3),
        ]
        for r in rows
    ]
    chosen = f"{rows[0]['share']:g}"
    header = ["data", "share beforehand", "regret per run", f"over that of {chosen} [95 %]"]
    return text.SHARE.format(chosen=chosen) + _table(header, table)


def _cost(rows: Rows) -> str:
    table = [
        [r["world"], f"{r['auto']:.2f}", f"{r['periodic']:.2f}", f"{r['ratio']:.1f}"] for r in rows
    ]
    mean = np.mean([r["ratio"] for r in rows])
    header = ["world", "auto-gp-ucb, ms", "periodic-gp-ucb, ms", "ratio"]
    return text.COST + _table(header, table) + f"\nMean of the ratios: {mean:.1f}.\n"


def _seen(found: dict[str, Any]) -> str:
    return text.SEEN.format(window=WINDOW, best=f"{found['best']:g}")
