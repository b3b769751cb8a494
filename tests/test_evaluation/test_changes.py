"""Costs of the changes of a world, by hand and in results."""

from dataclasses import astuple
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evaluation
from evaluation.leaderboard.steps import replays
from evaluation.protocol import Protocol
from evaluation.results import CHANGE_COSTS, Results
from evaluation.specs import WorldSpec
from evaluation.statistics import change_costs
from periodic_envs.process import TabularProcess

SHIFT = "PeriodicGP-Shift-v0:changes=2,change=period,horizon=60,period=8"
STILL = "PeriodicGP-SyntheticDiscrete-v0"


def stretches(*lengths_and_levels: tuple[int, float]) -> list[float]:
    """Return regret that stays at each level for its number of steps."""
    return [level for steps, level in lengths_and_levels for _ in range(steps)]


@pytest.mark.parametrize(
    ("regret", "changes", "periods", "costs"),
    [
        # Before: (1 + 3) / 2 = 2. Means of windows of 2 after the change: 7, 5, 3, 3, 2.
        ([9, 9, 1, 3, 8, 6, 4, 2, 4, 0], [4], (2, 2), (2.0, 7.0, 2.0, 1.0, 18.0)),
        # Not back before the end, or before the next change, which undoes the first.
        ([1, 1, 5, 5, 5], [2], (2, 2), (1.0, 5.0, 3.0, 0.0, 10.0)),
        (stretches((10, 1), (10, 4), (6, 1)), [10, 20], (4, 4, 4), (1.0, 4.0, 10.0, 0.0, 16.0)),
        # Back after three steps, whatever happens after the second change.
        (stretches((10, 1), (3, 4), (7, 1), (9, 9)), [10, 20], (4,) * 3, (1.0, 3.25, 3.0, 1.0, 36)),
        # After the change a season of 4 has a regret of 4 per step, and its first half none.
        ([2.0] * 6 + [0, 0, 8, 8] * 4, [6], (2, 4), (2.0, 4.0, 16.0, 0.0, 16.0)),
        ([9.0, 9.0, 1.0, 1.0, 5.0, 5.0], [4], (4.2, 1), (5.0, 5.0, 0.0, 1.0, 20.0)),
        # Stretches shorter than a season.
        ([2, 4, 9, 3], [1, 3], (20, 20, 20), (2.0, 6.5, 2.0, 0.0, 18.0)),
        (np.zeros(9), [3, 6], (2, 2, 2), (0.0, 0.0, 0.0, 1.0, 0.0)),
    ],
)
def test_change_costs_by_hand(
    regret: list[float], changes: list[int], periods: tuple[float, ...], costs: tuple[float, ...]
) -> None:
    assert astuple(change_costs(regret, changes, periods=periods)) == pytest.approx(costs)


@pytest.fixture(scope="module")
def results() -> Results:
    table = {
        "envs": [SHIFT, STILL],
        "agents": ["random", "fixed"],
        "seeds": "0:3",
        "horizon": 60,
    }
    return evaluation.run(Protocol.from_dict(table), workers=0)


def drawn(seed: int) -> TabularProcess:
    env = WorldSpec.parse(SHIFT).make()
    env.reset(seed=seed)
    process: TabularProcess = env.episode.process
    return process


def test_references_record_changes(results: Results) -> None:
    """8 steps at first, then 12 or 5.3, then 18, 8 or 3.6."""
    for run in results.runs:
        if run.env == SHIFT and run.agent == "references":
            course = drawn(run.seed).course
            columns = results.source.columns(run.key)
            assert columns["changes"].tolist() == course.changes.tolist()
            assert columns["period"].tolist() == course.periods[[0, *course.changes]].tolist()
            assert columns["period"][0] == results.periods(SHIFT)[SHIFT, run.seed] == 8


def test_results_compute_change_costs(results: Results) -> None:
    costs = results.change_costs.set_index(["agent", "seed"])
    assert set(costs["task"]) == {SHIFT}
    assert set(costs.index) == {(agent, seed) for agent in ("random", "fixed") for seed in range(3)}
    runs = results.curves(SHIFT, "fixed")
    for (_, seed), regret in zip(runs.names, runs.regret, strict=True):
        course = drawn(seed).course
        periods = course.periods[[0, *course.changes]]
        expected = astuple(change_costs(regret, course.changes, periods=periods))
        assert tuple(costs.loc[("fixed", seed), CHANGE_COSTS]) == pytest.approx(expected)
    assert set(results.select(agents=["fixed"]).change_costs["agent"]) == {"fixed"}
    assert results.select(envs=[STILL]).change_costs.empty


def test_saved_totals_keep_change_costs(results: Results, tmp_path: Path) -> None:
    results.save_totals(tmp_path / "t.parquet")
    again = evaluation.load(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(again.change_costs, results.change_costs)


def test_replay_records_changes(results: Results) -> None:
    protocol = Protocol.from_dict(results.sweep.protocol)
    references = {(run.env, run.seed): run.references() for run in replays(protocol)}
    assert references[SHIFT, 1]["changes"].tolist() == drawn(1).changes.tolist()
    assert "changes" not in references[STILL, 0]
