"""Tests of detecting and reading logs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from periodic_decisions.logs.describe import describe, guess_period
from periodic_decisions.logs.log import DecisionLogError, split_seasons
from periodic_decisions.logs.reading import read_log
from periodic_decisions.tables.roles import detect_kind
from periodic_envs.data import DataError
from tests.errors import raises


def frame(n: int = 8, **columns: object) -> pd.DataFrame:
    whole = {"time": range(n), "arm": ["a", "b"] * (n // 2), "reward": np.arange(n, dtype=float)}
    return pd.DataFrame({**whole, **columns})


# --- detection -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "is_log"),
    [
        (frame(), True),
        (pd.concat([frame(arm="a"), frame(arm="b")]), False),
        (pd.concat([frame(arm="a"), frame(arm="b", reward=np.nan)]), True),  # one of two was seen
        (pd.concat([frame(arm="a"), frame(arm="b")]).assign(probability=0.5), True),
        ("none.csv", False),  # reading it reports the error
    ],
)
def test_detect_kind_finds_logs(rows: object, is_log: bool) -> None:
    assert detect_kind(rows)[0] == is_log


def test_read_log_refuses_a_wide_table() -> None:
    wide = pd.DataFrame({"time": range(5), "a": 1.0, "b": 2.0})
    assert not detect_kind(wide)[0]
    with raises(DecisionLogError, "not-a-log"):
        read_log(wide)


# --- reading ---------------------------------------------------------------------------------


def test_read_log_sorts_rows() -> None:
    rows = frame(
        time=[5, 0, 0, 1, 2, 9, 7, 1],
        arm=list("abbabaab"),
        reward=[1.0, 2.0, 3.0, np.nan, 4.0, 5.0, 6.0, 7.0],
        probability=[0.5, 0.25, 0.125, 0.5, 1.0, 0.5, 0.5, 0.75],
    )
    log = read_log(rows)
    assert log.names == ("a", "b")
    assert log.step.tolist() == [0, 0, 1, 2, 5, 7, 9]
    assert log.reward.tolist() == [2.0, 3.0, 7.0, 4.0, 1.0, 6.0, 5.0]
    assert log.arm.tolist() == [1, 1, 1, 1, 0, 0, 0]
    assert log.probability is not None
    assert log.probability.tolist() == [0.25, 0.125, 0.75, 1.0, 0.5, 0.5, 0.5]
    assert log.unknown == 1
    assert log.contexts is None


def test_read_log_takes_other_numbers_for_contexts() -> None:
    log = read_log(frame(queue=np.arange(8.0), word="x", load=1.0))
    assert log.context_names == ("queue", "load")
    assert log.contexts is not None
    assert log.contexts[:, 0].tolist() == list(range(8))
    assert read_log(frame(queue=1.0, load=1.0), context_columns=["load"]).context_names == ("load",)
    with raises(DecisionLogError, "missing-values") as caught:
        read_log(frame(queue=[0.0, 1.0, np.nan, 3.0, 4.0, 5.0, 6.0, 7.0]))
    assert "row 2" in str(caught.value)


def test_read_log_reads_a_log_of_choices(tmp_path: Path) -> None:
    """Columns time, arm, reward, probability; a reward that is not known yet is empty."""
    path = tmp_path / "log.csv"
    lines = ["time,arm,reward,probability"]
    lines += [f"2024-01-{1 + i // 24:02}T{i % 24:02}:00:00Z,ab,{i}.5,0.5" for i in range(30)]
    path.write_text("\n".join([*lines, "2024-01-02T06:00:00Z,other,,0.5", ""]))
    log = read_log(path)
    assert len(log) == 30
    assert log.unknown == 1
    assert log.names == ("ab", "other")
    assert guess_period(log) == 24.0
    assert log.step[0] == 0  # 2024-01-01 is a Monday
    assert "times were converted to UTC" in log.notes


@pytest.mark.parametrize("value", [0.0, 1.5, -0.1])
def test_read_log_refuses_impossible_probabilities(value: float) -> None:
    with raises(DecisionLogError, "invalid-probability") as caught:
        read_log(frame(probability=[0.5] * 3 + [value] + [0.5] * 4))
    assert f"row 3 of the DataFrame has {value:g}" in str(caught.value)


def test_read_log_leaves_out_rows_without_probability() -> None:
    """Logs of deciders have such rows: the first choices are drawn from equal arms."""
    log = read_log(frame(probability=[np.nan, np.nan, *[0.5] * 6]))
    assert len(log) == 6
    assert log.probability is not None
    assert (log.probability == 0.5).all()
    assert "left out 2 rows without a probability" in log.notes
    assert log.unknown == 0
    with raises(DecisionLogError, "missing-values"):
        read_log(frame(probability=[np.nan] * 5 + [0.5] * 3))


def test_read_log_needs_a_step_for_irregular_times() -> None:
    times = pd.to_datetime("2024-01-03") + pd.to_timedelta([0, 7, 61, 62, 180, 190, 250, 1000], "m")
    with raises(DecisionLogError, "sparse-times"):
        read_log(frame(time=times))
    log = read_log(frame(time=times), step="1h")
    assert (log.step - 48).tolist() == [0, 0, 1, 1, 3, 3, 4, 16]  # from Monday on
    assert log.moments[2] == pd.Timestamp("2024-01-03 01:00")
    with raises(DecisionLogError, "invalid-duration"):
        read_log(frame(time=times), step="often")
    numbers = read_log(frame(time=np.arange(8) * 0.7), step=2.0)
    assert numbers.step.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        (frame(arm="a"), "too-few-arms"),
        (frame(reward=[1.0] * 7 + [1e200]), "value-too-large"),
        (frame(reward=np.nan), "no-rewards"),
        (frame(probability=0.5, pscore=0.5), "ambiguous-column"),
    ],
)
def test_read_log_refuses_unusable_tables(rows: pd.DataFrame, code: str) -> None:
    with raises(DataError, code):
        read_log(rows)


# --- seasons ---------------------------------------------------------------------------------


def test_split_seasons_makes_blocks_of_whole_seasons() -> None:
    seasons = split_seasons(np.arange(3, 58), 10.0)
    assert seasons.phases == 10
    assert seasons.phase[:10].tolist() == [3, 4, 5, 6, 7, 8, 9, 0, 1, 2]
    assert seasons.blocks == 5
    assert np.bincount(seasons.block).tolist() == [10, 10, 10, 10, 15]  # the rest goes to the last
    assert split_seasons(np.arange(80), 10.0, seasons_per_block=2).blocks == 4
    for steps in (np.arange(39), np.array([0, 1, 78, 79])):
        with raises(DecisionLogError, "too-few-seasons"):
            split_seasons(steps, 10.0)


def test_split_seasons_joins_seasons_of_long_logs() -> None:
    seasons = split_seasons(np.arange(1000), 4.0)
    assert seasons.blocks == 50
    assert set(np.bincount(seasons.block)) == {20}


def test_describe_names_unseen_phases() -> None:
    n = 48
    rows = frame(n, arm=["b" if i % 4 == 3 else "a" for i in range(n)], probability=0.5)
    log = read_log(rows)
    lines = describe(log, split_seasons(log.step, 4.0))
    assert lines[-1].split() == ["b", "12", "25.0%", "25", "phase", "0,", "1,", "2"]
    assert any("100%" in line for line in lines)


def test_describe_names_impossible_probabilities() -> None:
    log = read_log(frame(48, probability=0.1))
    assert any("inconsistent" in line for line in describe(log, split_seasons(log.step, 4.0)))
