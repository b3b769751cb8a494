"""What the page of an edition says."""

from __future__ import annotations

from typing import Any

from evaluation.leaderboard.board import boards
from evaluation.leaderboard.edition import Accepted, Edition
from evaluation.report.content import NOTES, About, board_content
from evaluation.report.worlds import Pictures

_TIERS = (
    "Trust: hidden-seed (run by the maintainers on seeds that nobody could know), re-run (run by "
    "the maintainers on a sample of the public seeds), replayed (the submitted actions earn the "
    "submitted rewards). Self-reported agents are ranked apart."
)


def edition_content(edition: Edition) -> dict[str, Any]:
    """Everything of an edition, after its log and files have been checked."""
    pictures = Pictures()
    shown = [
        board_content(
            board.results,
            id=board.id,
            title=board.title,
            note=board.note,
            track=board.track,
            about={label: _about(one) for label, one in board.rows.items()},
            pictures=pictures,
        )
        for board in boards(edition)
    ]
    refused = [one for one in edition.accepted() if one.tier == "refused"]
    entries = edition.log.entries()
    return {
        "title": "periodic-gp leaderboard",
        "subtitle": f"Edition {edition.name}, protocol {edition.about['protocol']['name']}",
        "facts": [
            ["Protocol", str(edition.about["protocol"]["description"])],
            ["SHA-256 of the protocol (worlds, seeds, limits, data)", edition.challenge],
            ["Opened", str(entries[0]["time"])],
            ["Last verdict", str(entries[-1]["time"])],
            ["Public key of the log", str(edition.about["public_key"])],
            ["SHA-256 of the salt", str(edition.about["salt_sha256"])],
            ["Head of the log", f"{edition.log.head} ({len(entries)} entries)"],
        ],
        "notes": [*NOTES, _TIERS, *map(_refusal, refused)],
        "boards": shown,
        "progress": None,
    }


def _refusal(one: Accepted) -> str:
    verdicts = [verdict for entry in one.verdicts for verdict in entry["verdicts"]]
    words = [verdict["words"] for verdict in verdicts if not verdict["passed"]]
    return f"Refused: {one.manifest.label} ({words[-1]})."


def _about(one: Accepted) -> About:
    manifest, machine = one.manifest, one.manifest.machine
    packages = machine.get("packages")
    versions = packages if isinstance(packages, dict) else {}
    settings = ", ".join(f"{k} = {v}" for k, v in manifest.settings.items())
    lines = [
        ("Submission", manifest.id),
        ("Run as", manifest.agent),
        ("Settings", settings or "its defaults"),
        ("Training, by its author's word", f"{manifest.training_steps:,} interactions"),
        ("SHA-256 of its code", manifest.source_sha256 or "built in"),
        ("Submitted", manifest.created),
        ("Agent's time, by its author", f"{manifest.agent_seconds:,.1f} s for all runs"),
        ("Machine", f"Python {machine.get('python')}, {machine.get('platform')}"),
        ("Versions", ", ".join(f"{name} {found}" for name, found in versions.items())),
    ]
    for entry in one.verdicts:
        for verdict in entry["verdicts"]:
            outcome = "passed" if verdict["passed"] else "refused"
            lines.append((f"{verdict['tier']}: {outcome}", f"{verdict['words']} ({entry['time']})"))
    authors = ", ".join(manifest.authors)
    return About(one.tier, authors, manifest.link, tuple(lines), one.ms_per_step)
