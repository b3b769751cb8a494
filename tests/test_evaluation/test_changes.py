"""What changes of a world cost: against values by hand, and in tables where worlds change."""

import json
from dataclasses import astuple
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from rich.console import Console

import evaluation
from evaluation.columns import COLUMNS
from evaluation.compared import TaskRuns
from evaluation.leaderboard.replay import references
from evaluation.protocol.protocol import Protocol
from evaluation.references import reference_columns
from evaluation.report.content import store_content
from evaluation.report.sheet import Pictures
from evaluation.results import Results
from evaluation.running.sweep import run
from evaluation.statistics import change_costs, worst_window
from evaluation.store import Store
from evaluation.tables import task_tables

AROUND = [column.key for column in COLUMNS if column.when == "changes"]
SHIFT, STILL = "PeriodicGP-Shift-v0", "PeriodicGP-SyntheticDiscrete-v0"


def test_one_change_by_hand() -> None:
    """Before: (1 + 3) / 2 = 2, so windows of 2 with a mean of at most 3 are back."""
    regret = [9, 9, 1, 3, 8, 6, 4, 2, 4, 0]
    found = change_costs(regret, [4], window=2)
    # Means of windows after the change: 7, 5, 3, 3, 2. The third begins two steps after it.
    assert astuple(found) == pytest.approx((2.0, 7.0, 2.0, 1.0))
    assert change_costs(regret, [4], window=2, factor=1.0).recovery == 4.0
    assert change_costs(regret, [4], window=2, factor=4.0).recovery == 0.0


def test_what_is_never_recovered_from_counts_with_all_steps_there_are() -> None:
    found = change_costs([1, 1, 5, 5, 5], [2], window=2)
    assert astuple(found) == pytest.approx((1.0, 5.0, 3.0, 0.0))


def test_several_changes_are_averaged_and_end_each_other() -> None:
    """The second is recovered from at once: before it regret was as bad."""
    regret = [1, 1, 4, 4, 4, 4, 2, 6, 2, 2]
    first = change_costs(regret[:6], [2], window=2)
    second = change_costs(regret[2:], [4], window=2)
    assert astuple(first) == pytest.approx((1.0, 4.0, 4.0, 0.0))
    assert astuple(second) == pytest.approx((4.0, 4.0, 0.0, 1.0))
    found = change_costs(regret, [2, 6], window=2)
    assert astuple(found) == pytest.approx((2.5, 4.0, 2.0, 0.5))


def test_segments_shorter_than_a_season() -> None:
    found = change_costs([2, 4, 9, 3], [1, 3], window=20)
    # Of the first change: 2 before, (4 + 9) / 2 after; of the second: 6.5 before, 3 after.
    assert astuple(found) == pytest.approx((4.25, 4.75, 1.0, 0.5))


def test_who_never_regrets_is_always_back() -> None:
    assert astuple(change_costs(np.zeros(9), [3, 6], window=2)) == (0.0, 0.0, 0.0, 1.0)


def test_a_run_without_changes_has_no_costs() -> None:
    assert np.isnan(astuple(change_costs([1, 2], [], window=1))).all()


@pytest.mark.parametrize(
    ("window", "worst"), [(1, 7.0), (2, 9.0), (3, 12.0), (5, 15.0), (99, 16.0)]
)
def test_the_worst_window_by_hand(window: int, worst: float) -> None:
    assert worst_window([1, 2, 7, 2, 3, 1], window=window) == pytest.approx(worst)


@pytest.fixture(scope="module")
def results() -> Results:
    table = {
        "envs": [f"{SHIFT}:changes=1,horizon=60", STILL],
        "agents": ["random", "fixed"],
        "seeds": "0:2",
        "horizon": 60,
    }
    return evaluation.run(Protocol.from_dict(table), workers=0)


