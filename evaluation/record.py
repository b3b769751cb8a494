"""Record of a run: its columns, packed once by the process that has run it.

Workers, driver and store pass the bytes on as they are. A store may come from anywhere: what is
unpacked is bounded, plain numbers.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from evaluation.runs import Run
from evaluation.specs import TRAINING

MAX_BYTES = 2**30
"""Of a record, packed and unpacked."""
MAX_REASON_LETTERS = 2000
LEARNED = "learned."
"""Before the names of what is learned, among the columns of a training."""

Columns = Mapping[str, NDArray[Any]]


class RecordError(ValueError):
    """A record that cannot be kept: one sentence that says why."""


@dataclass(frozen=True)
class Record:
    """Outcome of a run.

    Attributes:
        key: Key of the run.
        reason: Why it failed, or None; printable, whatever an agent put into it.
        packed: The columns as ``pack`` writes them; empty if it failed.
        seconds: Time of the whole run.
        machine: Versions and hardware of the process that ran it.
        sources: Hashes of the code that it depends on.
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
        """Return the record of a run that has not failed."""
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


def check(columns: Columns, run: Run) -> None:
    """Refuse columns that no result can be computed from.

    Raises:
        RecordError: One sentence that names the column.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        sums = {name: np.add.reduce(column, None, np.float64) for name, column in columns.items()}
    for name, total in sums.items():
        if not math.isfinite(total) and not name.startswith(LEARNED):
            raise RecordError(f"the column {name!r} has values that are not finite")
    steps = len(columns.get("t", ()))
    if run.track != TRAINING and run.horizon not in (None, steps):
        raise RecordError(f"the record has {steps} steps where the run has {run.horizon}")


def pack(columns: Columns) -> bytes:
    """Return columns as compressed bytes of plain numbers.

    Raises:
        RecordError: If a column is not one of numbers.
    """
    for name, column in columns.items():
        if column.dtype.kind not in "biuf" or column.dtype.itemsize > 8:
            raise RecordError(f"{name[:40]} is not a column of numbers")
    plain = {name: np.array(column, order="C") for name, column in columns.items()}
    return zlib.compress(safetensors.numpy.save(plain))


def unpack(data: bytes, *, max_bytes: int = MAX_BYTES) -> dict[str, NDArray[Any]]:
    """Return the columns of packed bytes; never runs code from them.

    Raises:
        RecordError: If the bytes are damaged, or unpack to more than ``max_bytes``.
    """
    try:
        plain = zlib.decompressobj().decompress(data, max_bytes + 1)
        if len(plain) > max_bytes:
            raise RecordError(f"the record unpacks to more than {max_bytes:,} bytes")
        return safetensors.numpy.load(plain)
    except (zlib.error, safetensors.SafetensorError, KeyError, ValueError) as error:
        if isinstance(error, RecordError):
            raise
        raise RecordError(f"the record is damaged: {error}") from error


def _printable(reason: str) -> str:
    text = reason[: 2 * MAX_REASON_LETTERS].encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() else " " for c in text)[:MAX_REASON_LETTERS]
