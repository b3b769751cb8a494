"""Tests of file formats, encodings, times, numbers and missing values."""

import io
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from periodic_decisions.tables.raw import MAX_BYTES, MAX_COLUMNS, MAX_VALUES
from periodic_decisions.tables.series import Series, read_series
from periodic_envs.data import DataError
from tests.errors import raises
from tests.test_decisions.tables import WIDE, long_of, write

GERMAN = "Zeit;Köln;Süd\n" + "".join(f"0{d}.03.2018;{d},5;{d}\n" for d in range(1, 8))
LEVELS = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("nowhere.csv", "file-not-found"),
        ("/dev/zero", "not-a-file"),
        (Path(), "not-a-file"),
        ("a\0b.csv", "cannot-read"),
        ([1, 2], "wrong-type"),
        (pd.DataFrame({"time": [], "a": [], "b": []}), "empty-table"),
        (pd.DataFrame([[1, 2]], columns=LEVELS), "several-levels"),
    ],
)
def test_read_series_rejects_bad_sources(source: Any, code: str) -> None:
    with raises(DataError, code):
        read_series(source)


def test_read_series_rejects_other_formats(tmp_path: Path, wide: pd.DataFrame) -> None:
    wide.assign(c=[[1]] * 5).to_parquet(tmp_path / "lists.parquet")
    for path, code in (
        (write(tmp_path, WIDE, "data.xlsx"), "unknown-file-type"),
        (write(tmp_path, b"PAR1 nonsense PAR1", "data.parquet"), "damaged-file"),
        (tmp_path / "lists.parquet", "nested-values"),
    ):
        with raises(DataError, code):
            read_series(path)
    with raises(DataError, "invalid-option"):
        read_series(write(tmp_path, WIDE), separator="#")


