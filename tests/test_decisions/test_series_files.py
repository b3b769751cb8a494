"""Files, times and numbers as people write them, and windows of what was read."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from periodic_decisions.tables.series import Series, cut, read_series
from periodic_envs.data import DataError
from tests.test_decisions.tables import WIDE, long_of, write


def test_bad_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"cannot read .*nowhere.csv': No such file"):
        read_series(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="is not a file"):
        read_series(tmp_path)
    with pytest.raises(DataError, match="is not a file"):
        read_series("/dev/zero")
    with pytest.raises(DataError, match=r"must end in .csv, .tsv, .txt, .parquet or .pq"):
        read_series(write(tmp_path, WIDE, "data.xlsx"))
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read_series(write(tmp_path, b"PAR1 nonsense PAR1", "data.parquet"))
    with pytest.raises(DataError, match="a path or a DataFrame, got list"):
        read_series([1, 2])
    with pytest.raises(DataError, match="it is not a path"):
        read_series("a\0b.csv")
    with pytest.raises(DataError, match="has no rows"):
        read_series(pd.DataFrame({"time": [], "a": [], "b": []}))
    levels = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    with pytest.raises(DataError, match="several levels of rows or columns: call reset_index"):
        read_series(pd.DataFrame([[1, 2]], columns=levels))
    with pytest.raises(DataError, match="line break or an open quotation mark within a field"):
        read_series(write(tmp_path, 'time,a,b\n2020-01-01,1,"2\n2020-01-02,2,3\n'))
    with pytest.raises(DataError, match=r"separator must be one of .*, got '#'"):
        read_series(write(tmp_path, WIDE), separator="#")
    monkeypatch.setattr("periodic_decisions.tables.files.MAX_BYTES", 20)
    with pytest.raises(DataError, match="larger than"):
        read_series(write(tmp_path, WIDE))


def test_parquet_with_lists_or_too_many_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wide: pd.DataFrame
) -> None:
    wide.assign(c=[[1]] * 5).to_parquet(tmp_path / "lists.parquet")
    with pytest.raises(DataError, match=r"'c' of 'lists.parquet' holds lists"):
        read_series(tmp_path / "lists.parquet")
    wide.to_parquet(tmp_path / "x.parquet")
    monkeypatch.setattr("periodic_decisions.tables.files.MAX_VALUES", 14)
    for source in (tmp_path / "x.parquet", wide, write(tmp_path, WIDE * 3)):
        with pytest.raises(DataError, match=r"more than 14 values|two columns|not a number|holds"):
            read_series(source)


def dated(*times: str, column: str = "Datum") -> str:
    return f"{column};a;b\n" + "".join(f"{time};{i};2\n" for i, time in enumerate(times))


@pytest.mark.parametrize("column", ["Datum", "Zeitpunkt", "Zeit", "date/time", "when it was"])
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
def test_dates_that_do_not_begin_with_the_year(
    column: str, times: tuple[str, ...], span: str, form: str, tmp_path: Path
) -> None:
    found = read_series(write(tmp_path, dated(*times, column=column)))
    assert found.grid.at(0) == span
    assert len(found.values) == 3
    assert f"times are written {form}" in found.report.taken_for


def test_day_or_month_first(tmp_path: Path) -> None:
    """What can be read in two ways is asked, with formats that fit what is there."""
    path = write(tmp_path, dated("01/03/2018 00:00", "01/03/2018 01:00", "01/03/2018 02:00"))
    words = "line 2 .* '01/03/2018 00:00' .*='%d/%m/%Y %H:%M' or '%m/%d/%Y %H:%M'"
    with pytest.raises(DataError, match=words):
        read_series(path)
    found = read_series(path, time_format="%d/%m/%Y %H:%M")
    assert found.span() == "2018-03-01 00:00 to 2018-03-01 02:00"
    path = write(tmp_path, dated("01/03/2018", "02/03/2018", "03/03/2018"))
    with pytest.raises(DataError, match="time_format='%d/%m/%Y' or '%m/%d/%Y'"):
        read_series(path)
    path = write(tmp_path, dated("31/03/2018", "01/04/2018", "04/13/2018"))
    with pytest.raises(DataError, match=r"line 4 .* '04/13/2018' in the time column"):
        read_series(path)


def test_a_format_finds_its_column(tmp_path: Path) -> None:
    path = write(tmp_path, dated("2018.03.01", "2018.03.02", "2018.03.03", column="stand"))
    with pytest.raises(DataError, match="cannot tell which column"):
        read_series(path)
    assert read_series(path, time_format="%Y.%m.%d").grid.at(2) == "2018-03-03 00:00"
    with pytest.raises(DataError, match="cannot tell which column"):
        read_series(path, time_format="%Q")


@pytest.mark.parametrize(("unit", "word"), [(1, "seconds"), (1000, "milliseconds")])
def test_unix_time(unit: int, word: str, tmp_path: Path) -> None:
    times = [str((1672531200 + 3600 * i) * unit) for i in range(3)]
    found = read_series(write(tmp_path, dated(*times, column="time")))
    assert found.span() == "2023-01-01 00:00 to 2023-01-01 02:00"
    assert f"times are Unix time, in {word} since 1970" in found.report.taken_for


@pytest.mark.parametrize(
    "text",
    [
        "date,time,a,b\n" + "".join(f"2018-03-01,0{i}:00,1,2\n" for i in range(5)),
        "date,hour,a,b\n" + "".join(f"2018-03-01,{i},1,2\n" for i in range(5)),
    ],
)
@pytest.mark.parametrize("time_column", [None, "date"])
def test_date_and_time_of_day_in_two_columns(
    text: str, time_column: str | None, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"date in 'date' and the time of day in .* in one column"):
        read_series(write(tmp_path, text), time_column=time_column)


def test_times_of_day_of_a_long_table_are_let_alone() -> None:
    frame = pd.DataFrame({"date": pd.date_range("2018-03-01", periods=3).repeat(2)})
    frame = frame.assign(arm=["x", "y"] * 3, reward=range(6), opens="09:00")
    assert read_series(frame).names == ("x", "y")


def test_advice_for_months_works(tmp_path: Path) -> None:
    rows = [f"{i},{i}\n" for i in range(12)]
    months = "Monat,x,y\n" + "".join(f"2010-{i + 1:02},{row}" for i, row in enumerate(rows))
    with pytest.raises(DataError, match=r"write 0, 1, 2, \.\.\. instead .* the column 'step'"):
        read_series(write(tmp_path, months))
    steps = "step,x,y\n" + "".join(f"{i},{row}" for i, row in enumerate(rows))
    assert len(read_series(write(tmp_path, steps)).values) == 12


def test_thousands(tmp_path: Path) -> None:
    text = "time;a;b\n1;1.234,56;7\n2;12,5;2.000\n3;-1.234.567,8;-\n"
    found = read_series(write(tmp_path, text))
    np.testing.assert_array_equal(found.values, [[1234.56, 7], [12.5, 2000], [-1234567.8, np.nan]])
    assert "numbers are written like 1.234,5" in found.report.taken_for
    english = 'time,a,b\n1,"1,234.5",7\n2,12.5,"2,000"\n3,1,2\n'
    found = read_series(write(tmp_path, english))
    assert found.values.tolist() == [[1234.5, 7], [12.5, 2000], [1, 2]]
    for wrong in (
        text + "4;2.5;1\n",
        text + "4;1,234.5;1\n",
        "time;a;b\n1;1 234;1\n2;1;1\n3;1;1\n",
    ):
        with pytest.raises(DataError, match=r"not (a )?number.* without thousands sep"):
            read_series(write(tmp_path, wrong))


def test_what_excel_writes_above_the_header(tmp_path: Path) -> None:
    found = read_series(write(tmp_path, "sep=;\r\n" + WIDE.replace(",", ";").replace("\n", "\r\n")))
    assert found.names == ("a", "b")
    with pytest.raises(DataError, match=r"'data.csv' is empty"):
        read_series(write(tmp_path, "sep=;\n"))
    with pytest.raises(DataError, match=r"line 3 .* has 'x' in column 'b'"):
        read_series(write(tmp_path, "sep=;\ntime;a;b\n1;2;x\n2;2;2\n3;1;1\n"))


def test_window(wide: pd.DataFrame) -> None:
    series = read_series(wide)
    part = cut(series, start="2018-03-01 01:00", steps=2)
    assert part.values[:, 0].tolist() == [2.0, 3.0]
    assert part.span() == "2018-03-01 01:00 to 2018-03-01 01:30"
    for start in ("2018-03-01 00:10", "2018-02-28", "2018-03-02"):
        with pytest.raises(DataError, match="from 2018-03-01 00:00 to 2018-03-01 02:00 in steps"):
            cut(series, start=start)
    for start in (3, "soon", "2018-03-01T01:00Z", object()):
        with pytest.raises(DataError, match="written like the times of the data"):
            cut(series, start=start)
    with pytest.raises(DataError, match="steps must be at most 3 from 2018-03-01 01:00 on, got 4"):
        cut(series, start="2018-03-01 01:00", steps=4)


def test_window_of_times_with_a_zone(wide: pd.DataFrame) -> None:
    local = wide.assign(time=wide["time"].dt.tz_localize("Europe/Madrid"))
    series = read_series(local)
    assert "times were converted to UTC" in series.report.taken_for
    assert series.grid.at(0) == "2018-02-28 23:00+00:00"
    starts = ("2018-02-28 23:30", "2018-02-28 23:30Z", "2018-03-01 00:30+01:00")
    for start in starts:
        assert cut(series, start=start).values[0, 0] == 1.0
    with pytest.raises(DataError, match="all in UTC, and so is a start without an offset"):
        cut(series, start="2018-03-01 01:30")


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
    """What was read, or the sentence that says why not; anything else is a failure."""
    try:
        return read_series(path)
    except DataError as error:
        return str(error)


@settings(max_examples=150, deadline=None)
@given(content=mangled_tables() | st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_only_a_series_or_a_data_error_comes_out(
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
