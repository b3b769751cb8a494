"""Letters, decimal marks and words among numbers, as people's files have them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from periodic_decisions.tables.series import read_series
from periodic_envs.data import DataError
from tests.test_decisions.tables import WIDE, write

GERMAN = "Zeit;Köln;Süd\n" + "".join(f"0{d}.03.2018;{d},5;{d}\n" for d in range(1, 8))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_letters(tmp_path: Path, encoding: str) -> None:
    found = read_series(write(tmp_path, GERMAN.encode(encoding)))
    assert found.names == ("Köln", "Süd")
    assert found.values[0].tolist() == [1.5, 1.0]
    guessed = any("was read as cp1252" in line for line in found.report.taken_for)
    assert guessed == (encoding in ("cp1252", "latin-1"))
    given = read_series(write(tmp_path, GERMAN.encode(encoding)), encoding=encoding)
    assert given.names == found.names


def test_an_encoding_can_be_given(tmp_path: Path) -> None:
    greek = write(tmp_path, GERMAN.replace("Köln", "Αθήνα").replace("ü", "u").encode("iso8859-7"))
    assert read_series(greek, encoding="iso8859-7").names[0] == "Αθήνα"
    unmarked = write(tmp_path, GERMAN.encode("utf-16-le"))
    assert read_series(unmarked, encoding="utf-16-le").names[0] == "Köln"
    with pytest.raises(DataError, match="is not text but binary"):
        read_series(unmarked)
    path = write(tmp_path, GERMAN.encode("latin-1"))
    with pytest.raises(DataError, match=r"is not utf-8 text \(byte 6\): give another encoding"):
        read_series(path, encoding="utf-8")
    for unknown in ("klingon", "hex", "a\0b"):
        with pytest.raises(DataError, match="there is no encoding"):
            read_series(path, encoding=unknown)


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    words = ["zu", "3,5", "n.v.", "zu", "4", "zu", "5", "6", "7"]
    rows = "".join(f"{i};{word};{'x' if i == 4 else '1,5'}\n" for i, word in enumerate(words))
    path = write(tmp_path, "step;a;b\n" + rows)
    with pytest.raises(DataError) as caught:
        read_series(path)
    for found in ("4 values", "'zu' (3 times", "na_values=['zu', 'n.v.']", "column 'b'"):
        assert found in str(caught.value)
    found = read_series(path, na_values=["ZU", "n.v.", "x"])
    assert np.isnan(found.values[:6, 0]).tolist() == [True, False, True, True, False, True]
    assert found.values[[1, 4], 0].tolist() == [3.5, 4.0]
    assert "5 values were taken for missing ('zu', 'n.v.', 'x')" in found.report.taken_for


def test_numbers_that_say_nothing_was_measured(tmp_path: Path) -> None:
    text = WIDE + "2018-03-01 03:00,-999,-999.0\n"
    frame = pd.DataFrame({"step": [-999, 0, 999], "a": [1, -999, 2], "b": [0.5, 1.5, -999.0]})
    found = read_series(write(tmp_path, text), na_values=-999)
    assert np.isnan(found.values[3]).all()
    found = read_series(frame, na_values=["-999"])
    assert np.isnan(found.values).tolist() == [[False, False], [True, False], [False, True]]
    assert "2 values were taken for missing ('-999')" in found.report.taken_for
    one = read_series(frame, na_values=["1"]).report.taken_for
    assert "1 value was taken for missing ('1')" in one
    with pytest.raises(DataError, match="na_values must be a list of words, got"):
        read_series(frame, na_values=object())
