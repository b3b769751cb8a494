"""Content of the page of an edition, with a board for each track."""

from __future__ import annotations

from typing import Any

from agents.registry import AgentSpec
from evaluation.leaderboard.edition import Edition, EditionEntry, standings
from evaluation.page.content import NOTES, about_agent, board_content, number
from evaluation.specs import TRACKS

TIERS = (
    "Trust is the verification tier of a submission. For the tier hidden-seed, the maintainers "
    "have run the agent on seeds that were unknown when the code was written. For the tier "
    "replayed, the regrets of the submitted actions are verified, but only the authors have run "
    "the agent. Agents are ranked by their regret on public seeds."
)


def edition_content(edition: Edition) -> dict[str, Any]:
    """Return the content of the page of an edition."""
    tracks = {entry.manifest.track for entry in edition.entries() if entry.verdict.passed}
    refused = [entry for entry in edition.entries() if entry.tier == "refused"]
    return {
        "title": "periodic-gp leaderboard",
        "subtitle": f"Edition {edition.name}",
        "facts": [
            ["Protocol", edition.protocol.description],
            ["SHA-256 of the protocol (worlds, seeds, limits, data)", edition.protocol.challenge],
            ["Opened", edition.lines[0].time],
            ["Last entry", edition.lines[-1].time],
            ["Head of the log", f"{edition.head} ({len(edition.lines)} entries)"],
        ],
        "notes": [
            *NOTES,
            *(f"Refused: {entry.manifest.label} ({entry.verdict.words})." for entry in refused),
        ],
        "remarks": [TIERS],
        "boards": [_board(edition, track) for track in TRACKS if track in tracks],
    }


def _board(edition: Edition, track: str) -> dict[str, Any]:
    results, entries = standings(edition, track)
    about = {label: _about(entry) for label, entry in entries.items()}
    return board_content(results, track, about)


def _about(entry: EditionEntry) -> dict[str, Any]:
    manifest = entry.manifest
    facts = (
        ("Submission", entry.id),
        ("Training, as declared", f"{manifest.training_steps:,} interactions"),
        ("SHA-256 of the code", manifest.source_sha256),
        ("Submitted", manifest.created),
        ("Machine", f"Python {manifest.machine.get('python')}, {manifest.machine.get('platform')}"),
        *((f"Verdict of {line.time}", line.verdicts[entry.id].words) for line in entry.judged),
    )
    known: dict[str, Any] = {"tier": entry.tier, "link": manifest.link}
    measured = entry.judged[-1].ms_per_step.get(entry.id) if entry.judged else None
    if measured is not None:
        known["ms_per_step"] = number(measured)
    agent = AgentSpec(manifest.agent, manifest.settings)
    return about_agent(agent, *facts, authors=", ".join(manifest.authors), **known)
