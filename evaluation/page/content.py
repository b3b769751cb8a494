"""Content of a page of results: plain data for ``html.render``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from evaluation.columns import least_runs, page_columns
from evaluation.exclusions import excluded, excluded_kinds, parts
from evaluation.page.worlds import band, cells, number, numbers, world_content
from evaluation.plots import colour_of, dashes_of, looks, profile_bands
from evaluation.results import Results
from evaluation.specs import REFERENCE_ROWS
from evaluation.statistics import MIN_RUNS, middle_half, paired_matrix, ranks_of
from evaluation.tables import overall_table, task_table
from periodic_envs.arrays import Array

NOTES = (
    "Normalised regret is 0 for the oracle, which takes the best action at every step, and 1 for "
    "choosing at random. The ranking is by its interquartile mean over all runs of all worlds: "
    "the best and the worst quarter of the runs do not count. In one world it is the mean regret "
    "as a share of the mean regret of choosing at random: there every run counts, and the order "
    "may be another one.",
    "Intervals and bands cover 95 %, by drawing whole runs again; there are none with fewer than "
    f"{MIN_RUNS} runs. In the ranking and the profiles the runs of all worlds count together: two "
    f"or three worlds need {least_runs(2)} runs each, four or more {least_runs(4)}. Mean ranks "
    f"need {MIN_RUNS} runs of each.",
    "Agents met the same worlds and the same noise, so differences are paired. Their intervals "
    f"need {MIN_RUNS} common runs, in a comparison over all worlds, too.",
    "In a comparison of two, better means that the 95 % interval of the mean difference is clear "
    "of zero. It is not corrected for looking at many pairs: some will be clear by chance.",
)
NOTE = "Results of a store: they are not verified."
THRESHOLDS = np.linspace(-0.2, 1.0, 61)
"""Scores at which profiles are shown."""


@dataclass(frozen=True)
class About:
    """Content of a row besides its numbers.

    Attributes:
        tier: The last tier that a submission has passed.
        authors: Its authors.
        link: Address with more information.
        provenance: Names and values of other facts.
        ms_per_step: The agent's time per step as the maintainers measured it.
        only: "arms only" or "boxes only" of an agent that declares so and is excluded elsewhere.
    """

    tier: str | None = None
    authors: str = ""
    link: str | None = None
    provenance: tuple[tuple[str, str], ...] = ()
    ms_per_step: float | None = None
    only: str | None = None

    def content(self, *, complete: bool) -> dict[str, Any]:
        """Return a part of the row; a time that the maintainers measured replaces the author's."""
        measured = complete and self.ms_per_step is not None
        return {
            **({"ms_per_step": number(self.ms_per_step)} if measured else {}),
            "tier": self.tier,
            "only": self.only,
            "authors": self.authors,
            "link": self.link,
            "provenance": [list(pair) for pair in self.provenance],
        }


@dataclass(frozen=True)
class Board:
    """A group of agents that are ranked with each other.

    Attributes:
        id: The board's name in addresses.
        title: The board's name for people.
        note: What they have in common.
        track: Track of the agents.
        results: Their runs.
        about: What is known of each agent, by its label.
    """

    id: str
    title: str
    note: str
    track: str
    results: Results
    about: Mapping[str, About]


def board_content(board: Board) -> dict[str, Any]:
    """Return the content of a board."""
    results, track = board.results, board.track
    means, ranked = task_table(results, track=track), overall_table(results, track=track)
    order = _order(means, ranked)
    agents, look = list(order), looks(order)
    worlds = [
        world_content(results, task, track, table=means, agents=agents) for task in results.tasks
    ]
    shapes = profiles(results, track)
    shown = page_columns("overall", track=track)
    of_worlds = page_columns("task", track=track, changes=results.has_changes)
    totals = {str(row["agent"]): cells(shown, row) for row in ranked.to_dict("records")}
    rows = [
        {
            **totals.get(agent, dict.fromkeys(column.key for column in shown)),
            **board.about.get(agent, About()).content(complete=complete),
            "agent": agent,
            "look": [colour_of(look[agent]), dashes_of(look[agent])],
            "rank": place if complete else None,
            "complete": complete,
            "envs": [own.get(agent) for _, own in worlds],
            "profile": shapes.get(agent),
        }
        for place, (agent, complete) in enumerate(order.items(), start=1)
    ]
    return {
        "id": board.id,
        "title": board.title,
        "note": board.note,
        "columns": [column.about() for column in shown],
        "world_columns": [column.about() for column in of_worlds],
        "envs": [about for about, _ in worlds],
        "thresholds": numbers(THRESHOLDS),
        "rows": rows,
        "references": [
            {"agent": name, "envs": [own.get(name) for _, own in worlds]} for name in REFERENCE_ROWS
        ],
        "pairs": pairs(results, agents, track),
        "sensitivity": sensitivity(results, agents, track),
    }


