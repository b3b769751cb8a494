"""The page of an edition: its groups as boards."""

from __future__ import annotations

from typing import Any

from evaluation.leaderboard.edition import Edition, EditionEntry, standings
from evaluation.page.content import NOTES, About, Board, board_content, settings_text
from evaluation.specs import TRACKS

TIERS = (
    "Trust: hidden-seed (run by the maintainers on seeds that were unknown when the code was "
    "written), replayed (the submitted actions have these regrets; only the authors have run the "
    "agent). The ranking is by the regret on public seeds."
)


def edition_content(edition: Edition) -> dict[str, Any]:
    """Return everything of an edition's page."""
    tracks = {entry.manifest.track for entry in edition.entries() if entry.verdict.passed}
    boards = [_board(edition, track) for track in TRACKS if track in tracks]
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
        "boards": [board_content(board) for board in boards],
        "progress": None,
    }


def _board(edition: Edition, track: str) -> Board:
    results, rows = standings(edition, track)
    about = {label: _about(entry) for label, entry in rows.items()}
    return Board(track, f"Agents, {track}", TIERS, track, results, about)


def _about(entry: EditionEntry) -> About:
    manifest = entry.manifest
    lines = (
        ("Submission", entry.id),
        ("Run as", manifest.agent),
        ("Settings", settings_text(manifest.settings)),
        ("Training, as declared", f"{manifest.training_steps:,} interactions"),
        ("SHA-256 of its code", manifest.source_sha256),
        ("Submitted", manifest.created),
        ("Machine", f"Python {manifest.machine.get('python')}, {manifest.machine.get('platform')}"),
        *((f"Verdict of {line.time}", line.verdicts[entry.id].words) for line in entry.judged),
    )
    seconds = entry.judged[-1].ms_per_step.get(entry.id) if entry.judged else None
    return About(entry.tier, ", ".join(manifest.authors), manifest.link, lines, seconds)