def test_results_know_when_worlds_change(results: Results) -> None:
    shift, still = results.tasks
    changes = results.changes(shift)
    assert set(changes) == {(shift, 0), (shift, 1)}
    env = gym.make(SHIFT, changes=1, horizon=60).unwrapped
    for seed in (0, 1):
        env.reset(seed=seed)
        assert changes[shift, seed].tolist() == env.episode.process.changes.tolist()
    assert results.changes(still) == {}
    assert results.has_changes


def test_tables_say_what_changes_cost_where_there_are_any(results: Results) -> None:
    shift, still = results.tasks
    frame = results.table().set_index(["task", "agent"])
    assert frame.loc[still, AROUND].isna().all(axis=None)
    assert frame.loc[shift, AROUND].notna().all(axis=None)
    runs = results.curves(shift, "fixed")
    costs = [
        change_costs(regret, results.changes(shift)[name], window=20)
        for name, regret in zip(runs.names, runs.regret, strict=True)
    ]
    row = frame.loc[shift, "fixed"]
    assert row.before_change == pytest.approx(np.mean([cost.before for cost in costs]))
    assert row.after_change == pytest.approx(np.mean([cost.after for cost in costs]))
    assert row.recovery == pytest.approx(np.mean([cost.recovery for cost in costs]))
    assert row.recovered == pytest.approx(np.mean([cost.recovered for cost in costs]))
    worst = np.mean([worst_window(regret, window=20) for regret in runs.regret])
    assert row.worst_window == pytest.approx(worst)
    assert frame.loc[(shift, "oracle"), AROUND].tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]
    assert set(TaskRuns(results, "online", None, 0, still).change_costs) == set()


def test_sweeps_without_changes_have_no_such_columns() -> None:
    table = {"envs": [STILL], "agents": ["random"], "seeds": "0:1", "horizon": 5}
    found = evaluation.run(Protocol.from_dict(table), workers=0)
    assert not found.has_changes
    assert not set(AROUND) & set(found.table())


def test_screens_have_a_table_around_the_changes(results: Results) -> None:
    tables = list(task_tables(results, baseline=None, track="online"))
    shift, still = results.tasks
    titles = [f"{shift} (online)", f"{shift} (online), around its changes", f"{still} (online)"]
    assert [table.title for table in tables] == titles
    console = Console(width=300, record=True)
    for table in tables:
        console.print(table)
    text = console.export_text()
    assert text.count("recovery") == text.count("worst") == 1
    assert max(map(len, map(str.rstrip, text.splitlines()))) <= 100


def test_pages_have_the_columns_too(results: Results) -> None:
    (board,) = json.loads(json.dumps(store_content(results, Pictures())["boards"]))
    assert [c["key"] for c in board["world_columns"] if c["key"] in AROUND] == AROUND
    shift, still = board["rows"][0]["envs"]
    assert shift["recovery"] >= 0.0
    assert still["recovery"] is None


def test_a_store_gives_back_when_worlds_change(tmp_path: Path, results: Results) -> None:
    path, (shift, _) = tmp_path / "results.sqlite", results.tasks
    protocol = Protocol.from_dict(results.sweep.protocol).restricted(envs=[shift], agents=["fixed"])
    with Store(path) as store:
        run(protocol, store=store, workers=0)
    with Store(path, create=False) as store:
        again = Results(store.source(1)).changes(shift)
        assert {name: times.tolist() for name, times in again.items()} == {
            name: times.tolist() for name, times in results.changes(shift).items()
        }


def test_editions_compute_the_same_from_the_worlds(results: Results) -> None:
    protocol = Protocol.from_dict(results.sweep.protocol)
    found = references(protocol)
    shift, still = results.tasks
    assert found[shift, 1]["changes"].tolist() == results.changes(shift)[shift, 1].tolist()
    assert "changes" not in found[still, 0]
    env = gym.make(STILL, horizon=5).unwrapped
    env.reset(seed=0)
    assert "changes" not in reference_columns(env)
