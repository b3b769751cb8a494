"""The page of an edition: its groups as boards."""

from __future__ import annotations

from typing import Any

from evaluation.leaderboard.edition import Edition, EditionEntry
from evaluation.leaderboard.standings import Group, groups
from evaluation.report.content import NOTES, About, Board, board_content
from evaluation.report.sheet import Pictures

TIERS = (
    "Trust: hidden-seed (run by the maintainers on seeds that were unknown when the code was "
    "written), replayed (the submitted actions have the claimed regrets; only the authors have run "
    "the agent). The two are ranked apart."
)


def edition_content(edition: Edition) -> dict[str, Any]:
    """Return everything of an edition's page."""
    pictures, found = Pictures(), groups(edition)
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
            TIERS,
            *(f"Refused: {entry.manifest.label} ({entry.verdict.words})." for entry in refused),
        ],
        "boards": [board_content(_board(group), pictures) for group in found],
        "progress": None,
    }


def _board(group: Group) -> Board:
    about = {label: _about(entry) for label, entry in group.entries.items()}
    name = group.title.lower().replace(" ", "-").replace(",", "")
    return Board(name, group.title, TIERS, group.track, group.results, about)


def _about(entry: EditionEntry) -> About:
    manifest = entry.manifest
    settings = ", ".join(f"{name} = {value}" for name, value in manifest.settings.items())
    lines = (
        ("Submission", entry.id),
        ("Run as", manifest.agent),
        ("Settings", settings or "its defaults"),
        ("Training, as declared", f"{manifest.training_steps:,} interactions"),
        ("SHA-256 of its code", manifest.source_sha256),
        ("Submitted", manifest.created),
        ("Machine", f"Python {manifest.machine.get('python')}, {manifest.machine.get('platform')}"),
        *((f"Verdict of {line.time}", line.verdicts[entry.id].words) for line in entry.judged),
    )
    authors = ", ".join(manifest.authors)
    return About(entry.tier, authors, manifest.link, lines, entry.ms_per_step)