def test_read_series_rejects_large_tables(tmp_path: Path) -> None:
    columns = pd.DataFrame(np.ones((3, MAX_COLUMNS + 1))).add_prefix("arm ")
    columns.to_parquet(tmp_path / "x.parquet")
    columns.to_csv(tmp_path / "x.csv")
    values = pd.DataFrame(np.zeros((MAX_VALUES // 2 + 1, 2)))
    for source in (columns, values, tmp_path / "x.parquet", tmp_path / "x.csv"):
        with raises(DataError, "table-too-large"):
            read_series(source)
    os.truncate(tmp_path / "x.csv", MAX_BYTES + 1)
    with raises(DataError, "file-too-large"):
        read_series(tmp_path / "x.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_read_series_detects_encodings(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, GERMAN.encode(encoding))
    series = read_series(path)
    assert series.names == ("Köln", "Süd")
    assert series.values[0].tolist() == [1.5, 1.0]
    guessed = "cp1252" in " ".join(series.report.detected)
    assert guessed == (encoding in ("cp1252", "latin-1"))
    assert read_series(path, encoding=encoding).names[0] == "Köln"


def test_read_series_takes_named_encoding(tmp_path: Path) -> None:
    greek = write(tmp_path, GERMAN.replace("Köln", "Αθήνα").replace("ü", "u").encode("iso8859-7"))
    assert read_series(greek, encoding="iso8859-7").names[0] == "Αθήνα"
    unmarked = write(tmp_path, GERMAN.encode("utf-16-le"))
    assert read_series(unmarked, encoding="utf-16-le").names[0] == "Köln"
    with raises(DataError, "binary-file"):
        read_series(unmarked)
    path = write(tmp_path, GERMAN.encode("latin-1"))
    with raises(DataError, "wrong-encoding"):
        read_series(path, encoding="utf-8")
    for unknown in ("klingon", "hex", "a\0b"):
        with raises(DataError, "unknown-encoding"):
            read_series(path, encoding=unknown)


def dated(*times: str, column: str = "Datum") -> str:
    return f"{column};a;b\n" + "".join(f"{time};{i};2\n" for i, time in enumerate(times))


@pytest.mark.parametrize("column", ["Datum", "date/time", "when it was"])
@pytest.mark.parametrize(
    ("times", "first", "form"),
    [
        (("30.12.2022", "31.12.2022", "01.01.2023"), "2022-12-30 00:00", "(%d.%m.%Y)"),
        (("1.2.2022", "2.2.2022", "3.2.2022"), "2022-02-01 00:00", "(%d.%m.%Y)"),
        (("12/30/2022", "12/31/2022", "1/1/2023"), "2022-12-30 00:00", "(%m/%d/%Y)"),
        (
            ("31-12-22 22:00:00", "31-12-22 23:00:00", "01-01-23 00:00:00"),
            "2022-12-31 22:00",
            "(%d-%m-%y %H:%M:%S)",
        ),
        (
            ("12/31/2022 11:00 AM", "12/31/2022 12:00 PM", "12/31/2022 1:00 PM"),
            "2022-12-31 11:00",
            "(%m/%d/%Y %I:%M %p)",
        ),
    ],
)
def test_read_series_reads_dates_with_day_or_month_first(
    column: str, times: tuple[str, ...], first: str, form: str, tmp_path: Path
) -> None:
    series = read_series(write(tmp_path, dated(*times, column=column)))
    assert (series.grid.at(0), len(series.values)) == (first, 3)
    assert form in " ".join(series.report.detected)


def test_read_series_rejects_ambiguous_dates(tmp_path: Path) -> None:
    path = write(tmp_path, dated("01/03/2018 00:00", "01/03/2018 01:00", "01/03/2018 02:00"))
    with raises(DataError, "ambiguous-time") as caught:
        read_series(path)
    formats = re.findall("'(%.+?)'", str(caught.value))
    assert formats == ["%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M"]
    series = read_series(path, time_format=formats[0])
    assert series.span() == "2018-03-01 00:00 to 2018-03-01 02:00"
    path = write(tmp_path, dated("31/03/2018", "01/04/2018", "04/13/2018"))
    with raises(DataError, "invalid-time") as caught:
        read_series(path)
    assert "line 4" in str(caught.value)


@pytest.mark.parametrize(("unit", "word"), [(1, "seconds"), (1000, "milliseconds")])
def test_read_series_detects_unix_time(unit: int, word: str, tmp_path: Path) -> None:
    times = [str((1672531200 + 3600 * i) * unit) for i in range(3)]
    series = read_series(write(tmp_path, dated(*times, column="time")))
    assert series.span() == "2023-01-01 00:00 to 2023-01-01 02:00"
    assert f" {word} " in " ".join(series.report.detected)


@pytest.mark.parametrize("hour", ["time", "hour"])
@pytest.mark.parametrize("time_column", [None, "date"])
def test_read_series_rejects_dates_and_times_in_two_columns(
    hour: str, time_column: str | None, tmp_path: Path
) -> None:
    text = f"date,{hour},a,b\n" + "".join(f"2018-03-0{1 + i // 5},{i},1,2\n" for i in range(15))
    with raises(DataError, "ambiguous-table"):
        read_series(write(tmp_path, text), time_column=time_column)


def test_read_series_rejects_months_with_advice_that_works(tmp_path: Path) -> None:
    rows = [f"{i},{i}\n" for i in range(12)]
    months = "Monat,x,y\n" + "".join(f"2010-{i + 1:02},{row}" for i, row in enumerate(rows))
    with raises(DataError, "irregular-times"):
        read_series(write(tmp_path, months))
    steps = "step,x,y\n" + "".join(f"{i},{row}" for i, row in enumerate(rows))
    assert len(read_series(write(tmp_path, steps)).values) == 12


def test_read_series_reads_thousands_separators(tmp_path: Path) -> None:
    text = "time;a;b\n1;1.234,56;7\n2;12,5;2.000\n3;-1.234.567,8;-\n"
    values = read_series(write(tmp_path, text)).values
    np.testing.assert_array_equal(values, [[1234.56, 7], [12.5, 2000], [-1234567.8, np.nan]])
    english = 'time,a,b\n1,"1,234.5",7\n2,12.5,"2,000"\n3,1,2\n'
    values = read_series(write(tmp_path, english)).values
    assert values.tolist() == [[1234.5, 7], [12.5, 2000], [1, 2]]
    for wrong in (
        text + "4;2.5;1\n",
        text + "4;1,234.5;1\n",
        "time;a;b\n1;1 234;1\n2;1;1\n3;1;1\n",
    ):
        with raises(DataError, "not-a-number"):
            read_series(write(tmp_path, wrong))


def test_read_series_takes_words_for_missing_values(tmp_path: Path) -> None:
    words = ["zu", "3,5", "n.v.", "zu", "4", "zu", "5", "6", "7"]
    rows = "".join(f"{i};{word};{'x' if i == 4 else '1,5'}\n" for i, word in enumerate(words))
    path = write(tmp_path, "step;a;b\n" + rows)
    with raises(DataError, "not-a-number") as caught:
        read_series(path)
    assert re.match(r"line 2 .*4.*na_values=\['zu', 'n.v.'\]", str(caught.value))
    series = read_series(path, na_values=["ZU", "n.v.", "x"])
    assert np.isnan(series.values[:6, 0]).tolist() == [True, False, True, True, False, True]
    assert series.values[[1, 4], 0].tolist() == [3.5, 4.0]
    assert re.match(r"5 .*\(zu, n.v., x\)", series.report.detected[-1])


def test_read_series_takes_numbers_for_missing_values(tmp_path: Path) -> None:
    text = WIDE + "2018-03-01 03:00,-999,-999.0\n"
    frame = pd.DataFrame({"step": [-999, 0, 999], "a": [1, -999, 2], "b": [0.5, 1.5, -999.0]})
    assert np.isnan(read_series(write(tmp_path, text), na_values=-999).values[3]).all()
    series = read_series(frame, na_values=["-999"])
    assert np.isnan(series.values).tolist() == [[False, False], [True, False], [False, True]]
    assert re.match(r"2 .*\(-999\)", series.report.detected[-1])


@st.composite
def mangled_tables(draw: st.DrawFn) -> bytes:
    """A good file with some bytes replaced, inserted or cut out."""
    frame = pd.DataFrame({"time": range(4), "a": [1.5, 2, 3, 4], "b": [2.25, 3, 4, 5]})
    frame = frame if draw(st.booleans()) else long_of(frame)
    text = io.StringIO()
    frame.to_csv(text, index=False, sep=draw(st.sampled_from(",;\t")))
    content = bytearray(text.getvalue().encode())
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(content)))
        piece = draw(st.sampled_from([b'"', b",", b";", b"\n", b"-", b"e", b"9", b"\x00", b"\xe9"]))
        content[at : at + draw(st.integers(0, 3))] = piece
    return bytes(content)


def outcome(path: Path) -> Series | str:
    """Return the series or the error message; any other exception is a failure."""
    try:
        return read_series(path)
    except DataError as error:
        return str(error)


@settings(max_examples=150, deadline=None)
@given(content=mangled_tables() | st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_read_series_returns_a_series_or_raises_data_error(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("fuzz.csv", "fuzz.parquet"):
        result = outcome(write(folder, content, name))
        if isinstance(result, str):
            assert len(result.splitlines()) == 1
        else:
            assert result.values.shape[1] == len(result.names) >= 2
            assert not np.isinf(result.values).any()


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 2000), piece=st.binary(min_size=1, max_size=6))
def test_read_series_reads_or_rejects_damaged_parquet(
    at: int, piece: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    buffer = io.BytesIO()
    pd.DataFrame({"time": range(4), "a": 1.0, "b": 2.0}).to_parquet(buffer)
    content = bytearray(buffer.getvalue())
    at %= len(content)
    content[at : at + len(piece)] = piece
    path = write(tmp_path_factory.getbasetemp(), bytes(content), "damaged.parquet")
    assert len(str(outcome(path))) > 0
