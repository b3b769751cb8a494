"""Coordinates of the arms: where they are, or what else is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from periodic_decisions.tables.columns import ARM
from periodic_decisions.tables.formats import as_text, read_table
from periodic_decisions.tables.values import find_marks, parse_numbers
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError


def read_features(source: Any, names: Sequence[str]) -> Array:
    """The coordinates of every arm, shape (arms, dim), in the order of the names.

    Args:
        source: A path to a table or a DataFrame whose first column (or one called "arm") names the
            arm and whose other columns are coordinates; or a mapping from name to coordinates.
        names: The arms.

    Raises:
        DataError: if an arm has none, or a coordinate is no finite number.
    """
    known = _from_mapping(source) if isinstance(source, Mapping) else _from_table(source)
    lacking = [name for name in names if name not in known]
    if lacking:
        raise DataError(
            f"arm_features has no coordinates of {lacking[0]!r}"
            + (f" and {len(lacking) - 1} more arms" if len(lacking) > 1 else "")
            + f"; it has those of {', '.join(list(known)[:10]) or 'no arm'}"
        )
    return np.stack([known[name] for name in names])


def _from_mapping(source: Mapping[Any, Any]) -> dict[str, Array]:
    known: dict[str, Array] = {}
    for name, point in source.items():
        try:
            known[str(name)] = np.atleast_1d(np.asarray(point, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise DataError(f"arm_features of {name!r} must be numbers, got {point!r}") from error
        if known[str(name)].ndim != 1 or not np.isfinite(known[str(name)]).all():
            raise DataError(f"arm_features of {name!r} must be finite numbers, got {point!r}")
    if len({len(point) for point in known.values()} | {0}) != 2:
        raise DataError("arm_features must give equally many coordinates, at least one, per arm")
    return known


def _from_table(source: Any) -> dict[str, Array]:
    if isinstance(source, pd.DataFrame) and source.index.inferred_type == "string":
        # A table whose rows are named by the arms has them in its index.
        source = source.rename_axis("arm") if source.index.name is None else source
    table = read_table(source)
    columns = list(table.columns)
    arm = next((name for name in columns if name.lower() in ARM), columns[0])
    coordinates = [name for name in columns if name != arm]
    if not coordinates:
        raise DataError(f"{table.source} has no coordinates beside {arm!r}")
    marks = find_marks(table, coordinates, None)
    points = np.stack([parse_numbers(table, name, marks) for name in coordinates], axis=1)
    names = as_text(table.columns[arm])
    for row, name in enumerate(names):
        if not name or np.isnan(points[row]).any():
            raise DataError(f"{table.place(row)} lacks the name of an arm or a coordinate")
        if name in names[:row]:
            raise DataError(f"{table.place(row)} gives {name!r} a second time")
    return dict(zip(names, points, strict=True))
