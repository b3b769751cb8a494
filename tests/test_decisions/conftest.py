"""Fixtures of the tests of tables."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def wide() -> pd.DataFrame:
    times = pd.date_range("2018-03-01", periods=5, freq="30min")
    return pd.DataFrame({"time": times, "a": np.arange(5.0), "b": 1.5 * np.arange(5.0)})
