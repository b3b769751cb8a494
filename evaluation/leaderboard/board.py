"""Accepted submissions as results, so that tables and pictures are made as of any sweep.

Groups are never mixed: *verified* (the maintainers have run the agent themselves) and
*self-reported* (the numbers were checked by replay, but nobody else has run the agent), each by
track. Refused ones are named, not ranked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.registry import AgentSpec
from evaluation.leaderboard.bundle import STEPS
from evaluation.leaderboard.edition import Accepted, Edition
from evaluation.leaderboard.replay import action_width, expected_times
from evaluation.leaderboard.steps import read_steps
from evaluation.leaderboard.submit import run_names
from evaluation.protocol.entries import TRACKS, AgentEntry
from evaluation.protocol.protocol import REFERENCE_ROWS, REFERENCES, Protocol
from evaluation.protocol.world_spec import WorldSpec
from evaluation.results import Results
from evaluation.running.record import Record
from evaluation.running.run import Run
from evaluation.store import Store

VERIFIED = ("re-run", "hidden-seed")
"""Tiers in which the maintainers have run the agent."""


@dataclass(frozen=True)
class Board:
    """Submissions that may be ranked with each other.

    Attributes:
        id: For addresses.
        title: For people.
        note: What the group has in common.
        track: Of all of them.
        results: Their runs.
        rows: By label: the submission.
    """

    id: str
    title: str
    note: str
    track: str
    results: Results
    rows: dict[str, Accepted]


GROUPS = (
    ("verified", "Verified", "The maintainers have run these agents themselves."),
    (
        "self-reported",
        "Self-reported",
        "Replay has confirmed that the submitted actions earn these numbers; nobody but the "
        "authors has run the agents.",
    ),
)


def boards(edition: Edition) -> list[Board]:
    """The groups of an edition that have submissions."""
    protocol, accepted = edition.protocol(), edition.accepted()
    found = []
    for group, title, note in GROUPS:
        for track in TRACKS:
            mine = [
                one
                for one in accepted
                if one.tier != "refused"
                and (one.tier in VERIFIED) == (group == "verified")
                and one.manifest.track == track
            ]
            if mine:
                rows = _labelled(mine)
                results = _results(edition, protocol, rows)
                name = f"{title}, {track}"
                found.append(Board(f"{group}-{track}", name, note, track, results, rows))
    return found


def _labelled(accepted: Sequence[Accepted]) -> dict[str, Accepted]:
    """Under labels of their own: equal names, and names of reference rows, get a number."""
    taken = {*REFERENCE_ROWS, REFERENCES}
    rows: dict[str, Accepted] = {}
    for one in accepted:
        label, number = one.manifest.label, 2
        while label in taken:
            label, number = f"{one.manifest.label} ({number})", number + 1
        taken.add(label)
        rows[label] = one
    return rows


def _results(edition: Edition, protocol: Protocol, rows: dict[str, Accepted]) -> Results:
    entries = tuple(
        AgentEntry(
            label,
            AgentSpec(one.manifest.agent, one.manifest.settings),
            one.manifest.track,
            one.manifest.training_steps,
        )
        for label, one in rows.items()
    )
    judged = replace(protocol, name=edition.name, agents=entries)
    names, times = run_names(protocol), expected_times(protocol)
    width = action_width(protocol)
    outcomes: list[tuple[Run, dict[str, Any]]] = []
    for i, ((env, seed), columns) in enumerate(edition.references().items()):
        outcomes.append((_run(protocol, f"{i}", env, REFERENCES, REFERENCES, seed), columns))
    for label, one in rows.items():
        # The log knows the hash of this file: it was read with care when it was let in.
        steps = (one.folder / STEPS).read_bytes()
        steps_of_runs = read_steps(steps, times, width, trusted=True)
        parts = zip(names, steps_of_runs, one.regrets(), strict=True)
        for i, ((env, seed), own, regret) in enumerate(parts):
            run = _run(protocol, f"{label} {i}", env, label, one.manifest.track, seed)
            outcomes.append((run, {**own, "regret": regret}))
    store = Store()
    stored = store.begin(judged, [run for run, _ in outcomes])
    for run, columns in outcomes:
        store.save(Record.of(run.key, columns))
    return Results(store, stored)


def _run(protocol: Protocol, key: str, env: str, agent: str, track: str, seed: int) -> Run:
    return Run(key, env, agent, track, seed, WorldSpec(env), None, protocol.limits, None, "")
