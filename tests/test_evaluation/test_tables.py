"""Tables say what the runs say: checked on invented results."""

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
    """Two worlds; agent i of run j loses regrets[agent][j] per step, in the second world twice."""
    seeds = 1 if grouped else len(next(iter(regrets.values())))
    ids = [f"PeriodicGP-Synthetic-v0:period={20 + i}" for i in range(4 if grouped else 2)]
    envs = [
        {"id": i.split(":")[0], "arguments": {"period": 20 + n}, "label": f"world {n}"}
        | ({"group": "all"} if grouped else {})
        for n, i in enumerate(ids)
    ]
    names: list[dict[str, Any]] = [
        {"name": "random", "label": name, "track": tracks.get(name, "online")} for name in regrets
    ]
    # The same agent under several names has the same key: settings tell them apart.
    for number, entry in enumerate(names):
        entry["settings"] = {"unused": number}
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


def test_table() -> None:
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


def test_regret_is_never_shown_below_zero() -> None:
    skewed = [0.0, 0.0, 0.0, 0.01, 9.0]
    assert mean_interval(skewed).low < 0.0
    frame = results({"a": skewed}).table()
    assert (frame["regret_low"].dropna() >= 0.0).all()
    assert (frame["normalised_low"].dropna() >= 0.0).all()


def test_few_runs_have_no_interval_and_the_table_says_how_many_it_needs() -> None:
    found = results({"a": A[:3], "b": B[:3]})
    frame = found.table(baseline="b")
    bounds = frame.filter(regex="_(low|high)$")
    assert bounds.isna().all(axis=None)
    assert frame["regret"].notna().all()
    note = "No intervals: they need at least 5 runs."
    assert str(frame).count(note) == str(found.compare("a", "b")).count(note) == 2
    assert "intervals" not in str(results({"a": A}).table())
    assert "<p>No intervals: they need at least 5 runs.</p>" in frame._repr_html_()
    assert "<p>" not in results({"a": A}).table()._repr_html_()


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (2, "No intervals: over 2 tasks they need at least 3 runs each."),
        (
            3,
            "Intervals over all tasks: the 3 runs of each of 2 tasks count together. "
            "Ranks need 5 runs of each for one.",
        ),
        (5, None),
    ],
)
def test_over_all_tasks_runs_count_together_and_the_table_says_so(
    runs: int, said: str | None
) -> None:
    frame = results({"a": A[:runs], "b": B[:runs]}).overall()
    last = str(frame).split("\n\n")[-1].replace("\n", " ")
    assert last == said if said else "ntervals" not in last
    assert frame["normalised_low"].isna().all() == (runs < 3)
    counted = results({"a": A[:runs], "b": B[:runs]}).overall(baseline="b")
    assert counted[["mean_rank_low", "better_high"]].isna().all(axis=None) == (runs < 5)


@pytest.mark.parametrize("tasks", [1, 2, 3, 4, 5, 30])
def test_the_least_number_of_runs_is_that_of_the_rule(
    tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = AllTasks(results({"a": A}), "online", None)
    for runs in range(1, 7):
        monkeypatch.setattr(
            AllTasks, "scores", Scores(["a"], [""] * tasks, np.zeros((1, runs, tasks)))
        )
        assert every.is_enough == ((runs - 1) * tasks >= 4) == (runs >= least_runs(tasks))


def test_a_difference_needs_common_runs() -> None:
    late = [np.nan, np.nan, *A, 1.0, 1.3]
    early = [*B, 1.4, 1.7, np.nan, np.nan]
    frame = results({"a": late, "b": early}).table(baseline="b").set_index("agent")
    assert frame.loc["a", "regret_low"].notna().all()
    assert frame.loc["a", "difference_low"].notna().all()
    fewer = [np.nan, np.nan, np.nan, *A, 1.3]
    frame = results({"a": fewer, "b": early}).table(baseline="b").set_index("agent")
    assert frame.loc["a", "regret_low"].notna().all()
    assert frame.loc["a", "difference"].notna().all()
    assert frame.loc["a", "difference_low"].isna().all()


def test_holm_counts_the_agents_of_a_task() -> None:
    one = results({"a": A, "b": B}).table(baseline="b")
    three = results({"a": A, "b": B, "c": A, "d": A}).table(baseline="b")
    alone, among = (f.query("agent == 'a' and task == 'world 0'").p_value for f in (one, three))
    assert among.item() == pytest.approx(min(1.0, 3 * alone.item()))


def test_pairs_are_common_runs() -> None:
    holed = [np.nan, *B[1:]]
    found = results({"a": A, "b": holed})
    assert len(found.failures) == 2
    pair = found.compare("a", "b").iloc[0]
    assert pair["runs"] == 4
    assert pair["difference"] == pytest.approx(STEPS * (np.mean(A[1:]) - np.mean(B[1:])))
    scores = found.scores()
    assert scores.agents == ["a", "b"]
    assert scores.tasks == ["world 0", "world 1"]
    assert scores.values.shape == (2, 4, 2)
    np.testing.assert_allclose(scores.values[0, :, 0], 1.0 - np.array(A[1:]) / 2.0)


def test_overall() -> None:
    frame = results({"b": B, "a": A}).overall(baseline="b").set_index("agent")
    assert list(frame.index) == ["a", "b"]  # the best first
    assert frame.loc["a", "mean_rank"] < frame.loc["b", "mean_rank"]
    assert frame.loc["a", "mean_rank"] + frame.loc["b", "mean_rank"] == pytest.approx(3.0)
    assert frame.loc["a", "normalised_low"] <= frame.loc["a", "normalised"]
    pairs = np.array([[(x < y) + 0.5 * (x == y) for y in B] for x in A]).mean()
    assert frame.loc["a", "better"] == pytest.approx(pairs)


def test_windows_of_a_group_are_the_runs_of_one_row() -> None:
    found = results({"a": A[:4], "b": B[:4]}, grouped=True)
    frame = found.table(baseline="b").set_index(["task", "agent"])
    row = frame.loc["all", "a"]
    assert row.runs == 4
    assert row.regret == pytest.approx(STEPS * np.mean(A[:4]))
    assert row.difference == pytest.approx(STEPS * (np.mean(A[:4]) - np.mean(B[:4])))
    assert found.curves("all", "a").regret.shape == (4, STEPS)


def test_a_single_run_has_no_interval() -> None:
    row = results({"a": A[:1], "b": B[:1]}).table(baseline="b").iloc[0]
    assert np.isnan(row.regret_low)
    assert np.isnan(row.regret_high)
    assert row.regret == pytest.approx(STEPS * A[0])
    scores = results({"a": A[:1], "b": B[:1]}).scores()
    assert scores.values.shape == (2, 1, 2)
    assert scores.agents == ["a", "b"]


def test_tracks_are_never_mixed() -> None:
    envs = ["PeriodicGP-SyntheticDiscrete-v0"]
    agents = [{"name": "random"}, {"name": "random", "track": "pretrained", "label": "trained"}]
    protocol = Protocol.from_dict({"envs": envs, "agents": agents, "seeds": "0:2", "horizon": 5})
    from evaluation.runner import run

    found = run(protocol, workers=0)
    assert found.tracks == ["online", "pretrained"]
    for track, mine, other in (
        ("online", "random", "trained"),
        ("pretrained", "trained", "random"),
    ):
        names = set(found.table(track=track)["agent"])
        assert mine in names
        assert other not in names
