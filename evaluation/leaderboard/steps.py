"""The steps of a submission, written and read as a flat Parquet table.

One row per step, run after run in the manifest's order, with what was chosen: the number of an arm
in ``arm``, the coordinates of a point of a box in ``x_0``, ``x_1``, ...; a column that a world has
no use for is empty in its rows. Rewards and regrets are not there: the worlds give them. Flat on
purpose: nested columns can hide any number of values in one row.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from evaluation.leaderboard.bundle import STEPS, BundleError
from evaluation.leaderboard.forms import RunForm
from evaluation.running.process import own_python
from periodic_envs.arrays import Array

Actions = list[NDArray[Any]]
"""What was chosen in every run: numbers of arms (steps,), or points of a box (steps, dim)."""

MAX_MEMORY_BYTES = 2**31
"""Memory for reading the table, libraries included."""
REFUSED = 3
"""Exit code of the process that reads a table that is refused."""
ARM = "arm"
_CODECS = ("UNCOMPRESSED", "SNAPPY", "ZSTD")
_LEVEL = 19
"""Of the compression: a bundle is written once and kept for years."""


def write_steps(forms: Sequence[RunForm], actions: Sequence[NDArray[Any]]) -> bytes:
    """The table of what was chosen in these runs.

    Coordinates are kept in half the digits if nothing is lost by it: replay must give the regret
    that the author has seen.
    """
    rows = sum(form.steps for form in forms)
    arms, points = np.full(rows, np.nan), np.full((rows, _width(forms)), np.nan)
    for form, part, chosen in zip(forms, _parts(forms), actions, strict=True):
        if form.arms:
            arms[part] = chosen
        else:
            points[part, : form.dim] = np.reshape(chosen, (form.steps, form.dim))
    short = np.array_equal(points, points.astype(np.float32), equal_nan=True)
    layout = schema(_arm_type(forms), _width(forms), "float" if short else "double")
    columns = [arms] * (ARM in layout.names) + list(points.T)
    given = [
        pa.array(np.nan_to_num(column), field.type, mask=np.isnan(column), safe=False)
        for column, field in zip(columns, layout, strict=True)
    ]
    file = io.BytesIO()
    pq.write_table(
        pa.table(given, layout),
        file,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=[ARM],
        store_schema=False,
        write_statistics=False,
    )
    return file.getvalue()


def schema(arm_type: str, width: int, real: str) -> pa.Schema:
    """The columns of a table of steps.

    Args:
        arm_type: Type of the numbers of arms, empty if no world has any.
        width: Coordinates of a point, the largest number of any world.
        real: Type of the coordinates, "float" or "double".
    """
    arms = [(ARM, pa.type_for_alias(arm_type))] if arm_type else []
    return pa.schema(arms + [(f"x_{place}", pa.type_for_alias(real)) for place in range(width)])


def _arm_type(forms: Sequence[RunForm]) -> str:
    """The smallest that holds the number of every arm."""
    most = max((form.arms or 0 for form in forms), default=0)
    return np.min_scalar_type(most - 1).name if most else ""


def _width(forms: Sequence[RunForm]) -> int:
    return max((form.dim for form in forms if not form.arms), default=0)


def _parts(forms: Sequence[RunForm]) -> Iterator[slice]:
    """Where in the table each run is."""
    start = 0
    for form in forms:
        yield slice(start, start + form.steps)
        start += form.steps


def read_steps(data: bytes, forms: Sequence[RunForm], *, trusted: bool = False) -> Actions:
    """What was chosen in every run, or the reason why the table is refused.

    Args:
        data: The file.
        forms: What the runs must look like.
        trusted: Whether these very bytes have been read before.
    """
    rows, layout = sum(form.steps for form in forms), (_arm_type(forms), _width(forms))
    table = (_table if trusted else _table_of_a_stranger)(data, rows, *layout)
    columns = {name: _numbers(table, name) for name in table.column_names}
    arms = columns.pop(ARM, np.full(rows, np.nan))
    points = np.stack([*columns.values(), np.full(rows, np.nan)], axis=1)
    parts = zip(forms, _parts(forms), strict=True)
    return [_chosen(form, arms[part], points[part]) for form, part in parts]


def _chosen(form: RunForm, arms: Array, points: Array) -> NDArray[Any]:
    """The actions of a run, each of which the world must know."""
    if form.arms:
        allowed, foreign = f"an arm from 0 to {form.arms - 1}", points
        good = (arms >= 0) & (arms < form.arms)
    else:
        allowed, foreign = f"a point of [-1, 1]^{form.dim}", points[:, form.dim :]
        good = (np.abs(points[:, : form.dim]) <= 1.0).all(axis=1) & np.isnan(arms)
    wrong = ~good | ~np.isnan(foreign).all(axis=1)
    if wrong.any():
        step = int(np.argmax(wrong))
        raise BundleError(f"{STEPS}: the action at {form.moment(step)} is not {allowed}")
    return arms.astype(np.int64) if form.arms else points[:, : form.dim]


def _table_of_a_stranger(data: bytes, rows: int, arm_type: str, width: int) -> pa.Table:
    """The table, unpacked by a process of its own with little memory: a file can lie about itself.

    What comes back is an Arrow stream that our own code has written.
    """
    alone = own_python("from evaluation.leaderboard.steps import read_alone; read_alone()")
    command = [*alone, str(rows), arm_type, str(width)]
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=300, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        raise BundleError(f"{STEPS} takes too long to read") from None
    if done.returncode == REFUSED:
        raise BundleError(done.stderr.decode(errors="replace").strip()[-400:])
    if done.returncode == -signal.SIGABRT:  # Arrow gives up: an unknown codec, for one
        raise BundleError(f"{STEPS} is no table that Arrow can read")
    if done.returncode:
        raise BundleError(f"{STEPS} cannot be read within {MAX_MEMORY_BYTES >> 30} GB of memory")
    with pa.ipc.open_stream(done.stdout) as stream:
        return stream.read_all()


def read_alone() -> None:
    """Read a table in a process of its own, and write it to the standard output."""
    rows, arm_type, width = sys.argv[1:]
    if sys.platform == "linux":  # macOS refuses this limit, Windows has none
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    try:
        table = _table(sys.stdin.buffer.read(), int(rows), arm_type, int(width))
    except BundleError as error:
        sys.stderr.write(str(error))
        sys.exit(REFUSED)
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
        stream.write_table(table)


def _table(data: bytes, rows: int, arm_type: str, width: int) -> pa.Table:
    """The table if it is what it should be, by its own words and by what is in it."""
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        _check_description(file, rows, arm_type, width)
        return pa.Table.from_batches(_batches(file, rows), file.schema_arrow)
    except BundleError:
        raise
    except Exception as error:  # a damaged file is answered with nearly any kind of exception
        raise BundleError(f"{STEPS} cannot be read: {str(error).splitlines()[0][:200]}") from None


def _check_description(file: pq.ParquetFile, rows: int, arm_type: str, width: int) -> None:
    """Refuse a table by what it says of itself, before anything is unpacked."""
    about, allowed = file.metadata, [schema(arm_type, width, real) for real in ("float", "double")]
    if not any(file.schema_arrow.equals(layout) for layout in allowed):
        columns = ", ".join(f"{field.name} ({field.type})" for field in allowed[-1])
        raise BundleError(f"{STEPS} must have the columns {columns}")
    if about.num_rows != rows:
        raise BundleError(f"{STEPS} has {about.num_rows:,} rows, the protocol {rows:,} steps")
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    if any(chunk.compression not in _CODECS for chunk in chunks):
        raise BundleError(f"{STEPS} must be compressed by one of {', '.join(_CODECS)}, or not")
    fields = len(file.schema_arrow)
    if sum(chunk.total_uncompressed_size for chunk in chunks) > 2**20 + 16 * rows * fields:
        raise BundleError(f"{STEPS} says that it unpacks to far more than its rows need")


def _batches(file: pq.ParquetFile, rows: int) -> list[pa.RecordBatch]:
    """What is in it, as long as it is no more than it says."""
    batches = []
    for batch in file.iter_batches(batch_size=65_536):
        batches.append(batch)
        rows -= len(batch)
        if rows < 0:
            raise BundleError(f"{STEPS} has more rows than it says")
    if rows:
        raise BundleError(f"{STEPS} has fewer rows than it says")
    return batches


def _numbers(table: pa.Table, name: str) -> Array:
    """A column, with NaN where it is empty."""
    column = table.column(name)
    values: Array = column.to_numpy(zero_copy_only=False).astype(np.float64)
    given = ~column.is_null().to_numpy(zero_copy_only=False)
    if not np.isfinite(values[given]).all():
        raise BundleError(f"{STEPS}: {name} must be finite numbers; there is a NaN or an infinity")
    return values
