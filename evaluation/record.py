"""Records of runs: columns of numbers, packed by the process that executes the run.

The driver (the process that distributes the runs) and the store pass the packed bytes on unchanged.
Stores are untrusted, so unpacking limits the size and returns only arrays of numbers.
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

from agents.errors import CodedError
from evaluation.runs import Run
from evaluation.specs import TRAINING

MAX_BYTES = 2**30
"""Maximum size of an unpacked record in bytes."""
MAX_REASON_LETTERS = 2000
LEARNED = "learned."
"""Prefix of the columns of learned arrays in the record of a training run."""

Columns = Mapping[str, NDArray[Any]]


class RecordError(CodedError, ValueError):
    """Raised if a record is invalid; the message is one sentence."""


@dataclass(frozen=True)
class Record:
    """Result of a run.

    Attributes:
        key: Key of the run.
        reason: Reason of the failure, in printable characters; None if the run succeeded.
        packed: Columns in the format of ``pack``; empty if the run failed.
        seconds: Duration of the run in seconds.
        machine: Versions and hardware of the process that executed the run.
        sources: Hashes of the code on which the run depends.
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
        """Create the record of a successful run."""
        return cls(key, None, pack(columns), **more)

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Columns of the record, by name.

        The record of an agent contains t, action, reward, regret and seconds (the time that the
        agent needed), with one entry per step. The record of a reference run contains t, the
        period, the regret of each reference and, if the world can change, the times of the changes.
        The record of a training run contains the number of interactions, the seconds and the
        learned arrays.
        """
        return unpack(self.packed) if self.packed else {}

    @property
    def steps(self) -> int:
        """Number of steps; 0 for training runs and failures."""
        return len(self.columns.get("t", ()))

    @property
    def regret(self) -> float | None:
        """Total regret of the agent; None for references, training runs and failures."""
        return self._total("regret")

    @property
    def agent_seconds(self) -> float | None:
        """Total time of the agent in seconds, or None if the record has no such column."""
        return self._total("seconds")

    def _total(self, name: str) -> float | None:
        column = self.columns.get(name)
        return None if column is None else float(column.sum())


def check(columns: Columns, run: Run) -> None:
    """Check that columns are finite and complete; learned arrays may contain any numbers.

    Raises:
        RecordError: If any other column has non-finite values, or if the number of steps is wrong.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        sums = {name: np.add.reduce(column, None, np.float64) for name, column in columns.items()}
    for name, total in sums.items():
        if not math.isfinite(total) and not name.startswith(LEARNED):
            raise RecordError(
                "non-finite-values", f"the column {name!r} must contain only finite values"
            )
    steps = len(columns.get("t", ()))
    if run.track != TRAINING and run.horizon not in (None, steps):
        raise RecordError(
            "wrong-step-count", f"the record has {steps} steps, expected {run.horizon}"
        )


def pack(columns: Columns) -> bytes:
    """Return columns as compressed bytes.

    Raises:
        RecordError: If a column is not numeric.
    """
    for name, column in columns.items():
        if column.dtype.kind not in "biuf" or column.dtype.itemsize > 8:
            raise RecordError(
                "not-numeric",
                f"the column {name[:40]!r} must contain numbers of at most 8 bytes, "
                f"got {column.dtype}",
            )
    plain = {name: np.array(column, order="C") for name, column in columns.items()}
    return zlib.compress(safetensors.numpy.save(plain))


def unpack(data: bytes, *, max_bytes: int = MAX_BYTES) -> dict[str, NDArray[Any]]:
    """Return the columns from packed bytes; no content is executed.

    Raises:
        RecordError: If the bytes are damaged, or unpack to more than ``max_bytes``.
    """
    try:
        plain = zlib.decompressobj().decompress(data, max_bytes + 1)
        if len(plain) > max_bytes:
            raise RecordError(
                "record-too-large", f"the record unpacks to more than {max_bytes:,} bytes"
            )
        return safetensors.numpy.load(plain)
    except (zlib.error, safetensors.SafetensorError, KeyError, ValueError) as error:
        if isinstance(error, RecordError):
            raise
        raise RecordError("damaged-record", f"the record is damaged: {error}") from error


def _printable(reason: str) -> str:
    text = reason[: 2 * MAX_REASON_LETTERS].encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() else " " for c in text)[:MAX_REASON_LETTERS]
