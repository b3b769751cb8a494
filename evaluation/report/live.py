"""The content of a page about one's own store, new when the store has changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluation.report.content import NOTES, About, Board, board_content, progress_content
from evaluation.report.worlds import Pictures
from evaluation.results import Results
from evaluation.store import Store

NOTE = "Results of one's own store: nobody has verified them."
SHARE_OF_TIME = 0.2
"""At most this part of the time is spent on making content while a sweep wants the cores."""


def store_content(results: Results, pictures: Pictures) -> dict[str, Any]:
    """What a page says about a sweep in a store."""
    machines = [
        f"Python {m.get('python', '?')}, {m.get('platform', '?')}" for m in results.machines
    ]
    about = {
        entry["label"]: About(
            provenance=(("Run as", entry["name"]), ("Settings", _settings(entry)))
        )
        for entry in results.sweep.protocol["agents"]
    }
    return {
        "title": f"{results.sweep.name}: results",
        "subtitle": results.sweep.protocol["description"],
        "facts": [
            ["Protocol hash", results.sweep.hash],
            ["Started", results.sweep.started[:19].replace("T", " ") + " UTC"],
            ["Command", results.sweep.command],
            ["Machine", "; ".join(machines)],
        ],
        "notes": list(NOTES),
        "boards": [
            board_content(Board(track, f"Agents, {track}", NOTE, track, results, about), pictures)
            for track in results.tracks
        ],
        "progress": progress_content(results),
    }


def _settings(entry: dict[str, Any]) -> str:
    return ", ".join(f"{k} = {v}" for k, v in entry["settings"].items()) or "its defaults"


class LiveStore:
    """Asked for content again and again, it answers with the same object until there is news.

    Args:
        path: The store.
        choose: Which of its sweeps.
    """

    def __init__(self, path: Path, choose: Callable[[Store], Results]) -> None:
        self._path, self._choose = path, choose
        self._pictures = Pictures()
        self._seen: tuple[int, int, str] | None = None
        self._content: dict[str, Any] = {}
        self._not_before = 0.0
        self._as_of = 0

    def __call__(self) -> dict[str, Any]:
        """The content of now, or of a moment ago while a sweep wants the cores."""
        with Store(self._path, create=False) as store:
            results = self._choose(store)
            done = len(results.runs) + len(results.trainings)
            news = (results.sweep.id, done, results.sweep.hash)
            may = done == results.size or time.monotonic() >= self._not_before
            if news != self._seen and may:
                start, self._as_of = time.monotonic(), int(time.time())
                self._content, self._seen = store_content(results, self._pictures), news
                self._content["progress"]["as_of"] = self._as_of
                took = time.monotonic() - start
                self._not_before = time.monotonic() + took / SHARE_OF_TIME
        return self._content

    def progress(self) -> dict[str, Any]:
        """How far the sweep is now, and of when the content is."""
        with Store(self._path, create=False) as store:
            return {**progress_content(self._choose(store)), "as_of": self._as_of}
