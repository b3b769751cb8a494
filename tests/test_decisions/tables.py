"""Tables as people hand them over, with invented numbers."""

from pathlib import Path

import numpy as np
import pandas as pd

from periodic_decisions.tables.series import Series

WIDE = "time,a,b\n2018-03-01 00:00,1,10\n2018-03-01 01:00,2,20\n2018-03-01 02:00,3,30\n"


def write(folder: Path, text: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def long_of(wide: pd.DataFrame) -> pd.DataFrame:
    return wide.melt(id_vars="time", var_name="arm", value_name="reward")


def same(one: Series, other: Series) -> bool:
    values = np.array_equal(one.values, other.values, equal_nan=True)
    return values and one.names == other.names and one.grid == other.grid
