"""The study of the flagship on small data: its parts, its options, and what it says of bad ones."""

import json
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from periodic_envs.data.errors import DataError
from studies.flagship import (
    AUTO,
    FlagshipLab,
    changed_city,
    madrid,
    rideshare,
    sections,
    table_windows,
    tables,
    text,
)
from studies.flagship.__main__ import PARTS, main
from studies.flagship.options import flagship_parser, parse_periods, parse_years, parsed
from studies.flagship.reach import reach
from studies.flagship.table_windows import Windows
from studies.lab import study_lab
from studies.stamp import stamps_in

DOCS = Path(__file__).parents[2] / "docs"
DAYS, ARMS = 6, ("north", "south", "west")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Six days of hours; three arms whose turns come at different hours."""
    hours = np.arange(24 * DAYS)
    phases = 2 * np.pi * (hours[:, None] / 24 + np.arange(3) / 3)
    frame = pd.DataFrame(np.round(5 + 4 * np.sin(phases), 3), columns=list(ARMS))
    frame.insert(0, "time", pd.date_range("2020-02-03", periods=len(hours), freq="h"))
    frame.to_csv(tmp_path / "small.csv", index=False)
    return tmp_path / "small.csv"


def options_of(*arguments: str) -> Namespace:
    return parsed(flagship_parser("About.", list(PARTS)), arguments)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[FlagshipLab]:
    options = options_of("--store", str(tmp_path / "s.sqlite"), "--workers", "0")
    with study_lab("auto-gp", options) as lab:
        yield lab


# --- windows of tables -------------------------------------------------------------------------


def test_windows_follow_each_other_or_come_every_few_days(table: Path) -> None:
    given = {"file": table, "period": (24.0,), "steps": 48}
    assert Windows("w", **given).starts() == [
        "2020-02-03 00:00",
        "2020-02-05 00:00",
        "2020-02-07 00:00",
    ]
    daily = Windows("w", every_days=1, first="2020-02-06", **given)
    assert daily.starts() == ["2020-02-06 00:00", "2020-02-07 00:00"]
    assert len(Windows("w", every_days=1, count=2, **given).starts()) == 2


def test_a_window_that_does_not_fit_is_said(table: Path) -> None:
    with pytest.raises(DataError, match=r"steps must be at most 144 from 2020-02-03"):
        Windows("w", table, (24.0,), 200).starts()
    with pytest.raises(DataError, match=r"steps must be at most 24 from 2020-02-08"):
        Windows("w", table, (24.0,), 48, every_days=5, count=2).starts()
    with pytest.raises(DataError, match="every must be at least a step of 1 hour"):
        Windows("w", table, (24.0,), 48, every_days=0.001).starts()


def test_every_window_is_held_against_hindsight(
    table: Path, lab: FlagshipLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "SHORTLIST", ("fixed", "random", AUTO))
    lab.size.table, lab.size.period, lab.size.steps = [table], (24.0,), 72
    rows = tables.tables(lab)
    cold, warm = ([r for r in rows if r["task"] == f"small, {kind}"] for kind in ("cold", "warm"))
    assert [row["agent"] for row in cold] == ["fixed", "random", AUTO, "best-per-phase"]
    assert {row["windows"] for row in rows} == {2}
    assert {row["warm"] for row in warm} == {48}
    per_phase = cold[-1]
    assert per_phase["fixed"][0] == 0.0  # the days of the table are the same
    assert all(row["fixed"][1] <= row["fixed"][0] <= row["fixed"][2] for row in rows)
    assert 0.5 < cold[1]["random"][0] < 1.5
    page = sections.tables(rows)
    assert "small, cold (2 x 72 steps, season 24):" in page


def test_a_single_window_has_no_interval(
    table: Path, lab: FlagshipLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "SHORTLIST", ("fixed",))
    lab.size.table, lab.size.period, lab.size.steps, lab.size.warm = [table], (24.0,), 144, 0
    fixed, _ = tables.tables(lab)
    assert len(fixed["fixed"]) == len(fixed["last"]) == 1


def test_missing_development_tables_are_said_once_each(
    tmp_path: Path,
    lab: FlagshipLab,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    away = [
        Windows(w.name, tmp_path / w.file.name, w.period, w.steps)
        for w in table_windows.DEVELOPMENT
    ]
    monkeypatch.setattr(tables, "DEVELOPMENT", tuple(away))
    assert tables.tables(lab) == []
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3
    assert said[0].startswith("There is no table nyc_flights_by_destination.csv")


# --- RideShare, Madrid -------------------------------------------------------------------------


def test_rideshare_names_the_median_and_the_worst(
    lab: FlagshipLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rideshare, "RUNS", ((24, "0:3"),))
    monkeypatch.setattr(rideshare, "AGENTS", ("fixed", "linucb"))
    rows = rideshare.rideshare(lab)
    assert [row["agent"] for row in rows] == ["fixed", "linucb"]
    for row in rows:
        assert len(row["worst"]) == 2
        assert row["worst"][0] >= row["worst"][1] >= row["median"]
    assert "24 steps, seeds 0:3" in sections.rideshare(rows)


def test_seeds_that_judge_are_not_developed_on() -> None:
    judged = {int(seeds.partition(":")[2]) for _, seeds in rideshare.RUNS}
    developed = {int(seeds.partition(":")[0]) for _, seeds in rideshare.DEVELOPMENT_RUNS}
    assert max(judged) <= 1000 <= min(developed)


def test_madrid_is_judged_with_a_prior_of_another_year(
    madrid_windows: None, lab: FlagshipLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(madrid, "ONLINE", ("fixed",))
    lab.size.every = 180.0
    rows = madrid.madrid(lab)
    assert [(row["goal"], row["agent"]) for row in rows] == [
        (goal, agent) for goal in ("max", "min") for agent in ("fixed", madrid.PRIOR)
    ]
    assert all(row["static"][0] > 0 for row in rows)
    (prior,) = lab.size.store.parent.glob("prior-2017-*.json")
    assert "of 2017" in json.loads(prior.read_text())["about"]
    assert "2016-2017" in sections.madrid_years(rows)


@pytest.fixture
def madrid_windows(madrid: Path) -> None:
    """The imported measurements (the fixture's name is a module's here)."""


def test_other_years_have_the_prior_of_the_package(tmp_path: Path) -> None:
    assert madrid.prior_without(2019, tmp_path) == "madrid"
    assert not list(tmp_path.iterdir())


def test_years_that_are_not_imported_are_said(data_folder: Path) -> None:
    with pytest.raises(DataError, match=r"of 2019, 2020 are not imported \(imported years: none\)"):
        madrid.windows_of((2019, 2020))


# --- a city that changes -----------------------------------------------------------------------


@pytest.mark.parametrize("change", changed_city.CHANGES)
def test_a_change_keeps_the_shape_and_changes_something(change: str) -> None:
    before = np.random.default_rng(0).gamma(2.0, 10.0, (48, 8)) * np.arange(1, 9)
    copy = before.copy()
    after = changed_city.CHANGES[change](before, np.random.default_rng(1))
    assert after.shape == before.shape
    assert (before == copy).all()
    assert not np.allclose(after, before)


def test_the_dirtiest_and_the_cleanest_trade_places() -> None:
    before = np.tile([3.0, 1.0, 2.0], (4, 1))
    rng = np.random.default_rng(0)
    change = changed_city.CHANGES["the dirtiest and the cleanest trade places"]
    assert (change(before, rng) == np.tile([1.0, 3.0, 2.0], (4, 1))).all()


def test_there_are_at_least_twenty_changed_worlds() -> None:
    assert len(changed_city.CHANGES) * len(changed_city.DAYS) * 2 >= 20


def test_changed_worlds_are_judged_one_by_one(
    madrid_windows: None, lab: FlagshipLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_city, "DAYS", ("11-03",))
    few = {"the day 9 hours later": changed_city.CHANGES["the day 9 hours later"]}
    monkeypatch.setattr(changed_city, "CHANGES", few)
    rows = changed_city.changed_city(lab)
    assert [row["start"] for row in rows] == ["2016-11-03", "2017-11-03"]
    assert all(row["ratio"] == row["prior"] / row["auto"] > 0 for row in rows)
    assert "the day 9 hours later | 2 |" in sections.changed_city(rows)
    assert "a city that changes, 2 worlds" in reach({"changed-city": rows})


# --- the command line --------------------------------------------------------------------------


def test_years_and_periods_are_written_in_two_ways() -> None:
    assert parse_years("2019:2021") == (2019, 2020, 2021)
    assert parse_years("2018,2016") == (2016, 2018)
    assert parse_years("2019") == (2019,)
    assert parse_periods("[168,24]") == parse_periods("168,24") == (168.0, 24.0)
    for wrong in ("soon", "2016:", "2018:2016", "1,,2"):
        with pytest.raises(ArgumentTypeError):
            parse_years(wrong)


def test_other_data_choose_their_parts_and_leave_the_docs_alone() -> None:
    assert options_of().docs == Path("docs")
    assert options_of().parts == []
    years = options_of("--years", "2019:2021")
    assert (years.parts, years.docs) == (["madrid"], None)
    both = options_of("--years", "2019", "--table", "a.csv", "--table", "b.csv", "--period", "24")
    assert both.parts == ["tables", "madrid"]
    assert both.table == [Path("a.csv"), Path("b.csv")]
    named = options_of("changed-city", "--years", "2019", "--docs", "here")
    assert (named.parts, named.docs) == (["changed-city"], Path("here"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--table", "a.csv"], "--table needs --period"),
        (["--years", "soon"], "years are written 2016:2017 or 2016,2018, got 'soon'"),
        (["--table", "a.csv", "--period", "day"], "periods are written 24 or 168,24, got 'day'"),
        (["--years", "2016", "--every", "0"], "--every must be positive"),
    ],
)
def test_bad_options_are_said(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit):
        options_of(*arguments)
    assert sentence in capsys.readouterr().err


def test_bad_data_end_the_study_with_a_sentence(
    table: Path, tmp_path: Path, data_folder: Path
) -> None:
    common = ["--store", str(tmp_path / "s.sqlite"), "--workers", "0"]
    away = ["--table", str(tmp_path / "away.csv"), "--period", "24"]
    long = ["--table", str(table), "--period", "24"]  # 384 steps by default
    warm = [*long, "--steps", "40"]
    for arguments, sentence in (
        (away, r"away\.csv"),
        (long, "steps must be at most 144"),
        (warm, "warm_start must leave a step to decide"),
        (["--years", "2019:2021"], "the measurements of 2019, 2020, 2021 are not imported"),
    ):
        with pytest.raises(SystemExit, match=sentence) as ended:
            main([*arguments, *common])
        assert "\n" not in str(ended.value)


def test_other_tables_are_judged_from_the_command_line(
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    monkeypatch.setattr(tables, "SHORTLIST", ("fixed", "random"))
    monkeypatch.chdir(tmp_path)
    arguments = ["--table", str(table), "--period", "24", "--steps", "72", "--warm", "24"]
    main([*arguments, "--workers", "0", "--store", "s.sqlite"])
    assert "small, warm (2 x 72 steps, season 24):" in capsys.readouterr().out
    assert not (tmp_path / "docs").exists()
    main([*arguments, "--workers", "0", "--store", "s.sqlite", "--docs", "mine"])
    page = (tmp_path / "mine" / "auto-gp.md").read_text()
    assert "## Tables" in page
    (stamp,) = stamps_in(page)
    assert (stamp.part, list(stamp.code["agents"])) == ("tables", ["fixed", "random"])


# --- the page ----------------------------------------------------------------------------------


def test_2018_was_looked_at_as_often_as_the_page_says() -> None:
    """Whoever judges 2018 again adds a line to the list of looks."""
    rows = json.loads((DOCS / "auto-gp.json").read_text())["madrid-2018"]
    (ours,) = (row for row in rows if row["goal"] == "max" and row["agent"] == AUTO)
    assert f"{ours['static'][0]:.3f}" == text.JUDGED_2018[-1][0]


def test_reach_says_who_is_first() -> None:
    task = table_windows.WARM[0].name
    rows = [
        {"task": task, "agent": agent, "fixed": [ratio, ratio - 0.1, ratio + 0.1]}
        for agent, ratio in ((AUTO, 0.9), ("fixed", 1.2), ("best-per-phase", 0.1))
    ]
    line = "| 0.90 [0.80, 1.00], first, then fixed 1.20 | yes | yes | `python"
    assert line in reach({"tables": rows})
    rows[1]["fixed"] = [0.8, 0.7, 0.9]
    assert "behind fixed 0.80 | no |" in reach({"tables": rows})
