"""The steps of a submission, written and read as a flat Parquet table.

One row per step: the run (``cell``, its place in the manifest), t, action_0, action_1, ... (one
column per coordinate; a number of an arm is in action_0; empty where a world has fewer), reward and
agent_seconds. Flat on purpose: nested columns can hide any number of values in one row.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from evaluation.leaderboard.bundle import STEPS, BundleError
from periodic_envs.arrays import Array

Columns = dict[str, NDArray[Any]]

_RUN = "cell"
"""The column that says which run a step belongs to, as format 1 calls it."""
MAX_MEMORY_BYTES = 2**31
"""Memory for reading the table, libraries included."""
REFUSED = 3
"""Exit code of the process that reads a table that is refused."""
_CODECS = ("UNCOMPRESSED", "SNAPPY", "ZSTD")


def write_steps(runs: Sequence[Columns]) -> bytes:
    """Steps of all runs, in their order.

    Args:
        runs: For each run t, action, reward and seconds, as the harness records them.
    """
    given = [np.asarray(run["action"], dtype=np.float64).reshape(len(run["t"]), -1) for run in runs]
    width = max(action.shape[1] for action in given)
    empty = [(0, 0), (0, width)]
    actions = [np.pad(action, empty, constant_values=np.nan)[:, :width] for action in given]
    columns: dict[str, Any] = {
        _RUN: np.repeat(np.arange(len(runs)), [len(run["t"]) for run in runs]),
        "t": np.concatenate([run["t"] for run in runs]),
    }
    for place in range(width):
        column = np.concatenate([action[:, place] for action in actions])
        columns[f"action_{place}"] = pa.array(column, from_pandas=True)
    columns["reward"] = np.concatenate([run["reward"] for run in runs])
    seconds = np.concatenate([run["seconds"] for run in runs])
    # Microseconds: what is below is noise, and noise takes space.
    columns["agent_seconds"] = seconds.round(6).astype(np.float32)
    file = io.BytesIO()
    pq.write_table(pa.table(columns, schema(width)), file, compression="zstd")
    return file.getvalue()


def schema(width: int) -> pa.Schema:
    """The columns of a table of steps whose actions have so many coordinates."""
    actions = [(f"action_{place}", pa.float64()) for place in range(width)]
    rest = [("reward", pa.float64()), ("agent_seconds", pa.float32())]
    return pa.schema([(_RUN, pa.int64()), ("t", pa.int64()), *actions, *rest])


def read_steps(
    data: bytes, times: Sequence[NDArray[Any]], width: int, *, trusted: bool = False
) -> list[Columns]:
    """Steps by run, in their order, or the reason why the table is refused.

    Args:
        data: The file.
        times: What t must be in every run.
        width: Coordinates of an action, the largest number of any world.
        trusted: Whether these very bytes have been read before.
    """
    rows = sum(map(len, times))
    table = (_table if trusted else _table_of_a_stranger)(data, rows, width)
    counts = [len(expected) for expected in times]
    run, t = (table.column(name).to_numpy() for name in (_RUN, "t"))
    if not np.array_equal(run, np.repeat(np.arange(len(times)), counts)):
        raise BundleError(f"{STEPS}: runs must follow each other, each once and whole")
    if not np.array_equal(t, np.concatenate(list(times))):
        raise BundleError(f"{STEPS}: t must count through every run without gaps")
    whole = {"t": t, **_columns(table)}
    ends = np.cumsum(counts)[:-1]
    parts = {name: np.split(column, ends) for name, column in whole.items()}
    return [{name: parts[name][i] for name in whole} for i in range(len(times))]


def _columns(table: pa.Table) -> Columns:
    """Actions, rewards and seconds of all runs together."""
    names = [name for name in table.column_names if name.startswith("action_")]
    action = np.stack([_numbers(table, name, empty=True) for name in names], axis=1)
    reward, seconds = _numbers(table, "reward"), _numbers(table, "agent_seconds")
    if (seconds < 0).any():
        raise BundleError(f"{STEPS}: agent_seconds must not be negative")
    return {"action": action, "reward": reward, "seconds": seconds}


def _table_of_a_stranger(data: bytes, rows: int, width: int) -> pa.Table:
    """The table, unpacked by a process of its own with little memory: a file can lie about itself.

    What comes back is an Arrow stream that our own code has written.
    """
    command = [sys.executable, "-m", "evaluation.leaderboard.steps", str(rows), str(width)]
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=300, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        raise BundleError(f"{STEPS} takes too long to read") from None
    if done.returncode == REFUSED:
        raise BundleError(done.stderr.decode(errors="replace").strip()[-400:])
    if done.returncode:
        raise BundleError(f"{STEPS} cannot be read within {MAX_MEMORY_BYTES >> 30} GB of memory")
    with pa.ipc.open_stream(done.stdout) as stream:
        return stream.read_all()


def _read_alone() -> None:
    """Read a table in a process of its own, and write it to the standard output."""
    rows, width = (int(word) for word in sys.argv[1:])
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    try:
        table = _table(sys.stdin.buffer.read(), rows, width)
    except BundleError as error:
        sys.stderr.write(str(error))
        sys.exit(REFUSED)
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
        stream.write_table(table)


def _table(data: bytes, rows: int, width: int) -> pa.Table:
    """The table if it is what it should be, by its own words and by what is in it."""
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        _check_description(file, rows, width)
        return pa.Table.from_batches(_batches(file, rows), file.schema_arrow)
    except BundleError:
        raise
    except Exception as error:  # a damaged file is answered with nearly any kind of exception
        raise BundleError(f"{STEPS} cannot be read: {str(error).splitlines()[0][:200]}") from None


def _check_description(file: pq.ParquetFile, rows: int, width: int) -> None:
    """Refuse a table by what it says of itself, before anything is unpacked."""
    about, names = file.metadata, schema(width).names
    if not file.schema_arrow.equals(schema(width)):
        raise BundleError(f"{STEPS} must have the columns {', '.join(names)}")
    if about.num_rows != rows:
        raise BundleError(f"{STEPS} has {about.num_rows:,} rows, the protocol {rows:,} steps")
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    if any(chunk.compression not in _CODECS for chunk in chunks):
        raise BundleError(f"{STEPS} must be compressed by one of {', '.join(_CODECS)}, or not")
    if sum(chunk.total_uncompressed_size for chunk in chunks) > 2**20 + 16 * rows * len(names):
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


def _numbers(table: pa.Table, name: str, *, empty: bool = False) -> Array:
    column = table.column(name)
    values: Array = column.to_numpy(zero_copy_only=False).astype(np.float64)
    given = ~column.is_null().to_numpy(zero_copy_only=False)
    if not np.isfinite(values[given]).all():
        raise BundleError(f"{STEPS}: {name} must be finite numbers; there is a NaN or an infinity")
    if not empty and not given.all():
        raise BundleError(f"{STEPS}: {name} is missing in some rows")
    return values


if __name__ == "__main__":
    _read_alone()
