"""What changes of a world cost: against values by hand, and in tables where worlds change."""

import json
from dataclasses import astuple

import gymnasium as gym
import numpy as np
import pytest

import evaluation
from evaluation.columns import COLUMNS
from evaluation.leaderboard.replay import replays
from evaluation.page.content import store_content
from evaluation.protocol import Protocol
from evaluation.references import reference_columns
from evaluation.results import Results
from evaluation.statistics import change_costs, worst_window
from periodic_envs.process import TabularProcess

AROUND = [column.key for column in COLUMNS if column.when == "changes"]
SHIFT, STILL = "PeriodicGP-Shift-v0", "PeriodicGP-SyntheticDiscrete-v0"


def test_one_change_by_hand() -> None:
    """Before: (1 + 3) / 2 = 2, so windows of 2 with a mean of at most 3 are back."""
    regret = [9, 9, 1, 3, 8, 6, 4, 2, 4, 0]
    found = change_costs(regret, [4], seasons=(2, 2))
    # Means of windows after the change: 7, 5, 3, 3, 2. The third begins two steps after it.
    assert astuple(found) == pytest.approx((2.0, 7.0, 2.0, 1.0, 2.0, 1.0))
    assert change_costs(regret, [4], seasons=(2, 2), factor=1.0).recovery == 4.0
    assert change_costs(regret, [4], seasons=(2, 2), factor=4.0).recovery == 0.0


def test_what_is_never_recovered_from_counts_with_all_steps_there_are() -> None:
    found = change_costs([1, 1, 5, 5, 5], [2], seasons=(2, 2))
    assert astuple(found) == pytest.approx((1.0, 5.0, 3.0, 0.0, 3.0, 0.0))


def stretches(*lengths_and_levels: tuple[int, float]) -> list[float]:
    """A curve of regret that stays at a level for so many steps, and then at the next."""
    return [level for steps, level in lengths_and_levels for _ in range(steps)]


def test_two_changes_that_are_recovered_from_after_known_steps() -> None:
    """Three steps of 4 after the first, five after the second; else 1, so at most 1.5 is back."""
    regret = stretches((10, 1), (3, 4), (7, 1), (5, 4), (5, 1))
    found = change_costs(regret, [10, 20], seasons=(4, 4, 4))
    assert astuple(found) == pytest.approx((1.0, 3.25, 3.0, 1.0, 4.0, 1.0))


def test_who_never_recovers_from_the_first_change_is_not_back_at_the_second() -> None:
    """As bad before the second change as after it, which is no recovery from either."""
    found = change_costs(stretches((10, 1), (20, 4)), [10, 20], seasons=(4, 4, 4))
    assert astuple(found) == pytest.approx((1.0, 4.0, 10.0, 0.0, 10.0, 0.0))


def test_a_change_that_undoes_the_first_is_no_recovery_from_it() -> None:
    found = change_costs(stretches((10, 1), (10, 4), (6, 1)), [10, 20], seasons=(4, 4, 4))
    assert astuple(found) == pytest.approx((1.0, 4.0, 10.0, 0.0, 8.0, 0.0))


def test_the_second_change_is_held_against_the_level_before_the_first() -> None:
    """Regret of 2 before and 2.5 after the second change, but 4 before the first: back at once.

    And of 0.5 before the second and 1.2 after it, more than 1.5 times as much, but 1 before all.
    """
    better = change_costs(stretches((10, 4), (10, 2), (10, 2.5)), [10, 20], seasons=(4, 4, 4))
    assert (better.recovery, better.recovered) == (0.0, 1.0)
    lower = change_costs(stretches((10, 1), (10, 0.5), (10, 1.2)), [10, 20], seasons=(4, 4, 4))
    assert (lower.before, lower.recovery, lower.recovered) == (1.0, 0.0, 1.0)


def test_the_first_change_is_told_apart_from_all() -> None:
    found = change_costs(stretches((10, 1), (2, 4), (8, 1), (10, 4)), [10, 20], seasons=(4, 4, 4))
    assert (found.recovery_first, found.recovered_first) == (2.0, 1.0)
    assert (found.recovery, found.recovered) == (6.0, 0.5)


def test_a_season_has_the_length_of_its_time() -> None:
    """After the change a season of 4 has a regret of 4 per step, and its first half none."""
    regret = [2.0] * 6 + [0.0, 0.0, 8.0, 8.0] * 4
    longer = change_costs(regret, [6], seasons=(2, 4))
    assert astuple(longer) == pytest.approx((2.0, 4.0, 16.0, 0.0, 16.0, 0.0))
    assert change_costs(regret, [6], seasons=(2, 2)).recovered == 1.0
    before = change_costs([9.0, 9.0, 1.0, 1.0, 5.0, 5.0], [4], seasons=(4, 1))
    assert (before.before, before.after_first, before.recovery) == (5.0, 5.0, 0.0)


def test_stretches_shorter_than_a_season() -> None:
    found = change_costs([2, 4, 9, 3], [1, 3], seasons=(20, 20, 20))
    # Before is 2, so at most 3 is back: (4 + 9) / 2 after the first change is not.
    assert astuple(found) == pytest.approx((2.0, 6.5, 2.0, 0.0, 1.5, 0.0))


