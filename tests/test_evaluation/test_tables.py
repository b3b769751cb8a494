"""Tables of invented results."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from evaluation.columns import AllTasks, least_runs
from evaluation.protocol import Protocol
from evaluation.record import Record
from evaluation.results import Results, Scores
from evaluation.runs import runs_of
from evaluation.specs import REFERENCES
from evaluation.statistics import mean_interval, paired_difference
from evaluation.store import Store

UNIFORM = {"oracle": 0.0, "best-per-phase": 0.1, "best-fixed": 0.5, "uniform-random": 2.0}
STEPS = 10


def results(
    regrets: dict[str, list[float]],
    *,
    grouped: bool = False,
    tracks: Mapping[str, str] = MappingProxyType({}),
) -> Results:
    """Return results in which run j of an agent loses ``regrets[agent][j]`` per step.

    It loses twice as much in the second of the two worlds.
    """
    seeds = 1 if grouped else len(next(iter(regrets.values())))
    ids = [f"PeriodicGP-Synthetic-v0:period={20 + i}" for i in range(4 if grouped else 2)]
    envs = [
        {"id": i.split(":")[0], "arguments": {"period": 20 + n}, "label": f"world {n}"}
        | ({"group": "all"} if grouped else {})
        for n, i in enumerate(ids)
    ]
    # Settings give each name a key of its own.
    names: list[dict[str, Any]] = [
        {
            **{"name": "random", "label": name, "track": tracks.get(name, "online")},
            "settings": {"unused": number},
        }
        for number, name in enumerate(regrets)
    ]
    protocol = Protocol.from_dict({"envs": envs, "agents": names, "seeds": list(range(seeds))})
    store = Store()
    runs = runs_of(protocol)
    sweep = store.begin(protocol, runs)
    for run in runs:
        world = int(run.env.split()[1])
        place = world if grouped else run.seed
        factor = 1.0 if grouped else 1.0 + world
        t = np.arange(STEPS)
        if run.agent == REFERENCES:
            columns = {k: np.full(STEPS, factor * v) for k, v in UNIFORM.items()}
            store.save(Record.of(run.key, {"t": t, "period": np.full(1, 20.0), **columns}))
            continue
        value = regrets[run.agent][place]
        if np.isnan(value):
            store.save(Record(run.key, "failed"))
            continue
        full = {name: np.full(STEPS, factor * value) for name in ("regret", "reward", "seconds")}
        store.save(Record.of(run.key, {"t": t, "action": t, **full}))
    return Results(store.source(sweep.id))


A, B = [1.0, 1.2, 0.9, 1.4, 1.1], [1.5, 1.3, 1.6, 1.9, 1.2]


def test_table_equals_the_statistics() -> None:
    frame = results({"a": A, "b": B}).table(baseline="b").set_index(["task", "agent"])
    row = frame.loc["world 1", "a"]
    totals = 2 * STEPS * np.array(A)
    expected = mean_interval(totals)
    assert (row.regret, row.regret_low, row.regret_high) == pytest.approx(
        tuple(vars(expected).values())
    )
    assert row.normalised == pytest.approx(np.mean(A) / 2.0)
    gap = paired_difference(totals, 2 * STEPS * np.array(B))
    assert row.difference == pytest.approx(gap.estimate)
    assert row.p_value == pytest.approx(gap.p_value)  # one comparison: nothing to correct
    assert row.ms_per_step == pytest.approx(1e3 * 2.0 * np.mean(A))
    assert np.isnan(frame.loc["world 0", "b"].difference)
    assert frame.loc["world 0", "uniform-random"].normalised == 1.0
    assert np.isnan(frame.loc["world 0", "oracle"].p_value)


def test_table_clips_regret_at_zero() -> None:
    skewed = [0.0, 0.0, 0.0, 0.01, 9.0]
    assert mean_interval(skewed).low < 0.0
    frame = results({"a": skewed}).table()
    assert (frame["regret_low"].dropna() >= 0.0).all()
    assert (frame["normalised_low"].dropna() >= 0.0).all()


@pytest.mark.parametrize("runs", [1, 2, 3, 5])
def test_tables_have_intervals_of_enough_runs(runs: int) -> None:
    """Tables without some of their intervals have a note."""
    few = results({"a": A[:runs], "b": B[:runs]})
    assert few.scores().values.shape == (2, runs, 2)
    frame, overall = few.table(baseline="b"), few.overall(baseline="b")
    assert frame["regret"].notna().all()
    assert frame.filter(regex="_(low|high)$").isna().all(axis=None) == (runs < 5)
    assert overall["normalised_low"].isna().all() == (runs < 3)
    assert overall[["mean_rank_low", "better_high"]].isna().all(axis=None) == (runs < 5)
    for table in (frame, few.compare("a", "b"), overall):
        notes = re.findall("<p>(.*?)</p>", table._repr_html_())
        assert bool(notes) == (runs < 5)
        assert all(note in str(table).replace("\n", " ") for note in notes)


@pytest.mark.parametrize("tasks", [1, 2, 3, 4, 5, 30])
def test_least_runs_follows_the_rule(tasks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    every = AllTasks(results({"a": A}), "online", None)
    for runs in range(1, 7):
        monkeypatch.setattr(
            AllTasks, "scores", Scores(["a"], [""] * tasks, np.zeros((1, runs, tasks)))
        )
        assert every.is_enough == ((runs - 1) * tasks >= 4) == (runs >= least_runs(tasks))


def test_table_needs_common_runs_for_differences() -> None:
    late = [np.nan, np.nan, *A, 1.0, 1.3]
    early = [*B, 1.4, 1.7, np.nan, np.nan]
    fewer = [np.nan, np.nan, np.nan, *A, 1.3]
    for regrets, has_interval in ((late, True), (fewer, False)):
        frame = results({"a": regrets, "b": early}).table(baseline="b").set_index("agent")
        assert frame.loc["a", ["regret_low", "difference"]].notna().all(axis=None)
        assert (frame.loc["a", "difference_low"].notna() == has_interval).all()


def test_table_corrects_p_values_within_a_task() -> None:
    one = results({"a": A, "b": B}).table(baseline="b")
    three = results({"a": A, "b": B, "c": A, "d": A}).table(baseline="b")
    alone, among = (f.query("agent == 'a' and task == 'world 0'").p_value for f in (one, three))
    assert among.item() == pytest.approx(min(1.0, 3 * alone.item()))


def test_compare_uses_common_runs() -> None:
    holed = [np.nan, *B[1:]]
    holed_results = results({"a": A, "b": holed})
    assert len(holed_results.failures) == 2
    pair = holed_results.compare("a", "b").iloc[0]
    assert pair["runs"] == 4
    assert pair["difference"] == pytest.approx(STEPS * (np.mean(A[1:]) - np.mean(B[1:])))
    scores = holed_results.scores()
    assert (scores.agents, scores.tasks) == (["a", "b"], ["world 0", "world 1"])
    assert scores.values.shape == (2, 4, 2)
    np.testing.assert_allclose(scores.values[0, :, 0], 1.0 - np.array(A[1:]) / 2.0)


def test_overall_ranks_agents() -> None:
    frame = results({"b": B, "a": A}).overall(baseline="b").set_index("agent")
    assert list(frame.index) == ["a", "b"]  # the best first
    assert frame.loc["a", "mean_rank"] < frame.loc["b", "mean_rank"]
    assert frame.loc["a", "mean_rank"] + frame.loc["b", "mean_rank"] == pytest.approx(3.0)
    assert frame.loc["a", "normalised_low"] <= frame.loc["a", "normalised"]
    pairs = np.array([[(x < y) + 0.5 * (x == y) for y in B] for x in A]).mean()
    assert frame.loc["a", "better"] == pytest.approx(pairs)


def test_table_joins_the_windows_of_a_group() -> None:
    grouped = results({"a": A[:4], "b": B[:4]}, grouped=True)
    row = grouped.table(baseline="b").set_index(["task", "agent"]).loc["all", "a"]
    assert row.runs == 4
    assert row.regret == pytest.approx(STEPS * np.mean(A[:4]))
    assert row.difference == pytest.approx(STEPS * (np.mean(A[:4]) - np.mean(B[:4])))
    assert grouped.curves("all", "a").regret.shape == (4, STEPS)
