"""What a page of results says: numbers from results, as plain data for ``page.render``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from evaluation.protocol.protocol import REFERENCE_ROWS
from evaluation.report.comparisons import THRESHOLDS, pairs, profiles, sensitivity
from evaluation.report.numbers import number, numbers, triple
from evaluation.report.sheet import Sheet
from evaluation.report.worlds import Pictures
from evaluation.results import Results
from evaluation.summary import overall, table

NOTES = (
    "Normalised regret is 0 for the oracle, which takes the best action at every step, and 1 for "
    "choosing at random. The ranking is by its interquartile mean over all runs of all worlds.",
    "Intervals cover 95 %, by drawing whole runs again. Agents met the same worlds and the same "
    "noise, so differences are paired.",
    "In a comparison of two, better means that the 95 % interval of the mean difference is clear "
    "of zero. It is not corrected for looking at many pairs: some will be clear by chance.",
)


@dataclass(frozen=True)
class About:
    """What is known of a row besides its numbers."""

    tier: str | None = None
    authors: str = ""
    link: str | None = None
    provenance: tuple[tuple[str, str], ...] = ()
    ms_per_step: float | None = None

    def content(self) -> dict[str, Any]:
        """For the row."""
        return {
            "tier": self.tier,
            "authors": self.authors,
            "link": self.link,
            "provenance": [list(pair) for pair in self.provenance],
        }


def board_content(
    results: Results,
    *,
    id: str,
    title: str,
    note: str,
    track: str,
    about: Mapping[str, About],
    pictures: Pictures,
) -> dict[str, Any]:
    """A group of agents that are ranked with each other.

    Args:
        results: Their runs.
        id: For addresses.
        title: For people.
        note: What they have in common.
        track: Of the agents.
        about: By label.
        pictures: Of the worlds.
    """
    means, ranked = table(results, track=track), overall(results, track=track)
    order = _order(means, ranked)
    agents = list(order)
    sheets = [Sheet.of(results, t, track, table=means, agents=agents) for t in results.tasks]
    shapes = profiles(results, track)
    rows = [
        {
            "agent": agent,
            "rank": place if complete else None,
            **_overall(ranked, agent, about.get(agent, About()).ms_per_step),
            **about.get(agent, About()).content(),
            "envs": [sheet.agent(agent) for sheet in sheets],
            "profile": shapes.get(agent),
        }
        for place, (agent, complete) in enumerate(order.items(), start=1)
    ]
    return {
        "id": id,
        "title": title,
        "note": note,
        "envs": [sheet.about(pictures) for sheet in sheets],
        "thresholds": numbers(THRESHOLDS),
        "rows": rows,
        "references": [
            {"agent": name, "envs": [sheet.reference(name) for sheet in sheets]}
            for name in REFERENCE_ROWS
        ],
        "pairs": pairs(results, agents, track),
        "sensitivity": sensitivity(results, agents, track),
    }


def progress_content(results: Results) -> dict[str, Any]:
    """How far a run is."""
    failures = [[c.agent, c.env, str(c.seed), c.reason or ""] for c in results.failures]
    return {
        "done": len(results.runs) + len(results.trainings),
        "of": results.size,
        "failed": len(failures),
        "failures": failures[:50],
    }


def _order(tasks: pd.DataFrame, ranked: pd.DataFrame) -> dict[str, bool]:
    """Agents, the best first; those that have not finished every world follow, without a rank."""
    first = {} if ranked.empty else {str(agent): True for agent in ranked["agent"]}
    if tasks.empty:
        return first
    rest = tasks[~tasks["agent"].isin([*first, *REFERENCE_ROWS])]
    means = rest.groupby("agent")["normalised"].mean().sort_values()
    return {**first, **{str(agent): False for agent in means.index}}


def _overall(ranked: pd.DataFrame, agent: str, measured: float | None) -> dict[str, Any]:
    rows = ranked[ranked["agent"] == agent] if not ranked.empty else ranked
    if rows.empty:
        return {"normalised": None, "mean_rank": None, "ms_per_step": None, "complete": False}
    row = rows.iloc[0]
    return {
        "normalised": triple(row["normalised"], row["normalised_low"], row["normalised_high"]),
        "mean_rank": triple(row["rank"], row["rank_low"], row["rank_high"]),
        "ms_per_step": number(row["ms_per_step"] if measured is None else measured),
        "complete": True,
    }
