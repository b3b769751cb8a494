"""The content of a page of a store that a sweep may be filling."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from evaluation.report.content import progress_content, store_content
from evaluation.report.sheet import Pictures
from evaluation.results import Results, RunSource
from evaluation.store import Store, StoredRun, StoredSweep, log_of

SHARE_OF_TIME = 0.2
"""At most this part of the time is spent on making content while a sweep wants the cores."""
MAX_REMEMBERED_STEPS = 10**7
"""Of all runs together, 16 bytes each."""
MAX_UNREAD_SECONDS = 5.0
"""Until a store is read again though its files look as before."""

_UNUSED = ("action", "reward")
"""Columns of steps that no content is made from."""

Columns = dict[str, NDArray[Any]]
Look = tuple[tuple[int, int], ...]


class LiveStore:
    """Asked for content again and again, it answers with the same object until there is news.

    To ask costs next to nothing while nobody writes to the store, so it can be asked often: a sweep
    that has ended is shown as soon as its content is made.

    Args:
        path: The store.
        sweep: Name or number of its sweep; the last one by default.
    """

    def __init__(self, path: Path, sweep: str | int | None = None) -> None:
        self._path, self._sweep = path, sweep
        self._pictures, self._memory = Pictures(), _Memory()
        self._seen: tuple[int, int, int, str] | None = None
        self._content: dict[str, Any] = {}
        self._not_before = 0.0
        self._as_of = 0
        self._content_of, self._progress_of = _Unchanged(path), _Unchanged(path)
        self._progress: dict[str, Any] = {}

    def __call__(self) -> dict[str, Any]:
        """The content of now, or of a moment ago while a sweep wants the cores."""
        if self._content_of.holds():
            return self._content
        with Store(self._path, create=False) as store:
            results = self._results(store)
            done = len(results.runs) + len(results.trainings)
            # A run that failed and was tried again counts as done before and after.
            news = (results.sweep.id, done, len(results.failures), results.sweep.hash)
            may = done == results.size or time.monotonic() >= self._not_before
            if news != self._seen and may:
                start, as_of = time.monotonic(), int(time.time())
                results.source = _Remembered(results.source, self._memory)
                content = store_content(results, self._pictures)
                content["progress"]["as_of"] = as_of
                self._content, self._seen, self._as_of = content, news, as_of
                took = time.monotonic() - start
                self._not_before = time.monotonic() + took / SHARE_OF_TIME
        if news == self._seen:
            self._content_of.confirm()
        return self._content

    def _results(self, store: Store) -> Results:
        return Results(store.source(store.find(self._sweep).id))

    def progress(self) -> dict[str, Any]:
        """How far the sweep is now, and of when the content is."""
        if not self._progress_of.holds():
            with Store(self._path, create=False) as store:
                self._progress = progress_content(self._results(store))
            self._progress_of.confirm()
        return {**self._progress, "as_of": self._as_of}


class _Memory:
    """The steps of finished runs, which stay as they are: to unpack them takes most of the time."""

    def __init__(self) -> None:
        self._known: dict[str, Columns] = {}
        self._room = MAX_REMEMBERED_STEPS

    def columns(self, source: RunSource, key: str) -> Columns:
        """The steps of a run, as far as content is made from them."""
        if key in self._known:
            return self._known[key]
        found = source.columns(key)
        kept = {name: column for name, column in found.items() if name not in _UNUSED}
        if kept and self._room > 0:
            self._known[key] = kept
            self._room -= max(map(len, kept.values()))
        return kept


@dataclass(frozen=True)
class _Remembered:
    """A source of which every run is unpacked once."""

    source: RunSource
    memory: _Memory

    @property
    def sweep(self) -> StoredSweep:
        return self.source.sweep

    def runs(self) -> list[StoredRun]:
        return self.source.runs()

    def columns(self, key: str) -> Columns:
        return self.memory.columns(self.source, key)

    def size(self) -> int:
        return self.source.size()

    def machines(self) -> list[dict[str, Any]]:
        return self.source.machines()


class _Unchanged:
    """Whether what was read from a store is still what is in it, told without opening it."""

    def __init__(self, path: Path) -> None:
        self._files = (path, log_of(path))
        self._before: Look | None = None
        self._looked: Look | None = None
        self._confirmed = -math.inf

    def holds(self) -> bool:
        """Look at the files; if this is False, read the store and then ``confirm``."""
        self._looked = tuple(_mark(path) for path in self._files)
        unread = time.monotonic() - self._confirmed
        return self._looked == self._before and unread < MAX_UNREAD_SECONDS

    def confirm(self) -> None:
        """What was read is of the last look, or newer."""
        self._before, self._confirmed = self._looked, time.monotonic()


def _mark(path: Path) -> tuple[int, int]:
    """What changes when a file is written, but for two writes in one tick of the clock."""
    try:
        found = path.stat()
    except OSError:  # there is no log while nobody writes
        return 0, 0
    return found.st_mtime_ns, found.st_size