def test_who_never_regrets_is_always_back() -> None:
    found = change_costs(np.zeros(9), [3, 6], seasons=(2, 2, 2))
    assert astuple(found) == (0.0, 0.0, 0.0, 1.0, 0.0, 1.0)


def test_a_run_without_changes_has_no_costs() -> None:
    assert np.isnan(astuple(change_costs([1, 2], [], seasons=(1,)))).all()


def test_every_stretch_needs_a_season() -> None:
    with pytest.raises(ValueError, match="seasons must have 3 lengths for 2 changes, got 1"):
        change_costs(np.zeros(9), [3, 6], seasons=(2,))


@pytest.mark.parametrize(
    ("window", "worst"), [(1, 7.0), (2, 9.0), (3, 12.0), (5, 15.0), (99, 16.0)]
)
def test_the_worst_window_by_hand(window: int, worst: float) -> None:
    assert worst_window([1, 2, 7, 2, 3, 1], window=window) == pytest.approx(worst)


@pytest.fixture(scope="module")
def results() -> Results:
    table = {
        "envs": [f"{SHIFT}:changes=2,change=period,horizon=60,period=8", STILL],
        "agents": ["random", "fixed"],
        "seeds": "0:3",
        "horizon": 60,
    }
    return evaluation.run(Protocol.from_dict(table), workers=0)


def drawn(seed: int) -> TabularProcess:
    env = gym.make(SHIFT, changes=2, change="period", horizon=60, period=8).unwrapped
    env.reset(seed=seed)
    process: TabularProcess = env.episode.process
    return process


def test_references_record_the_season_of_each_stretch(results: Results) -> None:
    """8 steps at first, then 12 or 5.3, then 18, 8 or 3.6."""
    shift, _ = results.tasks
    for run in results.runs:
        if run.env == shift and run.agent == "references":
            course = drawn(run.seed).course
            columns = results.source.columns(run.key)
            assert columns["changes"].tolist() == course.changes.tolist()
            assert columns["period"].tolist() == course.periods[[0, *course.changes]].tolist()
            assert columns["period"][0] == results.periods(shift)[shift, run.seed] == 8


def test_tables_say_what_changes_cost_where_there_are_any(results: Results) -> None:
    shift, still = results.tasks
    frame = results.table().set_index(["task", "agent"])
    assert frame.loc[still, AROUND].isna().all(axis=None)
    assert frame.loc[shift, AROUND].notna().all(axis=None)
    runs = results.curves(shift, "fixed")
    costs = []
    for (_, seed), regret in zip(runs.names, runs.regret, strict=True):
        course = drawn(seed).course
        lengths = [round(length) for length in course.periods[[0, *course.changes]].tolist()]
        costs.append(astuple(change_costs(regret, course.changes, seasons=lengths)))
    row = frame.loc[(shift, "fixed"), AROUND]
    worst = np.mean([worst_window(regret, window=8) for regret in runs.regret])
    assert row.tolist() == pytest.approx([*np.mean(costs, axis=0), worst])
    perfect = [0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    assert frame.loc[(shift, "oracle"), AROUND].tolist() == perfect
    assert set(results.change_costs["task"]) == {shift}


def test_sweeps_without_changes_have_no_such_columns() -> None:
    table = {"envs": [STILL], "agents": ["random"], "seeds": "0:1", "horizon": 5}
    found = evaluation.run(Protocol.from_dict(table), workers=0)
    assert found.change_costs.empty
    assert not set(AROUND) & set(found.table())


def test_screens_have_a_table_around_the_changes(results: Results) -> None:
    shift, still = results.tasks
    titles = [f"{shift} (online)", f"{shift} (online), around its changes", f"{still} (online)"]
    text = results.table().content.text(100)
    assert [part for part in text.split("\n\n") if "(online)" in part] == titles
    # In the heading, and in the legend below the table.
    assert text.count("recovery 1st") == text.count("recovery all") == text.count("worst") == 2
    assert "recovery 1st: Steps from the first change until" in text
    assert max(map(len, map(str.rstrip, text.splitlines()))) <= 100


def test_pages_have_the_columns_too(results: Results) -> None:
    (board,) = json.loads(json.dumps(store_content(results)["boards"]))
    assert [c["key"] for c in board["world_columns"] if c["key"] in AROUND] == AROUND
    shift, still = board["rows"][0]["envs"]
    assert shift["recovery"] >= 0.0
    assert still["recovery"] is None


def test_editions_compute_the_same_from_the_worlds(results: Results) -> None:
    protocol = Protocol.from_dict(results.sweep.protocol)
    found = {(run.env, run.seed): run.references() for run in replays(protocol)}
    shift, still = results.tasks
    assert found[shift, 1]["changes"].tolist() == drawn(1).changes.tolist()
    assert "changes" not in found[still, 0]
    env = gym.make(STILL, horizon=5).unwrapped
    env.reset(seed=0)
    assert "changes" not in reference_columns(env)
