"""The steps of a submission as a flat Parquet table: what was chosen, one row per step.

Rows follow the manifest's runs. ``arm`` holds the number of an arm, ``x_0``, ``x_1``, ... the
coordinates of a point of a box; columns that a world does not use are null in its rows. The table
is flat because nested columns can hide any number of values in a row.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from evaluation.leaderboard.bundle import STEPS, BundleError
from evaluation.sandbox import own_python
from periodic_envs.arrays import Array

Actions = list[NDArray[Any]]
"""Choices of every run: arms of shape (steps,), or points of a box of shape (steps, dim)."""
MAX_MEMORY_BYTES = 2**31
"""Memory for reading an untrusted table, libraries included."""


@dataclass(frozen=True)
class RunForm:
    """Shape of a run, the same for every agent.

    Attributes:
        env: Label of the world.
        seed: Seed of the world.
        first_step: Time of the first decision.
        steps: Number of decisions.
        arms: Number of arms, None for a box.
        dim: Coordinates of a point of the box.
    """

    env: str
    seed: int
    first_step: int
    steps: int
    arms: int | None
    dim: int


def write_steps(forms: Sequence[RunForm], actions: Actions) -> bytes:
    """Return the table of the actions of these runs."""
    rows, width = table_shape(forms)
    layout, table = _schema(width), np.full((rows, width), np.nan)
    for form, part, chosen in zip(forms, _parts(forms), actions, strict=True):
        table[part, _columns(form)] = np.reshape(chosen, (form.steps, -1))
    columns = [
        pa.array(np.nan_to_num(column), field.type, mask=np.isnan(column), safe=False)
        for column, field in zip(table.T, layout, strict=True)
    ]
    file = io.BytesIO()
    pq.write_table(pa.table(columns, layout), file, compression="zstd", compression_level=19)
    return file.getvalue()


def read_steps(data: bytes, forms: Sequence[RunForm], *, trusted: bool = False) -> Actions:
    """Return the actions of every run.

    Args:
        data: The file.
        forms: The expected runs.
        trusted: Whether these very bytes were read as untrusted before.

    Raises:
        BundleError: If the table is not one of these runs, or holds an invalid action.
    """
    rows, width = table_shape(forms)
    table = read_table(data, rows, width) if trusted else _read_in_child(data, rows, width)
    pairs = zip(forms, _parts(forms), strict=True)
    return [_chosen(form, table[part]) for form, part in pairs]


def table_shape(forms: Sequence[RunForm]) -> tuple[int, int]:
    """Return the number of rows and of columns: one for arms, one for each coordinate."""
    coordinates = max((form.dim for form in forms if not form.arms), default=0)
    return sum(form.steps for form in forms), 1 + coordinates


def _schema(width: int) -> pa.Schema:
    points = [(f"x_{place}", pa.float64()) for place in range(width - 1)]
    return pa.schema([("arm", pa.int32()), *points])


def _columns(form: RunForm) -> slice:
    return slice(0, 1) if form.arms else slice(1, 1 + form.dim)


def _parts(forms: Sequence[RunForm]) -> Iterator[slice]:
    """Yield the rows of each run."""
    start = 0
    for form in forms:
        yield slice(start, start + form.steps)
        start += form.steps


def _chosen(form: RunForm, rows: Array) -> NDArray[Any]:
    """Return the actions of a run, each of which must be one of the world's."""
    own = rows[:, _columns(form)]
    foreign = np.delete(rows, _columns(form), axis=1)
    low, high = (0, form.arms - 1) if form.arms else (-1, 1)
    valid = ((own >= low) & (own <= high)).all(axis=1) & np.isnan(foreign).all(axis=1)
    if not valid.all():
        t = form.first_step + int(np.argmin(valid))
        allowed = f"an arm from 0 to {high}" if form.arms else f"a point of [-1, 1]^{form.dim}"
        where = f"t = {t} of {form.env}, seed {form.seed}"
        raise BundleError(f"{STEPS}: the action at {where} is not {allowed}")
    return own[:, 0].astype(np.int64) if form.arms else own


def _read_in_child(data: bytes, rows: int, width: int) -> Array:
    """Read an untrusted table in a process with little memory: its header can be wrong.

    The child returns an array that our own code has written.
    """
    code = "from evaluation.leaderboard.steps import read_stdin; read_stdin()"
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
    command = [*own_python(code), str(rows), str(width)]
    try:
        child = subprocess.run(
            command, input=data, capture_output=True, timeout=300, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        raise BundleError(f"{STEPS} takes too long to read") from None
    if child.returncode == 1:
        raise BundleError(child.stderr.decode(errors="replace").strip()[-400:])
    if child.returncode:  # Arrow aborts where memory ends
        raise BundleError(f"{STEPS} cannot be read within {MAX_MEMORY_BYTES >> 30} GB of memory")
    return np.frombuffer(child.stdout).reshape(rows, width)


def read_stdin() -> None:
    """Read a table from the standard input in a process of its own, and write its numbers."""
    if sys.platform == "linux":  # macOS refuses this limit, Windows has none
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    try:
        table = read_table(sys.stdin.buffer.read(), *map(int, sys.argv[1:]))
    except BundleError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(table.tobytes())


def read_table(data: bytes, rows: int, width: int) -> Array:
    """Return the numbers of a table of shape (rows, width), NaN where it is null."""
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        if not file.schema_arrow.equals(_schema(width)):
            columns = ", ".join(f"{field.name} ({field.type})" for field in _schema(width))
            raise BundleError(f"{STEPS} must have the columns {columns}")
        if file.metadata.num_rows != rows:
            stated = file.metadata.num_rows
            raise BundleError(f"{STEPS} has {stated:,} rows, the protocol {rows:,} steps")
        table = file.read()
        numbers = np.column_stack([column.to_numpy() for column in table.columns])
    except BundleError:
        raise
    except Exception as error:  # PyArrow raises nearly any exception for a damaged file
        reason = (str(error).splitlines() or ["damaged"])[0]
        raise BundleError(f"{STEPS} cannot be read: {reason[:200]}") from None
    nulls = sum(column.null_count for column in table.columns)
    if numbers.shape != (rows, width) or np.isfinite(numbers).sum() != numbers.size - nulls:
        raise BundleError(f"{STEPS} must hold {rows:,} rows of finite numbers")
    return numbers.astype(np.float64)
