"""Files of results other than the store: totals per run, and all steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

from evaluation.results import CHANGE_COSTS, RUN, STEPS, Results
from evaluation.specs import REFERENCE_ROWS, REFERENCES, TRAINING
from evaluation.store import StoredRun, StoredSweep, StoreError
from periodic_envs.files import whole_file

ABOUT = b"periodic-gp totals 1"
"""Key of the metadata about a sweep and its machines in a file of totals."""
MAX_FILE_BYTES = 2**28


@dataclass(frozen=True)
class SavedTotals:
    """Totals per run from a Parquet file, as a source of ``Results``.

    Attributes:
        sweep: Sweep of the runs.
        about: Number of runs of the sweep, and the machines on which the runs were computed.
        frame: DataFrame with one row for each run of an agent, one row for each training run, and
            one row for each reference in each reference run.
    """

    sweep: StoredSweep
    about: dict[str, Any]
    frame: pd.DataFrame = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> SavedTotals:
        """Read a file that ``Results.save_totals`` has written.

        Raises:
            StoreError: If the file is invalid.
        """
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise StoreError(
                    "file-too-large",
                    f"cannot read totals from {str(path)!r}: "
                    f"the file is larger than {MAX_FILE_BYTES >> 20} MiB",
                )
            table = pq.read_table(path)
            metadata = table.schema.metadata or {}
            if ABOUT not in metadata:
                raise StoreError(
                    "cannot-read",
                    f"cannot read totals from {str(path)!r}: "
                    "the file was not written by save_totals()",
                )
            about = json.loads(metadata[ABOUT])
            return cls(StoredSweep(**about.pop("sweep")), about, table.to_pandas())
        except (OSError, LookupError, TypeError, ValueError, pa.ArrowException) as error:
            raise StoreError(
                "file-not-found" if isinstance(error, FileNotFoundError) else "cannot-read",
                f"cannot read totals from {str(path)!r}: {error}",
            ) from error

    def runs(self) -> list[StoredRun]:
        """Return the finished runs with their totals."""
        return [run for run, _ in self._runs.values()]

    def columns(self, key: str) -> dict[str, NDArray[Any]]:
        """Return the columns of a run at the saved steps.

        A file that was saved without ``points`` contains only the last step.
        """
        return self._runs[key][1]

    def size(self) -> int:
        """Return the number of runs, finished or not."""
        return int(self.about["size"])

    def machines(self) -> list[dict[str, Any]]:
        """Return the machines on which the runs were computed."""
        return list(self.about["machines"])

    @property
    def change_costs(self) -> pd.DataFrame:
        """Costs of the changes of worlds; see ``Results.change_costs``."""
        return self.frame.dropna(subset=CHANGE_COSTS)[[*RUN, *CHANGE_COSTS]]

    @cached_property
    def _runs(self) -> dict[str, tuple[StoredRun, dict[str, NDArray[Any]]]]:
        runs: dict[str, tuple[StoredRun, dict[str, NDArray[Any]]]] = {}
        for row in self.frame.to_dict("records"):
            is_reference = row["track"] == REFERENCES
            name = REFERENCES if is_reference else row["agent"]
            key = json.dumps([row["env"], row["track"], name, row["seed"]])
            values = {f.name: row[f.name] for f in fields(StoredRun) if f.name != "key"}
            plain: dict[str, Any] = {k: None if v != v else v for k, v in values.items()}
            total = plain["regret"]
            if is_reference:
                plain |= {"agent": name, "regret": None}
            _, columns = runs.setdefault(key, (StoredRun(key, **plain), {}))
            columns["t"] = np.array(row["t"])
            if row["track"] == TRAINING:
                columns["interactions"] = np.array([row["interactions"]])
            elif total is not None:
                regret = np.diff(np.array(row["curve"], dtype=np.float64), prepend=0.0)
                regret[-1] += total - regret.sum()  # saved curves are rounded, unlike the total
                columns[row["agent"] if is_reference else "regret"] = regret
            if is_reference:
                columns["period"] = np.array([row["period"]])
        return runs


def save_totals(results: Results, path: Path, points: int) -> None:
    """Write totals per run; see ``Results.save_totals``."""
    rows = [
        row for run in (*results.runs, *results.trainings) for row in _rows(results, run, points)
    ]
    frame = pd.DataFrame(rows).merge(
        results.change_costs.drop(columns="task"), how="left", on=RUN, validate="1:1"
    )
    sweep, size = asdict(results.sweep), results.size
    about = {"sweep": sweep, "size": size, "machines": results.machines}
    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata({**table.schema.metadata, ABOUT: json.dumps(about)})
    with whole_file(path) as part:
        pq.write_table(table, part, compression="zstd")


def _rows(results: Results, run: StoredRun, points: int) -> Iterator[dict[str, Any]]:
    columns = results.source.columns(run.key)
    t = columns.get("t", np.zeros(1, dtype=np.int64))
    places = np.unique(np.linspace(len(t) - 1, 0, max(points, 1)).round().astype(int))
    row = {name: value for name, value in asdict(run).items() if name != "key"}
    row |= {"t": t[places].tolist(), "period": None, "interactions": None}
    if run.agent == REFERENCES and run.reason is None:
        for name in REFERENCE_ROWS:
            curve = np.cumsum(columns[name])
            more = {"regret": curve[-1], "curve": curve[places].astype(np.float32).tolist()}
            yield {**row, **more, "agent": name, "period": columns["period"][0]}
        return
    if run.track == TRAINING and run.reason is None:
        row["interactions"] = columns["interactions"][0]
    curve = np.cumsum(columns["regret"])[places] if "regret" in columns else np.zeros(0)
    yield {**row, "curve": curve.astype(np.float32).tolist()}


def save_steps(frames: Callable[[], Iterator[pd.DataFrame]], path: Path) -> int:
    """Write steps run by run and return the number of rows; see ``Results.save_steps``."""
    is_csv = path.suffix == ".csv"
    lists = any(isinstance(frame["action"].iloc[0], list) for frame in frames())
    action = pa.float64()
    if lists:
        action = pa.string() if is_csv else pa.list_(pa.float64())
    kinds = [pa.string(), pa.string(), pa.int64(), pa.int64(), action, pa.float64(), pa.float64()]
    schema, rows = pa.schema(list(zip(STEPS, kinds, strict=True))), 0
    writer = csv.CSVWriter if is_csv else pq.ParquetWriter
    with whole_file(path) as part, writer(part, schema) as file:
        for frame in frames():
            actions = [np.atleast_1d(action).astype(float).tolist() for action in frame["action"]]
            frame["action"] = actions if lists else [number for (number,) in actions]
            if lists and is_csv:
                frame["action"] = [json.dumps(action) for action in actions]
            file.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))
            rows += len(frame)
    return rows
