"""Tests of ``read_series`` and its errors."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from periodic_decisions.tables.series import read_series
from periodic_envs.data import DataError
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
        found = read_series(path, arms=["a", "b"])
        assert same(found, reference), path.name
    assert same(read_series(wide.set_index("time")), reference)
    assert same(read_series(wide.set_index("time").rename_axis(None)), reference)


def test_report_names_roles_and_guesses(wide: pd.DataFrame, tmp_path: Path) -> None:
    wide.to_csv(tmp_path / "x.csv", index=False, sep=";", decimal=",")
    text = " / ".join(read_series(str(tmp_path / "x.csv")).report.detected)
    assert "a wide table: time in 'time'" in text
    assert "separated by a semicolon" in text
    assert "decimal mark is a comma" in text
    found = read_series(long_of(wide).assign(extra=1.0))
    assert "arm in 'arm', reward in 'reward'" in found.report.detected[0]
    assert found.report.detected[1] == "not used: 'extra'"
    assert found.troubles() == []


@pytest.mark.parametrize("name", ["index", "Unnamed: 0", ""])
def test_saved_index_is_not_an_arm(name: str, wide: pd.DataFrame, tmp_path: Path) -> None:
    wide.rename_axis(name or None).to_csv(tmp_path / "x.csv")
    found = read_series(tmp_path / "x.csv")
    assert same(found, read_series(wide))
    assert f"not used: {name or 'column 1'!r}" in found.report.detected


def test_roles_can_be_named(wide: pd.DataFrame) -> None:
    strange = long_of(wide).rename(columns={"time": "x", "arm": "who", "reward": "p"})
    strange["x"] = strange["x"].astype(str)
    strange["q"] = 0.0
    found = read_series(strange, time_column="x", arm_column="who", reward_column="p")
    assert same(found, read_series(wide))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "column 'who' holds text"),
        ({"arm_column": "who"}, "the reward column of .* is ambiguous: give reward_column"),
        ({"arm_column": "whom"}, "unknown column of the DataFrame: 'whom'; did you mean 'who'"),
        ({"arm_column": "p", "reward_column": "p"}, "must be three columns"),
    ],
)
def test_roles_that_are_unclear_are_refused(
    given: dict[str, str], message: str, wide: pd.DataFrame
) -> None:
    strange = long_of(wide).rename(columns={"arm": "who", "reward": "p"}).assign(q=0.0)
    with pytest.raises(DataError, match=message):
        read_series(strange, **given)


def test_arms_are_chosen_and_ordered(wide: pd.DataFrame) -> None:
    frame = wide.assign(weekday="Thu", c=9.0)
    with pytest.raises(DataError, match=r"'weekday' holds text.* arms=\[...\]"):
        read_series(frame)
    assert read_series(frame, arms=["c", "a"]).names == ("c", "a")
    assert read_series(long_of(wide), arms=["b", "a"]).values[1].tolist() == [1.5, 1.0]
    for source in (wide, long_of(wide)):
        with pytest.raises(DataError, match="unknown arm in the DataFrame: 'z'; known are a, b"):
            read_series(source, arms=["a", "z"])
    with pytest.raises(DataError, match="two different arms"):
        read_series(wide, arms=["a", "a"])


@pytest.mark.parametrize("duplicates", ["error", "mean"])
def test_long_table_of_numbers_is_not_read_as_wide(duplicates: str) -> None:
    days = pd.date_range("2023-01-01", periods=4).repeat(3)
    units = np.arange(12.0) ** 1.5
    shops = pd.DataFrame({"date": days, "store_id": [101, 102, 103] * 4, "revenue": units})
    with pytest.raises(DataError, match=r"may be a long table .* give arm_column"):
        read_series(shops, duplicates=duplicates)
    found = read_series(shops, arm_column="store_id", reward_column="revenue")
    assert found.names == ("101", "102", "103")
    goods = shops.assign(price=1.5)
    assert read_series(goods, arms=["revenue", "price"], duplicates="mean").names[0] == "revenue"


def test_grid_of_whole_numbers() -> None:
    frame = pd.DataFrame(
        {"step": [0, 0, 5, 5, 10, 10], "arm": [7, 9] * 3, "reward": [1, 2, 3, 4, 5, 6]}
    )
    found = read_series(frame)
    assert (found.names, found.step, list(found.times)) == (("7", "9"), 5, [0, 5, 10])


def test_grid_of_real_numbers_survives_round_off() -> None:
    times = np.delete(np.arange(1000) * 0.1, [500])
    found = read_series(pd.DataFrame({"t": times, "a": times, "b": -times}))
    assert found.step == pytest.approx(0.1)
    assert found.values.shape == (1000, 2)
    assert np.flatnonzero(np.isnan(found.values[:, 0])).tolist() == [500]


def test_gaps_and_equal_duplicates_are_counted(wide: pd.DataFrame) -> None:
    frame = pd.concat([wide.drop(index=2), wide.iloc[[3]]])
    frame.loc[4, "b"] = np.nan
    found = read_series(frame)
    assert np.isnan(found.values).sum() == 3
    assert (found.report.missing_steps, found.report.missing) == (1, 0.3)
    assert found.report.dropped == 2
    assert len(found.troubles()) == 2


def test_conflicting_duplicates_are_refused_or_averaged(wide: pd.DataFrame) -> None:
    frame = pd.concat([wide, wide.iloc[[3]].assign(a=5.0)])
    with pytest.raises(DataError, match=r"different values for 'a' at 2018-03-01 01:30: .*'mean'"):
        read_series(frame)
    found = read_series(frame, duplicates="mean")
    assert found.values[3].tolist() == [4.0, 4.5]
    assert (found.report.averaged, found.report.dropped) == (2, 1)
    with pytest.raises(DataError, match="duplicates must be one of"):
        read_series(frame, duplicates="last")


def test_total_of_all_arms_is_reported(wide: pd.DataFrame) -> None:
    assert read_series(wide.assign(c=wide["a"] + wide["b"] + 1.0)).troubles() == []
    (trouble,) = read_series(wide.assign(Total=wide["a"] + wide["b"])).troubles()
    assert trouble.startswith("'Total' is the sum of all other arms")


def test_scarce_arms_are_reported() -> None:
    frame = pd.DataFrame({"t": range(10), "a": 1.0, "b": 2.0, "B": 1.0})
    frame.loc[:5, "B"] = np.nan
    assert read_series(frame).scarce_arms() == [
        "more than 50% of the readings of B are missing (is a name misspelled?): "
        "correct the table, or give arms=['a', 'b']"
    ]
    frame.loc[5, "B"] = 1.0  # just half of it
    assert read_series(frame).scarce_arms() == []


@pytest.mark.parametrize("day", ["2018-03-25", "2018-10-28"])
def test_clock_changes_need_a_zone(day: str, tmp_path: Path) -> None:
    """Local times have an hour twice in autumn and none in spring; with offsets all is regular."""
    local = pd.date_range(day, periods=30, freq="h", tz="Europe/Madrid")
    frame = pd.DataFrame({"time": local, "a": np.arange(30.0), "b": 1.0})
    frame.to_csv(tmp_path / "aware.csv", index=False)
    aware = read_series(tmp_path / "aware.csv")
    assert aware.values[:, 0].tolist() == list(range(30))
    assert same(aware, read_series(frame))
    naive = frame.assign(time=local.tz_localize(None))
    for source in (naive, frame):
        found = read_series(source, timezone="Europe/Madrid")
        assert found.grid.at(0) == f"{day} 00:00"
        said = found.report.detected[-1]
        if day.startswith("2018-10"):
            assert found.values[[1, 2, 3], 0].tolist() == [1.0, 2.5, 4.0]
            assert said == "clocks were set back at 2018-10-28 02:00"
            for zone in (None, "America/New_York"):
                with pytest.raises(DataError, match=r"at 2018-10-28 02:00: .* give the timezone"):
                    read_series(naive, timezone=zone)
        else:
            assert found.report.missing_steps == 1
            assert np.isnan(found.values[2]).all()
            assert said == "clocks were set forward at 2018-03-25 02:00"


def test_offsets_become_times_of_local_clocks(tmp_path: Path) -> None:
    unix = pd.DataFrame({"time": 1_530_000_000 + 3600 * np.arange(5), "a": range(5), "b": 1.0})
    assert read_series(unix).grid.at(0) == "2018-06-26 08:00"
    assert read_series(unix, timezone="Europe/Madrid").grid.at(0) == "2018-06-26 10:00"
    text = WIDE.replace(":00,", ":00+05:00,")
    assert read_series(write(tmp_path, text), timezone="Asia/Tokyo").grid.at(0)[-5:] == "04:00"
    with pytest.raises(
        DataError, match="timezone='UTC' requires times, but column 't' has numbers"
    ):
        read_series(unix.assign(t=range(5)).drop(columns="time"), timezone="UTC")
    with pytest.raises(DataError, match="unknown timezone 'Atlantis'"):
        read_series(unix, timezone="Atlantis")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\ufeff\n \n", "is empty"),
        ("time,a,b\n", "no rows below the header"),
        ("time\n1\n2\n", "a single column"),
        ("time,a\n1,2\n2,3\n3,4\n", r"at least two arms are required, got \['a'\]"),
        ("time,a,b,c\n1,1,,1\n2,1,,1\n3,1,,3\n", "no reading of 'b'"),
        (
            "time,arm,reward\n1,x,2\n2,x,3\n3,x,4\n",
            "at least two arms are required, .* has only 'x'",
        ),
        ("time,arm,reward\n1,x,2\n2,,3\n3,y,4\n", "arm in line 3 of 'data.csv' has no valid name"),
        (WIDE + "2018-03-01 03:00,4\n", "line 5 of 'data.csv' has 2 fields, but the header has 3"),
        (WIDE + "\n2018-03-01 03:00,4\n", "line 6 of 'data.csv' has 2 fields"),
        (WIDE + "\n2018-03-01 03:00,4,x1\n", "line 6 .* has 'x1' in column 'b', .* not a number"),
        (WIDE + "2018-03-01 03:00,4,1_0\n", "line 5 .* has '1_0' in column 'b', .* not a number"),
        (WIDE + "2018-03-01 03:00,4,-inf\n", "line 5 .* infinite value in column 'b'"),
        (WIDE + "2018-03-01 03:00,4,1e999\n", "line 5 .* infinite value in column 'b'"),
        (WIDE + "2018-03-01 03:15,4,4\n", "the most common step is 1 hour, but 2018-03-01 03:15"),
        (WIDE + ",4,4\n", "line 5 .* has no value in the time column 'time'"),
        (WIDE + "yesterday,4,4\n", "line 5 .* has 'yesterday' in the time column"),
        (WIDE + "2018-03-01 03:00Z,4,4\n", "mixes times with and without a time zone"),
        (WIDE + "9999-03-01 03:00,4,4\n", "time column 'time'|1678 to 2261"),
        (WIDE + "2261-03-01 00:00,1,1\n", "to 2261-03-01 00:00, .* is one of them wrong"),
        ("time,a,a\n1,2,3\n", "two columns named 'a'"),
        ("time,a,\n1,2,3\n", "column 3 of 'data.csv' has no valid name"),
        ("time,a,b\x1b[2J\n1,2,3\n", "has no valid name"),
        ("time,a," + "b" * 300 + "\n1,2,3\n", "has no valid name"),
        ("x,y,z\n1,2,3\n2,3,4\n3,4,5\n", "the time column of .* is ambiguous: give time_column"),
        ("date,time,a,b\n1,2,3,4\n", "time_column='date' or 'time'"),
        ("time;a,b;c\n1;2,3;4\n", "give separator=',' or ';'"),
        ("time;a;b\n1;1,234;2\n2;5,678;2\n3;1,000;3\n", "ambiguous numbers like '1,234'"),
        (
            "time;a;b\n1;1,5;2.5\n2;2,5;1\n3;1,5;1\n",
            r"line 2 .* '1,5' .*\(3 such values\): write numbers",
        ),
        ("time,a,b\n20180330,1,2\n20180331,1,2\n20180401,3,4\n", "like dates such as 20180331"),
        ("time,a,b\n1,1,2\n2,1,2\n", "only 2 different times"),
        ("time,a,b\n1,1,2\n2,1,2\n3,1,2\n1e15,1,2\n", "1,000,000,000,000,000 steps of 1: is one"),
        ("time,a,b\n1e-300,1,2\n2e-300,1,2\n1e300,1,2\n", "too large or too close"),
        (b"time,a,b\n\xff\xfe\xfa,1,2\n", "'ÿþú' in the time column"),
        (b"\x00\x01\x02\x03", "binary"),
        ("a,b\n" + '1,"2\n3"\n', "header has 2|line break"),
        ('time,a,b\n2020-01-01,1,"2\n2020-01-02,2,3\n', "line break or an open quotation mark"),
    ],
    ids=repr,
)
def test_bad_files_are_refused(text: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_series(write(tmp_path, text))
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
