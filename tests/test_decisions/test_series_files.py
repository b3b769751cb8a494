"""Tests of file formats, encodings, times, numbers and missing values."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from periodic_decisions.tables.series import Series, read_series
from periodic_envs.data import DataError
from tests.test_decisions.tables import WIDE, long_of, write

GERMAN = "Zeit;Köln;Süd\n" + "".join(f"0{d}.03.2018;{d},5;{d}\n" for d in range(1, 8))
LEVELS = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.csv", "cannot read .*nowhere.csv': No such file"),
        ("/dev/zero", "is not a file"),
        ("a\0b.csv", "it is not a path"),
        ([1, 2], "a path or a DataFrame, got list"),
        (pd.DataFrame({"time": [], "a": [], "b": []}), "has no rows"),
        (pd.DataFrame([[1, 2]], columns=LEVELS), "several levels of rows or columns"),
    ],
)
def test_bad_sources_are_refused(source: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_series(source)


def test_files_of_other_forms_and_sizes_are_refused(
    tmp_path: Path, wide: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide.assign(c=[[1]] * 5).to_parquet(tmp_path / "lists.parquet")
    wide.to_parquet(tmp_path / "x.parquet")
    junk = write(tmp_path, b"PAR1 nonsense PAR1", "data.parquet")
    for path, message in (
        (tmp_path, "is not a file"),
        (write(tmp_path, WIDE, "data.xlsx"), r"must end in .csv, .tsv, .txt, .parquet or .pq"),
        (junk, "not a readable Parquet file"),
        (tmp_path / "lists.parquet", "'c' of 'lists.parquet' has nested values"),
    ):
        with pytest.raises(DataError, match=message):
            read_series(path)
    with pytest.raises(DataError, match=r"separator must be one of .*, got '#'"):
        read_series(write(tmp_path, WIDE), separator="#")
    monkeypatch.setattr("periodic_decisions.tables.raw.MAX_VALUES", 14)
    for source in (tmp_path / "x.parquet", wide, write(tmp_path, WIDE * 3)):
        with pytest.raises(DataError, match="14 values"):
            read_series(source)
    monkeypatch.setattr("periodic_decisions.tables.raw.MAX_BYTES", 20)
    with pytest.raises(DataError, match="larger than"):
        read_series(write(tmp_path, WIDE))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_encodings_are_found(tmp_path: Path, encoding: str) -> None:
    found = read_series(write(tmp_path, GERMAN.encode(encoding)))
    assert found.names == ("Köln", "Süd")
    assert found.values[0].tolist() == [1.5, 1.0]
    guessed = any("was read as cp1252" in line for line in found.report.detected)
    assert guessed == (encoding in ("cp1252", "latin-1"))
    assert read_series(write(tmp_path, GERMAN.encode(encoding)), encoding=encoding).names[0] == (
        "Köln"
    )


def test_encoding_can_be_given(tmp_path: Path) -> None:
    greek = write(tmp_path, GERMAN.replace("Köln", "Αθήνα").replace("ü", "u").encode("iso8859-7"))
    assert read_series(greek, encoding="iso8859-7").names[0] == "Αθήνα"
    unmarked = write(tmp_path, GERMAN.encode("utf-16-le"))
    assert read_series(unmarked, encoding="utf-16-le").names[0] == "Köln"
    with pytest.raises(DataError, match="is a binary file"):
        read_series(unmarked)
    path = write(tmp_path, GERMAN.encode("latin-1"))
    with pytest.raises(DataError, match="is not utf-8 text: give another encoding"):
        read_series(path, encoding="utf-8")
    for unknown in ("klingon", "hex", "a\0b"):
        with pytest.raises(DataError, match="unknown encoding"):
            read_series(path, encoding=unknown)


def dated(*times: str, column: str = "Datum") -> str:
    return f"{column};a;b\n" + "".join(f"{time};{i};2\n" for i, time in enumerate(times))


@pytest.mark.parametrize("column", ["Datum", "date/time", "when it was"])
@pytest.mark.parametrize(
    ("times", "span", "form"),
    [
        (("30.12.2022", "31.12.2022", "01.01.2023"), "2022-12-30 00:00", "day first (%d.%m.%Y)"),
        (("1.2.2022", "2.2.2022", "3.2.2022"), "2022-02-01 00:00", "day first (%d.%m.%Y)"),
        (("12/30/2022", "12/31/2022", "1/1/2023"), "2022-12-30 00:00", "month first (%m/%d/%Y)"),
        (
            ("31-12-22 22:00:00", "31-12-22 23:00:00", "01-01-23 00:00:00"),
            "2022-12-31 22:00",
            "day first (%d-%m-%y %H:%M:%S)",
        ),
        (
            ("12/31/2022 11:00 AM", "12/31/2022 12:00 PM", "12/31/2022 1:00 PM"),
            "2022-12-31 11:00",
            "month first (%m/%d/%Y %I:%M %p)",
        ),
    ],
)
def test_dates_with_the_day_or_month_first(
    column: str, times: tuple[str, ...], span: str, form: str, tmp_path: Path
) -> None:
    found = read_series(write(tmp_path, dated(*times, column=column)))
    assert found.grid.at(0) == span
    assert len(found.values) == 3
    assert f"times are written {form}" in found.report.detected


def test_ambiguous_dates_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, dated("01/03/2018 00:00", "01/03/2018 01:00", "01/03/2018 02:00"))
    with pytest.raises(DataError, match="='%d/%m/%Y %H:%M' or '%m/%d/%Y %H:%M'"):
        read_series(path)
    found = read_series(path, time_format="%d/%m/%Y %H:%M")
    assert found.span() == "2018-03-01 00:00 to 2018-03-01 02:00"
    path = write(tmp_path, dated("31/03/2018", "01/04/2018", "04/13/2018"))
    with pytest.raises(DataError, match=r"line 4 .* '04/13/2018' in the time column"):
        read_series(path)


@pytest.mark.parametrize(("unit", "word"), [(1, "seconds"), (1000, "milliseconds")])
def test_unix_time_is_found(unit: int, word: str, tmp_path: Path) -> None:
    times = [str((1672531200 + 3600 * i) * unit) for i in range(3)]
    found = read_series(write(tmp_path, dated(*times, column="time")))
    assert found.span() == "2023-01-01 00:00 to 2023-01-01 02:00"
    assert f"times are Unix time, in {word} since 1970" in found.report.detected


@pytest.mark.parametrize("hour", ["time", "hour"])
@pytest.mark.parametrize("time_column", [None, "date"])
def test_date_and_time_in_two_columns_are_refused(
    hour: str, time_column: str | None, tmp_path: Path
) -> None:
    text = f"date,{hour},a,b\n" + "".join(f"2018-03-0{1 + i // 5},{i},1,2\n" for i in range(15))
    with pytest.raises(DataError, match=r"time_column='date' or|times are repeated"):
        read_series(write(tmp_path, text), time_column=time_column)


def test_months_are_refused_with_advice_that_works(tmp_path: Path) -> None:
    rows = [f"{i},{i}\n" for i in range(12)]
    months = "Monat,x,y\n" + "".join(f"2010-{i + 1:02},{row}" for i, row in enumerate(rows))
    with pytest.raises(DataError, match=r"write 0, 1, 2, \.\.\. instead .* the column 'step'"):
        read_series(write(tmp_path, months))
    steps = "step,x,y\n" + "".join(f"{i},{row}" for i, row in enumerate(rows))
    assert len(read_series(write(tmp_path, steps)).values) == 12


def test_thousands_separators(tmp_path: Path) -> None:
    text = "time;a;b\n1;1.234,56;7\n2;12,5;2.000\n3;-1.234.567,8;-\n"
    found = read_series(write(tmp_path, text))
    np.testing.assert_array_equal(found.values, [[1234.56, 7], [12.5, 2000], [-1234567.8, np.nan]])
    english = 'time,a,b\n1,"1,234.5",7\n2,12.5,"2,000"\n3,1,2\n'
    found = read_series(write(tmp_path, english))
    assert found.values.tolist() == [[1234.5, 7], [12.5, 2000], [1, 2]]
    for wrong in (
        text + "4;2.5;1\n",
        text + "4;1,234.5;1\n",
        "time;a;b\n1;1 234;1\n2;1;1\n3;1;1\n",
    ):
        with pytest.raises(DataError, match=r"not a number.* without thousands sep"):
            read_series(write(tmp_path, wrong))


def test_words_for_missing_values(tmp_path: Path) -> None:
    words = ["zu", "3,5", "n.v.", "zu", "4", "zu", "5", "6", "7"]
    rows = "".join(f"{i};{word};{'x' if i == 4 else '1,5'}\n" for i, word in enumerate(words))
    path = write(tmp_path, "step;a;b\n" + rows)
    with pytest.raises(DataError, match=r"line 2 .* 'zu' .*4 such values.*=\['zu', 'n.v.'\]"):
        read_series(path)
    found = read_series(path, na_values=["ZU", "n.v.", "x"])
    assert np.isnan(found.values[:6, 0]).tolist() == [True, False, True, True, False, True]
    assert found.values[[1, 4], 0].tolist() == [3.5, 4.0]
    assert "5 values read as missing (zu, n.v., x)" in found.report.detected


def test_numbers_for_missing_values(tmp_path: Path) -> None:
    text = WIDE + "2018-03-01 03:00,-999,-999.0\n"
    frame = pd.DataFrame({"step": [-999, 0, 999], "a": [1, -999, 2], "b": [0.5, 1.5, -999.0]})
    found = read_series(write(tmp_path, text), na_values=-999)
    assert np.isnan(found.values[3]).all()
    found = read_series(frame, na_values=["-999"])
    assert np.isnan(found.values).tolist() == [[False, False], [True, False], [False, True]]
    assert "2 values read as missing (-999)" in found.report.detected


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
def test_read_series_gives_a_series_or_a_data_error(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("fuzz.csv", "fuzz.parquet"):
        found = outcome(write(folder, content, name))
        if isinstance(found, str):
            assert len(found.splitlines()) == 1
        else:
            assert found.values.shape[1] == len(found.names) >= 2
            assert not np.isinf(found.values).any()


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 2000), piece=st.binary(min_size=1, max_size=6))
def test_damaged_parquet(at: int, piece: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    buffer = io.BytesIO()
    pd.DataFrame({"time": range(4), "a": 1.0, "b": 2.0}).to_parquet(buffer)
    content = bytearray(buffer.getvalue())
    at %= len(content)
    content[at : at + len(piece)] = piece
    path = write(tmp_path_factory.getbasetemp(), bytes(content), "damaged.parquet")
    assert len(str(outcome(path))) > 0
