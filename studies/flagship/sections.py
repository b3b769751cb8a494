"""The sections of the page about tables, cities and years, and about the parts of the agent."""

from __future__ import annotations

import numpy as np

from studies.flagship import AUTO, Rows, ratio_of, text
from studies.flagship.written import interval, markdown, year_range


def tables(rows: Rows) -> str:
    """One table for each set of windows, least regret first."""
    parts = [text.TABLES]
    for task in dict.fromkeys(str(row["task"]) for row in rows):
        mine = [row for row in rows if row["task"] == task]
        about, ordered = mine[0], sorted(mine, key=lambda row: float(row["fixed"][0]))
        season = " and ".join(f"{period:g}" for period in about["period"])
        words = f"{task} ({about['windows']} x {about['steps']:,} steps, season {season}):\n"
        table = [
            [
                r["agent"],
                *(interval(r[key]) if key in r else "" for key in ("fixed", "last", "random")),
            ]
            for r in ordered
        ]
        header = ["agent", "over best fixed [95 %]", "last third", "over random"]
        parts.append(f"{words}\n{markdown(header, table)}")
    return "\n".join(parts)


def rideshare(rows: Rows) -> str:
    """The mean, the median and the worst two runs."""
    table = [
        [
            f"{r['steps']:,} steps, seeds {r['seeds']}",
            r["agent"],
            interval(r["random"], 3),
            f"{r['median']:.3f}",
            ", ".join(f"{share:.3f}" for share in r["worst"]),
        ]
        for r in rows
    ]
    header = ["runs", "agent", "over random [95 %]", "median", "worst two"]
    return text.RIDESHARE + markdown(header, table)


def madrid_years(rows: Rows) -> str:
    """Both objectives, told nothing and with a prior."""
    about, years = rows[0], rows[0]["years"]
    low, high = ("", "") if "twelve" not in about else (f"{x:.2f}" for x in about["twelve"])
    twelve = text.TWELVE.format(low=low, high=high) if low else ""
    words = {"years": year_range(years), "range": year_range(years, ":"), "twelve": twelve}
    table = [
        [r["goal"], r["agent"], f"{r['regret']:,.0f}", interval(r["static"], 3)]
        for r in sorted(rows, key=lambda r: (r["goal"], float(r["regret"])))
    ]
    header = ["objective", "agent", "regret per window", "over best static [95 %]"]
    return text.MADRID_YEARS.format(windows=about["windows"], **words) + markdown(header, table)


def changed_city(rows: Rows) -> str:
    """Every kind of change with its worst world."""
    table = []
    for change in dict.fromkeys(str(row["change"]) for row in rows):
        mine = [row for row in rows if row["change"] == change]
        auto, prior, fixed = (
            np.array([r[key] for r in mine]) for key in ("auto", "prior", "fixed")
        )
        worst = max(mine, key=lambda row: float(row["ratio"]))
        ratios = [interval(ratio_of(auto, fixed)), interval(ratio_of(prior, fixed))]
        ratios.append(interval(ratio_of(prior, auto)))
        table.append([change, str(len(mine)), *ratios, f"{worst['ratio']:.2f} ({worst['start']})"])
    header = ["change", "worlds", "told nothing, over best static", "prior, over best static"]
    header += ["prior over told nothing [95 %]", "the worst"]
    return text.CHANGED_CITY + markdown(header, table)


def ablation(rows: Rows) -> str:
    """One line for each setting and set of data."""
    table = [[r["setting"], f"{r['set']}, {r['runs']} runs", interval(r["ratio"], 3)] for r in rows]
    return text.ABLATION + markdown(["setting", "data", f"over {AUTO} [95 %]"], table)