def progress_content(results: Results) -> dict[str, Any]:
    """Return the progress of a sweep."""
    failures = [[c.agent, c.env, str(c.seed), c.reason or ""] for c in results.failures]
    return {
        "done": len(results.runs) + len(results.trainings),
        "of": results.size,
        "failed": len(failures),
        "failures": failures[:50],
    }


def _order(tasks: pd.DataFrame, ranked: pd.DataFrame) -> dict[str, bool]:
    """Return agents, the best first; those without runs in every world follow, without a rank."""
    first = {str(agent): True for agent in ranked["agent"]}
    rest = tasks[~tasks["agent"].isin([*first, *REFERENCE_ROWS])]
    means = rest.groupby("agent")["normalised"].mean().sort_values()
    return {**first, **{str(agent): False for agent in means.index}}


def store_content(results: Results) -> dict[str, Any]:
    """Return the content of the page of a sweep."""
    machines = [
        f"Python {m.get('python', '?')}, {m.get('platform', '?')}" for m in results.machines
    ]
    return {
        "title": f"{results.sweep.name}: results",
        "subtitle": results.sweep.protocol["description"],
        "facts": [
            ["Protocol hash", results.sweep.hash],
            ["Started", results.sweep.started[:19].replace("T", " ") + " UTC"],
            ["Command", results.sweep.command],
            ["Machine", "; ".join(machines)],
        ],
        "notes": [*NOTES, *excluded(results)],
        "boards": [board_content(board) for board in _boards(results)],
        "progress": progress_content(results),
    }


def _boards(results: Results) -> Iterator[Board]:
    """Yield a board for each track, and for each part of the worlds that agents are limited to."""
    for track in results.tracks:
        yield Board(track, f"Agents, {track}", NOTE, track, results, _about(results))
        for place, (title, part) in enumerate(parts(results, track), 1):
            worlds = f"{len(part.tasks)} of {len(results.tasks)} worlds"
            note = f"{title}. {NOTE}"
            yield Board(f"{track}-{place}", f"{track}, {worlds}", note, track, part, _about(part))


def _about(results: Results) -> dict[str, About]:
    """Return what a store has on each agent."""
    only = excluded_kinds(results)
    return {
        entry["label"]: About(
            provenance=(("Run as", entry["name"]), ("Settings", _settings(entry))),
            only=only.get(entry["label"]),
        )
        for entry in results.sweep.protocol["agents"]
    }


def _settings(entry: dict[str, Any]) -> str:
    return ", ".join(f"{k} = {v}" for k, v in entry["settings"].items()) or "its defaults"


def profiles(results: Results, track: str) -> dict[str, Any]:
    """Return the share of runs above each score for each agent."""
    found = profile_bands(results, track, THRESHOLDS, resamples=400)
    return {agent: band(share) for agent, share in found.items()}


def pairs(results: Results, order: list[str], track: str) -> dict[str, Any]:
    """Return row minus row in every world, and over all of them."""
    scores = results.scores(track)
    everywhere = 1.0 - scores.values.mean(axis=2) if scores.agents else None
    return {
        "envs": [_task_pairs(results, task, order, track) for task in results.tasks],
        "all": None if everywhere is None else _matrix(everywhere, scores.agents, order),
    }


def _task_pairs(results: Results, task: str, order: list[str], track: str) -> dict[str, Any] | None:
    regrets = results.regrets(task, track)
    present = [agent for agent in order if agent in regrets]
    common = regrets[present].dropna() if present else regrets.iloc[:0]
    return None if common.empty else _matrix(common.to_numpy().T, present, order)


def _matrix(totals: Array, agents: list[str], order: list[str]) -> dict[str, Any]:
    """Return row minus row of totals (agents, runs), as a matrix of all rows of the table."""
    found = paired_matrix(totals)
    named = {"difference": found.estimate, "p": found.p_value}
    if totals.shape[1] >= MIN_RUNS:
        named |= {"low": found.low, "high": found.high}
    places = [order.index(agent) for agent in agents]
    padded = {}
    for name, matrix in named.items():
        whole = np.full((len(order), len(order)), np.nan)
        whole[np.ix_(places, places)] = matrix
        padded[name] = [numbers(row) for row in whole]
    return padded


def sensitivity(results: Results, order: list[str], track: str) -> dict[str, Any] | None:
    """Return ranks without one world and by other averages."""
    scores = results.scores(track)
    values = scores.values
    if len(scores.agents) < 2:
        return None
    ways = {"all worlds": _iqm(values)}
    if len(scores.tasks) > 1:
        for i, task in enumerate(scores.tasks):
            ways[f"without {task}"] = _iqm(np.delete(values, i, axis=2))
    ways |= {"mean": values.mean((1, 2)), "median": np.median(values, axis=(1, 2))}
    ranks = np.array([ranks_of(way) for way in ways.values()]).T
    by_agent = {agent: numbers(row) for agent, row in zip(scores.agents, ranks, strict=True)}
    nothing = [None] * len(ways)
    return {"columns": list(ways), "ranks": [by_agent.get(agent, nothing) for agent in order]}


def _iqm(scores: Array) -> Array:
    return middle_half(scores.reshape(len(scores), -1))
