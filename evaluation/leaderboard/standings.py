"""The groups of an edition that are ranked with each other, as results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.leaderboard.edition import Edition, EditionEntry
from evaluation.leaderboard.replay import played_worlds, run_names
from evaluation.leaderboard.verify import submitted_agent
from evaluation.protocol import Protocol
from evaluation.record import Record
from evaluation.references import reference_columns
from evaluation.results import Results
from evaluation.runs import runs_of
from evaluation.specs import REFERENCE_ROWS, REFERENCES, TRACKS
from evaluation.store import Store

TITLES = {"hidden-seed": "Verified on hidden seeds", "replayed": "Self-reported"}
"""Tiers that are ranked, each apart."""


@dataclass(frozen=True)
class Group:
    """Submissions of one tier and track.

    Attributes:
        title: Name of the group.
        track: Track of its agents.
        results: Public runs of the submissions and the reference rows.
        entries: Submissions by the label of their row.
    """

    title: str
    track: str
    results: Results
    entries: Mapping[str, EditionEntry]


def groups(edition: Edition) -> list[Group]:
    """Return the groups of an edition that have submissions; refused ones are in none."""
    entries, found = edition.entries(), []
    for tier, title in TITLES.items():
        for track in TRACKS:
            own = [e for e in entries if e.tier == tier and e.manifest.track == track]
            if own:
                rows = _labelled(own)
                results = _results(edition.protocol, rows)
                found.append(Group(f"{title}, {track}", track, results, rows))
    return found


def _labelled(entries: Sequence[EditionEntry]) -> dict[str, EditionEntry]:
    """Give every row a label of its own: a label that is taken gets the start of the id."""
    rows: dict[str, EditionEntry] = {}
    for entry in entries:
        label = entry.manifest.label
        taken = label in rows or label in (*REFERENCE_ROWS, REFERENCES)
        rows[f"{label} ({entry.id[:8]})" if taken else label] = entry
    return rows


def _results(protocol: Protocol, rows: Mapping[str, EditionEntry]) -> Results:
    """Replay the submissions into a store in memory."""
    store = Store()
    listed = [replace(submitted_agent(row.manifest), label=label) for label, row in rows.items()]
    every = {(run.env, run.seed): run for run in runs_of(protocol) if run.track == REFERENCES}
    references = [every[name] for name in run_names(protocol)]
    runs = {
        entry.label: [
            replace(run, agent=entry.label, track=entry.track, key=f"{run.key} {entry.label}")
            for run in references
        ]
        for entry in listed
    }
    played = [*references, *(run for own in runs.values() for run in own)]
    sweep = store.begin(replace(protocol, agents=tuple(listed)), played)
    for place, world in enumerate(played_worlds(protocol)):
        store.save(Record.of(references[place].key, reference_columns(world.env)))
        for label, row in rows.items():
            columns = world.columns(row.submission.actions[place])
            steps = len(columns["t"])
            seconds = np.full(steps, row.manifest.runs[place].seconds / steps)
            store.save(Record.of(runs[label][place].key, {**columns, "seconds": seconds}))
    return Results(store.source(sweep.id))
