"""The record of a run: packed once, where its columns are made, and checked wherever it arrives.

The process that runs an agent packs the columns of its steps. The worker, the driver and the store
hand the bytes on as they are. Nobody believes them: the driver unpacks them within bounds and
checks names, kinds, lengths and values, and a record that is not what it should be is that run's
failure, in one sentence.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.runs import Run
from evaluation.specs import CHANGES, REFERENCE_ROWS, REFERENCES, TRAINING

MAX_BYTES = 2**30
"""Of a record, packed and unpacked."""
MAX_REASON_LETTERS = 2000
MAX_ACTION_DIM = 256
ROUND_OFF = 1e-9
"""A regret may be below 0 by this much, relative to the largest."""
COLUMNS = {TRAINING: ("interactions", "seconds"), REFERENCES: ("t", "period", *REFERENCE_ROWS)}
"""Columns of the runs that are not those of an agent."""
ANY_SIGN, EXACT = ("t", "period", "action", "reward"), ("interactions", "seconds")
"""Columns that may be below 0, and those that may not even by round-off."""
LEARNED = "learned."
"""Before the names of what is learned, among the columns of a training."""

Columns = Mapping[str, NDArray[Any]]


class RecordError(ValueError):
    """A record that cannot be kept: one sentence that says why."""


@dataclass(frozen=True)
class Record:
    """What came of a run.

    Attributes:
        key: Which run.
        reason: Why it failed, or None; fit for a file and a screen, whatever an agent put into it.
        packed: The columns as ``pack`` writes them; empty if it failed.
        seconds: Time that the whole run took.
        machine: Where it ran.
        sources: The run's, for the record.
    """

    key: str
    reason: str | None = None
    packed: bytes = b""
    seconds: float = 0.0
    machine: dict[str, Any] = field(default_factory=dict)
    sources: str = ""

    def __post_init__(self) -> None:
        if self.reason is not None:
            object.__setattr__(self, "reason", _printable(self.reason))

    @classmethod
    def of(cls, key: str, columns: Columns, **more: Any) -> Record:
        """The record of a run that has not failed."""
        return cls(key, None, pack(columns), **more)

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """One entry per step: t, action, reward, regret, seconds (of the agent).

        Of the references: t, the period, the regret of each and, in worlds that change, when they
        do; of a training: the interactions and seconds that it took, and what was learned.
        """
        return unpack(self.packed) if self.packed else {}

    @property
    def steps(self) -> int:
        """How many steps it has."""
        return len(self.columns.get("t", ()))

    @property
    def regret(self) -> float | None:
        """The sum over the steps, where there is an agent that can regret."""
        return self._total("regret")

    @property
    def agent_seconds(self) -> float | None:
        """Time that the agent took, all steps together."""
        return self._total("seconds")

    def _total(self, name: str) -> float | None:
        column = self.columns.get(name)
        return None if column is None else float(column.sum())


def checked(record: Record, run: Run) -> Record:
    """The record if it is what it should be, else the failure of the run."""
    try:
        if record.key != run.key:
            raise RecordError("the record is of another run")
        if not (math.isfinite(record.seconds) and record.seconds >= 0.0):
            raise RecordError("the run says that it took no time that a clock can show")
        if record.reason is None:
            check(record.columns, run)
    except RecordError as error:
        return Record(run.key, str(error), sources=run.sources)
    return record


def check(columns: Columns, run: Run) -> None:
    """Refuse columns that are not those of this run.

    Raises:
        RecordError: One sentence that names the column.
    """
    training = run.track == TRAINING
    names = COLUMNS.get(run.track, ("t", "action", "reward", "regret", "seconds"))
    extra = {name for name in columns if training and name.startswith(LEARNED)}
    extra |= columns.keys() & {CHANGES} if run.track == REFERENCES else set()
    for name in sorted(set(names) - columns.keys()):
        raise RecordError(f"the record has no column {name!r}")
    for name in sorted(columns.keys() - extra - set(names)):
        raise RecordError(f"the record has a column {name[:40]!r} that nobody asked for")
    steps = 1 if training else columns["t"].size
    if not training and run.horizon not in (None, steps):
        raise RecordError(f"the record has {steps} steps where the run has {run.horizon}")
    for name in names:
        length = 1 + len(columns.get(CHANGES, ())) if name == "period" else steps
        _check_column(name, columns[name], length)
    if CHANGES in extra:
        _check_changes(columns[CHANGES], columns["t"])
    if training and columns["interactions"][0] > run.training_steps:
        raise RecordError("the record has more interactions than training_steps allows")


def _check_column(name: str, column: NDArray[Any], length: int) -> None:
    shape = column.shape[:1] if name == "action" and column.ndim == 2 else column.shape
    if shape != (length,):
        raise RecordError(f"the column {name!r} has the shape {column.shape}, not ({length},)")
    if column.ndim == 2 and not 1 <= column.shape[1] <= MAX_ACTION_DIM:
        raise RecordError(f"the column 'action' has {column.shape[1]} coordinates")
    if column.dtype.kind not in "iuf" or column.dtype.itemsize > 8:
        raise RecordError(f"the column {name!r} has values of the kind {column.dtype}")
    _check_finite(name, column)
    if name == "t" and column.dtype.kind == "f":
        raise RecordError("the column 't' has times that are not whole numbers")
    if name == "t" and (np.diff(column.astype(np.float64)) != 1).any():
        raise RecordError("the column 't' does not count the steps of the run")
    if name not in ANY_SIGN:
        round_off = 0.0 if name in EXACT else ROUND_OFF * max(1.0, float(column.max(initial=0)))
        if column.min(initial=0) < -round_off:
            raise RecordError(f"the column {name!r} has values below 0")


def _check_changes(changes: NDArray[Any], t: NDArray[Any]) -> None:
    """Times of the run after its first, each later than the one before."""
    whole = changes.ndim == 1 and changes.dtype.kind in "iu" and changes.dtype.itemsize <= 8
    ascending = whole and (np.diff([int(t[0]), *changes.tolist(), int(t[-1]) + 1]) > 0).all()
    if not ascending:
        raise RecordError(f"the column {CHANGES!r} has no ascending times within the run")


def _check_finite(name: str, column: NDArray[Any]) -> None:
    if not np.isfinite(column).all():
        raise RecordError(f"the column {name!r} has values that are not finite")
    with np.errstate(over="ignore"):
        if not np.isfinite(column.sum(dtype=np.float64)):  # totals are kept, too
            raise RecordError(f"the column {name!r} adds up to no finite number")


def pack(columns: Columns) -> bytes:
    """Columns as bytes of plain numbers."""
    _check_kinds(columns)
    file = io.BytesIO()
    np.savez_compressed(file, **columns)  # type: ignore[arg-type]
    return file.getvalue()


def unpack(data: bytes) -> dict[str, NDArray[Any]]:
    """The inverse of ``pack``; never runs code from the data, nor grows beyond ``MAX_BYTES``.

    Raises:
        RecordError: If the data are nothing that ``pack`` has written.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            if sum(member.file_size for member in arrays.zip.infolist()) > MAX_BYTES:
                raise RecordError(f"the record unpacks to more than {MAX_BYTES >> 20} MB")
            columns = {name: arrays[name] for name in arrays.files}
    except RecordError:
        raise
    except Exception as error:  # NumPy and zipfile answer damage with nearly any kind of exception
        raise RecordError(f"the record is damaged: {error}") from error
    _check_kinds(columns)
    return columns


def _check_kinds(columns: Columns) -> None:
    for name, column in columns.items():
        if getattr(getattr(column, "dtype", None), "kind", None) not in tuple("biuf"):
            raise RecordError(f"{name[:40]} is not a column of numbers")


def _printable(reason: str) -> str:
    text = reason[: 2 * MAX_REASON_LETTERS].encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() else " " for c in text)[:MAX_REASON_LETTERS]
