"""Tests of ``read_series`` and its errors."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from periodic_decisions.tables.series import read_series
from periodic_envs.data import DataError
from tests.errors import raises
from tests.test_decisions.tables import WIDE, long_of, same, write


def test_read_series_reads_every_form(wide: pd.DataFrame, tmp_path: Path) -> None:
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
        assert same(read_series(path, arms=["a", "b"]), reference), path.name
    assert same(read_series(wide.set_index("time")), reference)
    assert same(read_series(wide.set_index("time").rename_axis(None)), reference)


def test_read_series_reports_columns(wide: pd.DataFrame) -> None:
    series = read_series(long_of(wide).assign(extra=1.0))
    names = re.findall("'(.+?)'", " ".join(series.report.detected))
    assert names == ["time", "arm", "reward", "extra"]
    assert series.troubles() == []


@pytest.mark.parametrize("name", ["index", "Unnamed: 0", ""])
def test_read_series_ignores_saved_index(name: str, wide: pd.DataFrame, tmp_path: Path) -> None:
    wide.rename_axis(name or None).to_csv(tmp_path / "x.csv")
    series = read_series(tmp_path / "x.csv")
    assert same(series, read_series(wide))
    assert repr(name or "column 1") in series.report.detected[1]


def test_read_series_takes_named_roles(wide: pd.DataFrame) -> None:
    strange = long_of(wide).rename(columns={"time": "x", "arm": "who", "reward": "p"})
    strange["x"] = strange["x"].astype(str)
    strange["q"] = 0.0
    series = read_series(strange, time_column="x", arm_column="who", reward_column="p")
    assert same(series, read_series(wide))


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({}, "ambiguous-table"),
        ({"arm_column": "who"}, "ambiguous-column"),
        ({"arm_column": "whom"}, "unknown-column"),
        ({"arm_column": "p", "reward_column": "p"}, "repeated-names"),
    ],
)
def test_read_series_rejects_unclear_roles(
    columns: dict[str, str], code: str, wide: pd.DataFrame
) -> None:
    strange = long_of(wide).rename(columns={"arm": "who", "reward": "p"}).assign(q=0.0)
    with raises(DataError, code):
        read_series(strange, **columns)


def test_read_series_selects_and_orders_arms(wide: pd.DataFrame) -> None:
    frame = wide.assign(weekday="Thu", c=9.0)
    with raises(DataError, "ambiguous-table"):
        read_series(frame)
    assert read_series(frame, arms=["c", "a"]).names == ("c", "a")
    assert read_series(long_of(wide), arms=["b", "a"]).values[1].tolist() == [1.5, 1.0]
    for source in (wide, long_of(wide)):
        with raises(DataError, "unknown-arm"):
            read_series(source, arms=["a", "z"])
    with raises(DataError, "too-few-arms"):
        read_series(wide, arms=["a", "a"])


@pytest.mark.parametrize("duplicates", ["error", "mean"])
def test_read_series_rejects_long_table_of_numbers_as_wide(duplicates: str) -> None:
    days = pd.date_range("2023-01-01", periods=4).repeat(3)
    units = np.arange(12.0) ** 1.5
    shops = pd.DataFrame({"date": days, "store_id": [101, 102, 103] * 4, "revenue": units})
    with raises(DataError, "ambiguous-table"):
        read_series(shops, duplicates=duplicates)
    series = read_series(shops, arm_column="store_id", reward_column="revenue")
    assert series.names == ("101", "102", "103")
    goods = shops.assign(price=1.5)
    assert read_series(goods, arms=["revenue", "price"], duplicates="mean").names[0] == "revenue"


def test_read_series_takes_whole_numbers_as_times() -> None:
    frame = pd.DataFrame(
        {"step": [0, 0, 5, 5, 10, 10], "arm": [7, 9] * 3, "reward": [1, 2, 3, 4, 5, 6]}
    )
    series = read_series(frame)
    assert (series.names, series.step, list(series.times)) == (("7", "9"), 5, [0, 5, 10])


def test_read_series_tolerates_round_off_of_times() -> None:
    times = np.delete(np.arange(1000) * 0.1, [500])
    series = read_series(pd.DataFrame({"t": times, "a": times, "b": -times}))
    assert series.step == pytest.approx(0.1)
    assert series.values.shape == (1000, 2)
    assert np.flatnonzero(np.isnan(series.values[:, 0])).tolist() == [500]


def test_read_series_counts_gaps_and_equal_duplicates(wide: pd.DataFrame) -> None:
    frame = pd.concat([wide.drop(index=2), wide.iloc[[3]]])
    frame.loc[4, "b"] = np.nan
    series = read_series(frame)
    assert np.isnan(series.values).sum() == 3
    report = series.report
    assert (report.missing_steps, report.missing, report.dropped) == (1, 0.3, 2)
    assert len(series.troubles()) == 2


def test_read_series_rejects_or_averages_conflicting_values(wide: pd.DataFrame) -> None:
    frame = pd.concat([wide, wide.iloc[[3]].assign(a=5.0)])
    with raises(DataError, "conflicting-values") as caught:
        read_series(frame)
    assert "'a' at 2018-03-01 01:30" in str(caught.value)
    series = read_series(frame, duplicates="mean")
    assert series.values[3].tolist() == [4.0, 4.5]
    assert (series.report.averaged, series.report.dropped) == (2, 1)
    with raises(DataError, "invalid-option"):
        read_series(frame, duplicates="last")


def test_troubles_name_total_of_all_arms(wide: pd.DataFrame) -> None:
    assert read_series(wide.assign(c=wide["a"] + wide["b"] + 1.0)).troubles() == []
    (trouble,) = read_series(wide.assign(Total=wide["a"] + wide["b"])).troubles()
    assert "'Total'" in trouble
    assert read_series(wide.assign(b=wide["a"])).troubles() == []  # two equal arms


def test_scarce_arms_names_the_other_arms() -> None:
    frame = pd.DataFrame({"t": range(10), "a": 1.0, "b": 2.0, "B": 1.0})
    frame.loc[:5, "B"] = np.nan
    (trouble,) = read_series(frame).scarce_arms()
    assert "arms=['a', 'b']" in trouble
    frame.loc[5, "B"] = 1.0  # just half of it
    assert read_series(frame).scarce_arms() == []


@pytest.mark.parametrize("day", ["2018-03-25", "2018-10-28"])
def test_read_series_needs_timezone_for_clock_changes(day: str, tmp_path: Path) -> None:
    """Local times have an hour twice in autumn and none in spring; with offsets all is regular."""
    local = pd.date_range(day, periods=30, freq="h", tz="Europe/Madrid")
    frame = pd.DataFrame({"time": local, "a": np.arange(30.0), "b": 1.0})
    frame.to_csv(tmp_path / "aware.csv", index=False)
    aware = read_series(tmp_path / "aware.csv")
    assert aware.values[:, 0].tolist() == list(range(30))
    assert same(aware, read_series(frame))
    naive = frame.assign(time=local.tz_localize(None))
    for source in (naive, frame):
        series = read_series(source, timezone="Europe/Madrid")
        assert series.grid.at(0) == f"{day} 00:00"
        assert f"{day} 02:00" in series.report.detected[-1]
        if day.startswith("2018-10"):
            assert series.values[[1, 2, 3], 0].tolist() == [1.0, 2.5, 4.0]
            for zone in (None, "America/New_York"):
                with raises(DataError, "conflicting-values") as caught:
                    read_series(naive, timezone=zone)
                assert f"{day} 02:00" in str(caught.value)
        else:
            assert series.report.missing_steps == 1
            assert np.isnan(series.values[2]).all()


def test_read_series_converts_offsets_to_local_times(tmp_path: Path) -> None:
    unix = pd.DataFrame({"time": 1_530_000_000 + 3600 * np.arange(5), "a": range(5), "b": 1.0})
    assert read_series(unix).grid.at(0) == "2018-06-26 08:00"
    assert read_series(unix, timezone="Europe/Madrid").grid.at(0) == "2018-06-26 10:00"
    text = WIDE.replace(":00,", ":00+05:00,")
    assert read_series(write(tmp_path, text), timezone="Asia/Tokyo").grid.at(0)[-5:] == "04:00"
    with raises(DataError, "not-clock-times"):
        read_series(unix.assign(t=range(5)).drop(columns="time"), timezone="UTC")
    with raises(DataError, "unknown-timezone"):
        read_series(unix, timezone="Atlantis")


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("", "empty-table", "'data.csv'"),
        ("\ufeff\n \n", "empty-table", "'data.csv'"),
        ("time,a,b\n", "empty-table", "'data.csv'"),
        ("time\n1\n2\n", "too-few-columns", "'data.csv'"),
        ("time,a\n1,2\n2,3\n3,4\n", "too-few-arms", "'a'"),
        ("time,a,b,c\n1,1,,1\n2,1,,1\n3,1,,3\n", "missing-values", "'b'"),
        ("time,arm,reward\n1,x,2\n2,x,3\n3,x,4\n", "too-few-arms", "'x'"),
        ("time,arm,reward\n1,x,2\n2,,3\n3,y,4\n", "invalid-name", "line 3"),
        (WIDE + "2018-03-01 03:00,4\n", "wrong-field-count", "line 5"),
        (WIDE + "\n2018-03-01 03:00,4\n", "wrong-field-count", "line 6"),
        (WIDE + "\n2018-03-01 03:00,4,x1\n", "not-a-number", "line 6"),
        (WIDE + "2018-03-01 03:00,4,1_0\n", "not-a-number", "line 5"),
        (WIDE + "2018-03-01 03:00,4,x\n", "not-a-number", "'b'"),
        (WIDE + "2018-03-01 03:00,4,-inf\n", "infinite-values", "line 5"),
        (WIDE + "2018-03-01 03:00,4,1e999\n", "infinite-values", "'b'"),
        (WIDE + "2018-03-01 03:15,4,4\n", "irregular-times", "2018-03-01 03:15"),
        (WIDE + ",4,4\n", "invalid-time", "line 5"),
        (WIDE + "yesterday,4,4\n", "invalid-time", "'yesterday'"),
        (WIDE + "2018-03-01 03:00Z,4,4\n", "mixed-timezones", "'time'"),
        (WIDE + "9999-03-01 03:00,4,4\n", "time-out-of-range", "'time'"),
        (WIDE + "2261-03-01 00:00,1,1\n", "sparse-times", "2261-03-01 00:00"),
        ("time,a,a\n1,2,3\n", "repeated-names", "'a'"),
        ("time,a,\n1,2,3\n", "invalid-name", "column 3"),
        ("time,a,b\x1b[2J\n1,2,3\n", "invalid-name", "column 3"),
        ("time,a," + "b" * 300 + "\n1,2,3\n", "invalid-name", "column 3"),
        ("x,y,z\n1,2,3\n2,3,4\n3,4,5\n", "ambiguous-column", "time_column"),
        ("date,time,a,b\n1,2,3,4\n", "ambiguous-column", "'date' or 'time'"),
        ("time;a,b;c\n1;2,3;4\n", "ambiguous-separator", "',' or ';'"),
        ("time;a;b\n1;1,234;2\n2;5,678;2\n3;1,000;3\n", "ambiguous-number", "'1,234'"),
        ("time;a;b\n1;1,5;2.5\n2;2,5;1\n3;1,5;1\n", "not-a-number", "line 2"),
        ("time,a,b\n20180330,1,2\n20180331,1,2\n20180401,3,4\n", "ambiguous-time", "%Y%m%d"),
        ("time,a,b\n1,1,2\n2,1,2\n", "too-few-steps", "2"),
        ("time,a,b\n1,1,2\n2,1,2\n3,1,2\n1e15,1,2\n", "sparse-times", "1,000,000,000,000,000"),
        ("time,a,b\n1e-300,1,2\n2e-300,1,2\n1e300,1,2\n", "time-out-of-range", "'data.csv'"),
        (b"time,a,b\n\xff\xfe\xfa,1,2\n", "invalid-time", "'ÿþú'"),
        (b"\x00\x01\x02\x03", "binary-file", "'data.csv'"),
        ("a,b\n" + '1,"2\n3"\n', "open-quotation", "'data.csv'"),
        ('time,a,b\n2020-01-01,1,"2\n2020-01-02,2,3\n', "open-quotation", "'data.csv'"),
    ],
    ids=repr,
)
def test_read_series_rejects_bad_files(
    text: str | bytes, code: str, place: str, tmp_path: Path
) -> None:
    with raises(DataError, code) as caught:
        read_series(write(tmp_path, text))
    assert place in str(caught.value)
    assert not {"\n", "\x1b"} & set(str(caught.value))
