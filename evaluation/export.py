"""Every step of a sweep, in a file that any program can read."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from evaluation.results import STEP_COLUMNS, Results
from periodic_envs.files import whole_file


def export_steps(results: Results, out: Path) -> int:
    """Write agent, env, seed, t, action, reward, regret, one row per run and step.

    The action is a number where all actions of the run are numbers (or vectors of length one), else
    a list of numbers; in a CSV file a list is written as JSON.

    Args:
        results: The runs of a sweep.
        out: A .parquet or .csv file; it appears when it is complete.

    Returns:
        The number of rows.
    """
    with whole_file(out) as part:
        return _parquet(results, part) if out.suffix == ".parquet" else _csv(results, part)


def _parquet(results: Results, path: Path) -> int:
    lists = any(_is_list(frame) for frame in results.step_frames())
    schema = pa.schema(
        [
            ("agent", pa.string()),
            ("env", pa.string()),
            ("seed", pa.int64()),
            ("t", pa.int64()),
            ("action", pa.list_(pa.float64()) if lists else pa.float64()),
            ("reward", pa.float64()),
            ("regret", pa.float64()),
        ]
    )
    rows = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for frame in results.step_frames():
            if lists and not _is_list(frame):
                frame["action"] = [[float(action)] for action in frame["action"]]
            elif not lists:
                frame["action"] = frame["action"].astype(float)
            writer.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))
            rows += len(frame)
    return rows


def _csv(results: Results, path: Path) -> int:
    rows = 0
    with path.open("w", newline="") as file:
        file.write(",".join(STEP_COLUMNS) + "\n")
        for frame in results.step_frames():
            if _is_list(frame):
                frame["action"] = [json.dumps(action) for action in frame["action"]]
            frame.to_csv(file, index=False, header=False)
            rows += len(frame)
    return rows


def _is_list(frame: pd.DataFrame) -> bool:
    return isinstance(frame["action"].iloc[0], list)
