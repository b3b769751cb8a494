"""Anybody's table becomes rewards on a regular grid, or one sentence that says why not."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from periodic_envs.data import DataError
from periodic_envs.data.tables.features import read_features
from periodic_envs.data.tables.series import Series, read_series
from periodic_envs.data.tables.window import cut

WIDE = "time,a,b\n2018-03-01 00:00,1,10\n2018-03-01 01:00,2,20\n2018-03-01 02:00,3,30\n"


def write(folder: Path, text: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def long_of(wide: pd.DataFrame) -> pd.DataFrame:
    return wide.melt(id_vars="time", var_name="arm", value_name="reward")


@pytest.fixture
def wide() -> pd.DataFrame:
    times = pd.date_range("2018-03-01", periods=5, freq="30min")
    return pd.DataFrame({"time": times, "a": np.arange(5.0), "b": 1.5 * np.arange(5.0)})


def same(one: Series, other: Series) -> bool:
    values = np.array_equal(one.values, other.values, equal_nan=True)
    return values and one.names == other.names and one.clock == other.clock


def test_every_form_gives_the_same(wide: pd.DataFrame, tmp_path: Path) -> None:
    long = long_of(wide)
    reference = read_series(wide)
    assert reference.names == ("a", "b")
    assert reference.step == pd.Timedelta("30min")
    assert list(reference.times) == list(wide["time"])
    np.testing.assert_array_equal(reference.values, wide[["a", "b"]])
    for i, frame in enumerate((wide, long, long.sample(frac=1, random_state=5))):
        frame.to_csv(tmp_path / f"{i}.csv", index=False)
        frame.to_csv(tmp_path / f"{i}.tsv", index=False, sep="\t")
        frame.to_csv(tmp_path / f"european{i}.csv", index=False, sep=";", decimal=",")
        frame.to_parquet(tmp_path / f"{i}.parquet")
    wide.set_index("time").to_parquet(tmp_path / "indexed.parquet")
    wide.set_index("time").rename_axis(None).to_csv(tmp_path / "unnamed.csv")
    long.astype({"arm": "category"}).to_parquet(tmp_path / "category.parquet")
    for path in sorted(tmp_path.iterdir()):
        found = read_series(path, arms=["a", "b"])
        assert same(found, reference), path.name
    assert same(read_series(wide.set_index("time")), reference)
    assert same(read_series(wide.set_index("time").rename_axis(None)), reference)


def test_what_was_taken_for_what_is_reported(wide: pd.DataFrame, tmp_path: Path) -> None:
    wide.to_csv(tmp_path / "x.csv", index=False, sep=";", decimal=",")
    text = " / ".join(read_series(str(tmp_path / "x.csv")).report.taken_for)
    assert "a wide table: time in 'time'" in text
    assert "separated by a semicolon" in text
    assert "decimal mark is a comma" in text
    frame = long_of(wide).assign(extra=1.0)
    found = read_series(frame).report
    assert "arm in 'arm', reward in 'reward'" in found.taken_for[0]
    assert found.taken_for[1] == "not used: 'extra'"
    assert found.troubles() == []


def test_a_saved_index_is_no_arm(wide: pd.DataFrame, tmp_path: Path) -> None:
    wide.to_csv(tmp_path / "x.csv")
    found = read_series(tmp_path / "x.csv")
    assert same(found, read_series(wide))
    assert "not used: 'column 1'" in found.report.taken_for


@pytest.mark.parametrize("name", ["index", "Unnamed: 0"])
def test_a_column_that_numbers_the_rows_is_no_arm(
    name: str, wide: pd.DataFrame, tmp_path: Path
) -> None:
    numbered = wide.assign(**{name: range(5)})
    numbered.to_csv(tmp_path / "x.csv", index=False)
    for source in (numbered, tmp_path / "x.csv"):
        found = read_series(source)
        assert same(found, read_series(wide))
        assert f"not used: {name!r}" in found.report.taken_for
    assert read_series(numbered, arms=[name, "a"]).names == (name, "a")
    prices = wide.assign(**{name: [3.0, 1.0, 4.0, 1.0, 5.0]})
    assert name in read_series(prices).names


def test_columns_can_be_named(wide: pd.DataFrame) -> None:
    strange = long_of(wide).rename(columns={"time": "x", "arm": "who", "reward": "p"})
    strange["x"] = strange["x"].astype(str)
    strange["q"] = 0.0
    with pytest.raises(DataError, match=r"'who' of the DataFrame holds words: .* give arm_column"):
        read_series(strange)
    with pytest.raises(DataError, match=r"cannot tell which column .* the reward: give reward_col"):
        read_series(strange, arm_column="who")
    found = read_series(strange, time_column="x", arm_column="who", reward_column="p")
    assert same(found, read_series(wide))
    with pytest.raises(DataError, match="no column of the DataFrame 'whom': did you mean 'who'"):
        read_series(strange, arm_column="whom")
    with pytest.raises(DataError, match="must be three columns"):
        read_series(strange, arm_column="p", reward_column="p")


def test_arms_are_chosen_and_ordered(wide: pd.DataFrame) -> None:
    frame = wide.assign(weekday="Thu", c=9.0)
    with pytest.raises(DataError, match=r"'weekday' .* holds words: .* arms=\[...\]"):
        read_series(frame)
    assert read_series(frame, arms=["c", "a"]).names == ("c", "a")
    assert read_series(long_of(wide), arms=["b", "a"]).values[1].tolist() == [1.5, 1.0]
    with pytest.raises(DataError, match="no arm in the DataFrame 'z': there are a, b"):
        read_series(long_of(wide), arms=["a", "z"])
    with pytest.raises(DataError, match="two different arms"):
        read_series(wide, arms=["a", "a"])


def test_unknown_arms_of_a_wide_table(wide: pd.DataFrame, tmp_path: Path) -> None:
    frame = wide.rename(columns={"a": "north", "b": "south"})
    frame.to_csv(tmp_path / "x.csv", index=False)
    for source in (frame, tmp_path / "x.csv"):
        with pytest.raises(DataError, match=r"no arm in .* 'nort': did you mean 'north'\?"):
            read_series(source, arms=["nort", "south"])


@pytest.mark.parametrize("duplicates", ["error", "mean"])
def test_a_long_table_of_numbers_is_not_taken_for_a_wide_one(duplicates: str) -> None:
    days = pd.date_range("2023-01-01", periods=4).repeat(3)
    units = np.arange(12.0) ** 1.5
    shops = pd.DataFrame({"date": days, "store_id": [101, 102, 103] * 4, "revenue": units})
    words = r"long table: give arm_column \(perhaps 'store_id'\) .* \(perhaps 'revenue'\)"
    for arms in (None, ["101", "102"]):
        with pytest.raises(DataError, match=words) as caught:
            read_series(shops, duplicates=duplicates, arms=arms)
        assert "mean" not in str(caught.value)
    found = read_series(shops, arm_column="store_id", reward_column="revenue")
    assert found.names == ("101", "102", "103")
    goods = shops.rename(columns={"store_id": "product", "revenue": "units"}).assign(price=1.5)
    with pytest.raises(DataError, match=r"perhaps 'product'.* \(perhaps 'units' or 'price'\)"):
        read_series(goods, duplicates=duplicates)
    # Who names the columns is believed.
    assert read_series(goods, arms=["units", "price"], duplicates="mean").names[0] == "units"


def test_numeric_arms_and_whole_times() -> None:
    frame = pd.DataFrame(
        {"step": [0, 0, 5, 5, 10, 10], "arm": [7, 9] * 3, "reward": [1, 2, 3, 4, 5, 6]}
    )
    found = read_series(frame)
    assert found.names == ("7", "9")
    assert found.step == 5
    assert list(found.times) == [0, 5, 10]


def test_real_times_survive_round_off() -> None:
    times = np.delete(np.arange(1000) * 0.1, [500])
    frame = pd.DataFrame({"t": times, "a": times, "b": -times})
    found = read_series(frame)
    assert found.step == pytest.approx(0.1)
    assert found.values.shape == (1000, 2)
    assert np.flatnonzero(np.isnan(found.values[:, 0])).tolist() == [500]


def test_gaps_and_exact_duplicates_are_reported(wide: pd.DataFrame) -> None:
    frame = pd.concat([wide.drop(index=2), wide.iloc[[3]]])
    frame.loc[4, "b"] = np.nan
    found = read_series(frame)
    assert np.isnan(found.values).sum() == 3
    assert (found.report.missing_steps, found.report.missing) == (1, 0.3)
    assert found.report.dropped == 2
    words = " ".join(found.report.troubles())
    assert "30.00% of the readings are missing, 1 whole step among them" in words
    assert "2 repeated readings with the same value were dropped" in words


def test_steps_that_are_missing_regularly(wide: pd.DataFrame) -> None:
    days = pd.date_range("2022-01-03", periods=70)
    frame = pd.DataFrame({"date": days, "a": np.arange(70.0), "b": 1.0})
    work = frame[days.day_of_week < 5]
    words = "18 whole steps among them, always 2 in a row: number the steps 0, 1, 2, ... to leave"
    assert words in read_series(work).report.troubles()[0]
    holiday = read_series(work.drop(index=10)).report.troubles()[0]
    assert "19 whole steps among them, mostly 2 in a row" in holiday
    accidents = read_series(frame.drop(index=[3, 4, 20, 21, 50, 51])).report.troubles()[0]
    assert accidents.endswith("6 whole steps among them")
    part = cut(read_series(work), steps=10)
    assert part.report.troubles()[0].endswith("2 whole steps among them")


def test_conflicting_duplicates(wide: pd.DataFrame) -> None:
    frame = pd.concat([wide, wide.iloc[[3]].assign(a=5.0)])
    with pytest.raises(DataError, match=r"different values for 'a' at 2018-03-01 01:30: .*'mean'"):
        read_series(frame)
    found = read_series(frame, duplicates="mean")
    assert found.values[3].tolist() == [4.0, 4.5]
    assert (found.report.averaged, found.report.dropped) == (2, 1)
    with pytest.raises(ValueError, match="duplicates must be one of"):
        read_series(frame, duplicates="last")


def test_daylight_saving(tmp_path: Path) -> None:
    """Local times have an hour twice in autumn and none in spring; with offsets all is regular."""
    for day in ("2018-03-25", "2018-10-28"):
        local = pd.date_range(day, periods=30, freq="h", tz="Europe/Madrid")
        frame = pd.DataFrame({"time": local, "a": np.arange(30.0), "b": 1.0})
        frame.to_csv(tmp_path / "aware.csv", index=False)
        aware = read_series(tmp_path / "aware.csv")
        assert aware.values[:, 0].tolist() == list(range(30))
        assert same(aware, read_series(frame))
        naive = frame.assign(time=local.tz_localize(None))
        if day.startswith("2018-10"):
            with pytest.raises(DataError, match=r"'a' at 2018-10-28 02:00.*clock is set back"):
                read_series(naive)
            assert len(read_series(naive, duplicates="mean").values) == 29
        else:
            found = read_series(naive)
            assert found.report.missing_steps == 1
            assert np.isnan(found.values[2]).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'data.csv' is empty"),
        ("\ufeff\n \n", "'data.csv' is empty"),
        ("time,a,b\n", "a header but no rows"),
        ("time\n1\n2\n", "a single column"),
        ("time,a\n1,2\n2,3\n3,4\n", "at least two arms, found only 'a'"),
        ("time,a,b,c\n1,1,,1\n2,1,,1\n3,1,,3\n", "no reading of 'b'"),
        ("time,arm,reward\n1,x,2\n2,x,3\n3,x,4\n", "at least two arms, .* has only 'x'"),
        ("time,arm,reward\n1,x,2\n2,,3\n3,y,4\n", "arm in line 3 of 'data.csv' has no name"),
        (WIDE + "2018-03-01 03:00,4\n", "line 5 of 'data.csv' has 2 fields, but the header has 3"),
        (WIDE + "\n2018-03-01 03:00,4,x1\n", "line 6 .* has 'x1' in column 'b', .* not a number"),
        (WIDE + "2018-03-01 03:00,4,1_0\n", "line 5 .* has '1_0' in column 'b', .* not a number"),
        (WIDE + "2018-03-01 03:00,4,-inf\n", "line 5 .* infinite value in column 'b'"),
        (WIDE + "2018-03-01 03:00,4,1e999\n", "line 5 .* infinite value in column 'b'"),
        (WIDE + "2018-03-01 03:15,4,4\n", "the most common step is 1 hour, but 2018-03-01 03:15"),
        (WIDE + ",4,4\n", "line 5 .* has nothing in the time column 'time'"),
        (WIDE + "yesterday,4,4\n", "line 5 .* has 'yesterday' in the time column"),
        (WIDE + "2018-03-01 03:00Z,4,4\n", "some times .* have a time zone .* some have none"),
        (WIDE + "9999-03-01 03:00,4,4\n", "time column 'time'|1678 to 2261"),
        (WIDE + "2261-03-01 00:00,1,1\n", "to 2261-03-01 00:00, .* is one of them wrong"),
        ("time,a,a\n1,2,3\n", "two columns named 'a'"),
        ("time,a,\n1,2,3\n", "column 3 of 'data.csv' has no name"),
        ("time,a,b\x1b[2J\n1,2,3\n", "cannot be shown"),
        ("time,a," + "b" * 300 + "\n1,2,3\n", "cannot be shown"),
        ("x,y,z\n1,2,3\n2,3,4\n3,4,5\n", "which column .* is the time: give time_column"),
        ("date,time,a,b\n1,2,3,4\n", "time_column='date' or 'time'"),
        ("time;a,b;c\n1;2,3;4\n", "give separator=',' or ';'"),
        ("time;a;b\n1;1,234;2\n2;5,678;2\n3;1,000;3\n", "'1,234', which may be read in two ways"),
        ("time;a;b\n1;1,5;2.5\n2;2,5;1\n3;1,5;1\n", "has '1,5' in column 'a'"),
        ("time,a,b\n20180330,1,2\n20180331,1,2\n20180401,3,4\n", "like dates written 20180331"),
        ("time,a,b\n1,1,2\n2,1,2\n", "only 2 different times"),
        ("time,a,b\n1,1,2\n2,1,2\n3,1,2\n1e15,1,2\n", "1,000,000,000,000,000 steps of 1: is one"),
        ("time,a,b\n1e-300,1,2\n2e-300,1,2\n1e300,1,2\n", "too large, or too close"),
        (b"time,a,b\n\xff\xfe\xfa,1,2\n", "not UTF-8 text"),
        (b"\x00\x01\x02\x03", "binary"),
        ("a,b\n" + '1,"2\n3"\n', "header has 2|line break"),
    ],
    ids=repr,
)
def test_bad_files(text: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_series(write(tmp_path, text))
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


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
    with pytest.raises(DataError, match="it is no path"):
        read_series("a\0b.csv")
    with pytest.raises(DataError, match="has no rows"):
        read_series(pd.DataFrame({"time": [], "a": [], "b": []}))
    monkeypatch.setattr("periodic_envs.data.tables.limits.MAX_BYTES", 20)
    with pytest.raises(DataError, match="larger than"):
        read_series(write(tmp_path, WIDE))


def test_parquet_with_lists_or_too_many_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wide: pd.DataFrame
) -> None:
    wide.assign(c=[[1]] * 5).to_parquet(tmp_path / "lists.parquet")
    with pytest.raises(DataError, match=r"'c' of 'lists.parquet' holds lists"):
        read_series(tmp_path / "lists.parquet")
    wide.to_parquet(tmp_path / "x.parquet")
    monkeypatch.setattr("periodic_envs.data.tables.limits.MAX_VALUES", 14)
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
    assert found.clock.at(0) == span
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
    assert read_series(path, time_format="%Y.%m.%d").clock.at(2) == "2018-03-03 00:00"
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
    with pytest.raises(DataError, match=r"write 0, 1, 2, \.\.\. in place .* the column 'step'"):
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
        with pytest.raises(DataError, match="is not a number: write it without thousands sep"):
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
    assert series.clock.at(0) == "2018-02-28 23:00+00:00"
    starts = ("2018-02-28 23:30", "2018-02-28 23:30Z", "2018-03-01 00:30+01:00")
    for start in starts:
        assert cut(series, start=start).values[0, 0] == 1.0
    with pytest.raises(DataError, match="all in UTC, and so is a start without an offset"):
        cut(series, start="2018-03-01 01:30")


def test_features(tmp_path: Path) -> None:
    path = write(tmp_path, "arm,x,y\nb,1,2\na,3,4\n", "f.csv")
    table = pd.DataFrame({"x": [1, 3], "y": [2, 4]}, index=["b", "a"])
    for source in (path, str(path), table, {"a": (3, 4), "b": (1, 2), "c": (0, 0)}):
        assert read_features(source, ("a", "b")).tolist() == [[3, 4], [1, 2]]
    with pytest.raises(DataError, match="no coordinates of 'z'"):
        read_features(path, ("a", "z"))
    for wrong in ({"a": (1, 2), "b": (1,)}, {"a": "x", "b": 1}, {"a": np.nan, "b": 1}, {}):
        with pytest.raises(DataError, match="arm_features"):
            read_features(wrong, ("a", "b"))
    for text in ("arm,x\na,1\na,2\n", "arm,x\na,\nb,1\n"):
        with pytest.raises(DataError, match=r"second time|lacks"):
            read_features(write(tmp_path, text), ("a", "b"))


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
