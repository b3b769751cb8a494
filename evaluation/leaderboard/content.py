"""What the page of an edition says: its accepted submissions as results, in groups.

Groups are never mixed: *verified* (the maintainers have run the agent themselves) and
*self-reported* (the numbers were checked by replay, but nobody else has run the agent), each by
track. Refused ones are named, not ranked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from agents.registry import AgentSpec
from evaluation.leaderboard.edition import MAX_TRIALS, Edition
from evaluation.leaderboard.forms import run_forms, run_names
from evaluation.leaderboard.replay import Columns, played_worlds
from evaluation.leaderboard.standing import Accepted
from evaluation.leaderboard.steps import read_steps
from evaluation.report.content import NOTES, About, Board, board_content
from evaluation.report.sheet import Pictures
from evaluation.results import Results
from evaluation.specs import REFERENCE_ROWS, REFERENCES, TRACKS, AgentEntry, canonical_json
from evaluation.store import StoredRun, StoredSweep, data_sources

_TIERS = (
    "Trust: hidden-seed (run by the maintainers on seeds that nobody could know), re-run (run by "
    "the maintainers on a sample of the public seeds), replayed (the submitted actions have the "
    "claimed regrets). Self-reported agents are ranked apart."
)


VERIFIED = ("re-run", "hidden-seed")
"""Tiers in which the maintainers have run the agent."""
GROUPS = (
    ("verified", "Verified", "The maintainers have run these agents themselves."),
    (
        "self-reported",
        "Self-reported",
        "Replay has confirmed that the submitted actions earn these numbers; nobody but the "
        "authors has run the agents.",
    ),
)


EARLIER = "made with an earlier version"
"""What is said of an entry whose code is not the one that is installed."""


def edition_content(edition: Edition) -> dict[str, Any]:
    """Everything of an edition, after its log and files have been checked."""
    pictures, protocol = Pictures(), edition.protocol()
    lines, accepted = edition.lines(), edition.accepted()
    refused = [one for one in accepted if one.tier == "refused"]
    end = edition.closed
    return {
        "title": "periodic-gp leaderboard",
        "subtitle": f"Edition {edition.name}, protocol {protocol.name}",
        "facts": [
            ["Protocol", protocol.description],
            ["SHA-256 of the protocol (worlds, seeds, limits, data)", edition.challenge],
            ["Opened", lines[0].time],
            ["Last entry" if end is None else "Closed", lines[-1].time],
            ["Public key of the log", str(edition.about["public_key"])],
            ["SHA-256 of the salt", str(edition.about["salt_sha256"])],
            *([["Salt of the hidden seeds", end.salt]] if end is not None else []),
            ["Head of the log", f"{edition.log.head} ({len(lines)} entries)"],
        ],
        "notes": [*NOTES, _TIERS, *_staleness(accepted), *map(_refusal, refused)],
        "boards": [board_content(board, pictures) for board in boards(edition)],
        "progress": None,
    }


def _staleness(accepted: Sequence[Accepted]) -> list[str]:
    """A note on the entries that the installed code did not make, if there are any."""
    stale = [one.manifest.label for one in accepted if one.is_stale]
    words = f"{EARLIER[0].upper()}{EARLIER[1:]} of their code than the one that built this page: "
    return [f"{words}{', '.join(stale)}."] if stale else []


def _refusal(one: Accepted) -> str:
    verdicts = [verdict for line in one.verdicts for verdict in line.verdicts]
    words = [verdict.words for verdict in verdicts if not verdict.passed]
    return f"Refused: {one.manifest.label} ({words[-1]})."


def _about(one: Accepted) -> About:
    manifest, machine = one.manifest, one.manifest.machine
    packages = machine.get("packages")
    versions = packages if isinstance(packages, dict) else {}
    settings = ", ".join(f"{k} = {v}" for k, v in manifest.settings.items())
    earlier = f" ({EARLIER})" if one.is_stale else ""
    lines = [
        ("Submission", manifest.id),
        ("Run as", manifest.agent),
        ("Settings", settings or "its defaults"),
        ("Training, by its author's word", f"{manifest.training_steps:,} interactions"),
        ("SHA-256 of its code", f"{manifest.source_sha256}{earlier}"),
        ("Submitted", manifest.created),
        ("Agent's time, by its author", f"{manifest.agent_seconds:,.1f} s for all runs"),
        ("Machine", f"Python {machine.get('python')}, {machine.get('platform')}"),
        ("Versions", ", ".join(f"{name} {found}" for name, found in versions.items())),
    ]
    if one.trials:
        lines.append(("Trials on hidden seeds", _trials(one)))
    for line in one.verdicts:
        for verdict in line.verdicts:
            outcome = "passed" if verdict.passed else "refused"
            lines.append((f"{verdict.tier}: {outcome}", f"{verdict.words} ({line.time})"))
    authors = ", ".join(manifest.authors)
    return About(one.tier, authors, manifest.link, tuple(lines), one.ms_per_step)


def _trials(one: Accepted) -> str:
    """How often it was tried, and how often nobody knows what came of it."""
    begun = max(line.trial for line in one.trials)
    lost = f", {one.lost_trials} without a verdict" if one.lost_trials else ""
    more = f" (more than the {MAX_TRIALS} that there are)" if begun > MAX_TRIALS else ""
    return f"{begun}{lost}{more}"


def boards(edition: Edition) -> list[Board]:
    """The groups of an edition that have submissions."""
    ranked = [one for one in edition.accepted() if _group(one) is not None]
    played = PlayedEdition(edition, ranked)
    found = []
    for group, title, note in GROUPS:
        for track in TRACKS:
            mine = [one for one in ranked if _group(one) == group and one.manifest.track == track]
            if mine:
                rows = _labelled(mine)
                results = Results(SubmittedRuns(played, rows))
                about = {label: _about(one) for label, one in rows.items()}
                name, shown = f"{group}-{track}", f"{title}, {track}"
                found.append(Board(name, shown, note, track, results, about))
    return found


def _group(one: Accepted) -> str | None:
    if one.tier == "refused":
        return None
    return "verified" if one.tier in VERIFIED else "self-reported"


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


class PlayedEdition:
    """The worlds of an edition, each drawn once, and what its submissions lose in them.

    Args:
        edition: The edition that has accepted the submissions.
        submissions: Which of them.

    Attributes:
        edition: The edition.
        protocol: Its protocol.
        references: Columns of the reference rows, by run.
        columns: Columns of every submission by its id, by run.
    """

    def __init__(self, edition: Edition, submissions: Sequence[Accepted]) -> None:
        self.edition, self.protocol = edition, edition.protocol()
        forms = run_forms(self.protocol)
        # The log knows the hash of these bytes: they were read with care when they were let in.
        actions = {
            one.manifest.id: read_steps(one.steps, forms, trusted=True) for one in submissions
        }
        self.references: list[Columns] = []
        self.columns: dict[str, list[Columns]] = {name: [] for name in actions}
        for i, world in enumerate(played_worlds(self.protocol)):
            self.references.append(world.references())
            for name, chosen in actions.items():
                self.columns[name].append(world.columns(chosen[i]))


@dataclass(frozen=True)
class SubmittedRuns:
    """The runs of submissions and of the references, as results read them.

    Attributes:
        played: The edition that has accepted the submissions.
        rows: The submissions by label.
    """

    played: PlayedEdition
    rows: Mapping[str, Accepted]

    @cached_property
    def sweep(self) -> StoredSweep:
        """What a sweep of these agents would be."""
        edition, protocol = self.played.edition, self.played.protocol
        given = {label: one.manifest for label, one in self.rows.items()}
        entries = tuple(
            AgentEntry(label, AgentSpec(m.agent, m.settings), m.track, m.training_steps)
            for label, m in given.items()
        )
        content = replace(protocol, name=edition.name, agents=entries).to_dict()
        data = data_sources(protocol)
        return StoredSweep(0, edition.challenge, edition.name, content, data, "", "")

    def runs(self) -> list[StoredRun]:
        """All of them, in the order of a store."""
        runs = [run for run, _ in self._found.values()]
        return sorted(runs, key=lambda run: (run.env, run.track, run.agent, run.seed))

    def columns(self, key: str) -> Columns:
        """The steps of a run."""
        return self._found[key][1]

    def size(self) -> int:
        """How many there are."""
        return len(self._found)

    def machines(self) -> list[dict[str, Any]]:
        """None: a submission says itself where it was computed."""
        return []

    @cached_property
    def _found(self) -> dict[str, tuple[StoredRun, Columns]]:
        return {run.key: (run, columns) for run, columns in self._every()}

    def _every(self) -> Iterator[tuple[StoredRun, Columns]]:
        names = run_names(self.played.protocol)
        for name, columns in zip(names, self.played.references, strict=True):
            yield _stored(REFERENCES, REFERENCES, name, columns, None), columns
        for label, one in self.rows.items():
            own = self.played.columns[one.manifest.id]
            for run, columns in zip(one.manifest.runs, own, strict=True):
                name = run.env, run.seed
                yield _stored(label, one.manifest.track, name, columns, run.seconds), columns


def _stored(
    agent: str, track: str, name: tuple[str, int], columns: Columns, seconds: float | None
) -> StoredRun:
    env, seed = name
    regret = None if seconds is None else float(columns["regret"].sum())
    steps, key = len(columns["t"]), canonical_json([agent, env, seed])
    return StoredRun(key, env, agent, track, seed, None, steps, regret, seconds)
