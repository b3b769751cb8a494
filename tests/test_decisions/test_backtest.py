"""Tests of ``periodic-gp backtest``: windows, references, verdicts and commands."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evaluation.specs import ProtocolError
from periodic_decisions.backtest.result import BacktestResult, setup_commands
from periodic_decisions.backtest.run import Backtest
from periodic_decisions.backtest.windows import (
    FIXED,
    LEARNED,
    MEANINGS,
    WindowPlan,
    plan_windows,
)
from periodic_decisions.decider.decider import Decider
from periodic_envs.data.errors import DataError
from periodic_envs.worlds.replay import EXAMPLE
from tests.console import call, error_of
from tests.errors import raises

OWN = """
class Second:
    def __init__(self, problem, rng):
        pass

    def act(self, observation):
        return 1

    def update(self, observation, action, reward):
        pass
"""


def table(path: Path, *, steps: int = 24 * 40, level: float = 5.0, third: float = 3.0) -> Path:
    """Two arms that take turns, half a day each, and a third that always gives the same."""
    hours = np.arange(steps)
    wave = np.sin(2 * np.pi * (hours + 0.5) / 24)
    values = np.stack((level + wave, level - wave, np.full(steps, third)), axis=1)
    values += 0.05 * np.random.default_rng(3).standard_normal(values.shape)
    times = pd.date_range("2024-01-01", periods=steps, freq="h")
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    frame.insert(0, "time", times)
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def waves(tmp_path: Path) -> Path:
    return table(tmp_path / "waves.csv")


# --- windows -----------------------------------------------------------------------------------


def test_plan_windows_fills_windows_with_whole_seasons() -> None:
    plan = plan_windows(8760, (168.0, 24.0))
    assert (plan.steps, plan.warm, plan.season) == (1008, 336, 168.0)
    assert np.diff(plan.firsts).tolist() == [1008] * 7
    assert plan.firsts[-1] + plan.steps == 8760
    assert plan.firsts[0] >= plan.warm


def test_plan_windows_leaves_out_seasons_without_room() -> None:
    plan = plan_windows(26304, (8736.0, 24.0))
    assert plan.season == 24.0
    assert plan.periods == (24.0,)  # a window of six weeks has no year to learn
    assert len(plan.firsts) == 26


def test_plan_windows_puts_rare_seasons_last() -> None:
    assert plan_windows(8760, (168.0, 24.0)).periods == (24.0, 168.0)
    assert plan_windows(8760, (168.0, 24.0), windows=1).periods == (168.0, 24.0)
    for steps, first in ((1680, 168.0), (1679, 24.0)):  # ten weeks with the warm start, or less
        assert plan_windows(8760, (168.0, 24.0), steps=steps - 336, warm=336).periods[0] == first


def test_plan_windows_follows_arguments() -> None:
    assert plan_windows(1000, (24.0,), windows=1, warm=0) == WindowPlan(
        (16,), 984, 0, 24.0, (24.0,)
    )
    assert plan_windows(1000, (), steps=100).firsts == tuple(range(0, 1000, 100))
    for length, windows in ((1000, {"windows": 9, "steps": 200}), (40, {})):
        with raises(DataError, "too-few-steps"):
            plan_windows(length, (24.0,), **windows)


# --- rewards and references --------------------------------------------------------------------


def test_backtest_references_are_sums_over_the_table(waves: Path) -> None:
    tested = Backtest(waves, periods=[24.0], windows=4)
    judged, _ = tested.run(["fixed"], workers=0)
    values = tested.series.values
    for window, first in enumerate(tested.plan.firsts):
        inside = values[first : first + tested.plan.steps]
        assert judged.totals["oracle"][window] == pytest.approx(inside.max(1).sum())
        assert judged.totals[FIXED][window] == pytest.approx(inside.sum(0).max())
        assert judged.totals["uniform-random"][window] == pytest.approx(inside.mean(1).sum())
        before = values[:first]
        best = [before[h::24].mean(0).argmax() for h in range(24)]
        learned = sum(row[best[(first + i) % 24]] for i, row in enumerate(inside))
        assert judged.totals[LEARNED][window] == pytest.approx(learned)
        known = before.mean(0).argmax()
        assert judged.totals["learned-fixed"][window] == pytest.approx(inside[:, known].sum())
    assert judged.total("oracle") == pytest.approx(judged.totals["oracle"].sum())


def test_backtest_counts_lower_costs_as_gains(tmp_path: Path) -> None:
    costs = table(tmp_path / "costs.csv", third=7.0)
    judged, _ = Backtest(costs, periods=[24.0], objective="min", windows=4).run(["ucb1"], workers=0)
    assert judged.total("oracle") < judged.total(FIXED) < judged.total("uniform-random")
    assert judged.total("oracle") > 0
    gain = judged.gain("oracle")
    share = 1.0 - judged.total("oracle") / judged.total(FIXED)
    assert gain.estimate == pytest.approx(share)
    assert 0.0 < gain.low <= gain.estimate <= gain.high
    assert "--objective min" in setup_commands(judged)["ucb1"][0]


def test_gain_without_a_zero_is_in_units(tmp_path: Path) -> None:
    judged, _ = Backtest(table(tmp_path / "t.csv", level=0.0, third=-2.0), windows=4).run(
        ["ucb1"], workers=0
    )
    gain = judged.gain("oracle")
    assert not gain.share
    assert gain.estimate == pytest.approx(judged.per_step("oracle") - judged.per_step(FIXED))


def test_backtest_leaves_out_windows_with_gaps(waves: Path) -> None:
    frame = pd.read_csv(waves)
    frame.loc[240:400, "b"] = np.nan
    frame.to_csv(waves, index=False)
    tested = Backtest(waves, periods=[24.0], window_steps=96)
    whole = plan_windows(len(frame), (24.0,), steps=96)
    assert 0 < len(tested.plan.firsts) < len(whole.firsts)
    judged, _ = tested.run(["fixed"], workers=0)
    assert "2024-01-" in judged.notes[0]
    assert len(judged.totals["fixed"]) == len(tested.plan.firsts)


def test_backtest_without_season_has_no_schedule(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((200, 2)), columns=["a", "b"])
    frame.insert(0, "time", np.arange(200))
    frame.to_csv(tmp_path / "noise.csv", index=False)
    tested = Backtest(tmp_path / "noise.csv")
    assert tested.periods == ()
    assert "linucb" not in tested.default_agents()
    judged, _ = tested.run(["ucb1"], workers=0)
    assert LEARNED not in judged.totals
    with raises(ProtocolError, "unknown-baseline"):
        tested.run(["ucb1"], baseline=LEARNED, workers=0)
    assert setup_commands(judged) == {}  # numbers are not times of a clock


# --- verdicts and commands ---------------------------------------------------------------------


def made(path: Path, **totals: Any) -> BacktestResult:
    """A result whose agents gain these factors over the best fixed arm."""
    tested = Backtest(path, periods=[24.0])
    base = 100.0 + np.arange(len(tested.plan.firsts))
    agents = {name: factor * base for name, factor in totals.items()}
    return BacktestResult(
        table=tested.table,
        series=tested.series,
        plan=tested.plan,
        objective="max",
        totals={**dict.fromkeys(MEANINGS, base), **agents},
        agents=tuple(agents),
        schedule_period=24.0,
    )


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.12, "significant"), (0.9, "significant"), (np.resize([1.3, 0.72], 9), "not significant")],
)
def test_verdict_follows_the_interval(factor: Any, verdict: str, waves: Path) -> None:
    assert made(waves, linucb=factor).gain("linucb").verdict == verdict


def test_verdict_needs_several_windows(waves: Path) -> None:
    judged = made(waves, linucb=1.12)
    one = {name: totals[:1] for name, totals in judged.totals.items()}
    plan = replace(judged.plan, firsts=judged.plan.firsts[:1])
    gain = replace(judged, totals=one, plan=plan).gain("linucb")
    assert (gain.text(), gain.verdict) == ("+12.0 %", "")


def run_commands(commands: tuple[str, ...], folder: Path) -> str:
    """Run commands and return their output."""
    results = [call(*shlex.split(command)[1:], cwd=folder) for command in commands]
    assert not any(result.returncode for result in results), results
    return "".join(result.stdout for result in results)


def test_setup_commands_make_a_decider_of_the_best_agent(waves: Path, tmp_path: Path) -> None:
    judged = made(waves, ucb1=1.02, linucb=1.12)
    reading = {"time_column": "time", "timezone": "Europe/Berlin"}
    commands = setup_commands(replace(judged, reading=reading))
    assert commands == {
        "linucb": (
            "periodic-gp decide init decider --arms a --arms b --arms c --step '1 hour' "
            "--seasons '1 day' --timezone Europe/Berlin --agent linucb",
            f"periodic-gp decide learn decider {waves} --time-column time",
        )
    }
    assert "2,880" in run_commands(commands["linucb"], tmp_path)
    assert Decider.load(tmp_path / "decider").arms == ("a", "b", "c")
    cold = setup_commands(replace(judged, plan=replace(judged.plan, warm=0)))
    assert len(cold["linucb"]) == 1  # agents knew nothing beforehand


def test_setup_commands_name_a_zone_for_times_with_an_offset(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv")
    frame = pd.read_csv(path)
    frame["time"] += "+01:00"
    frame.to_csv(path, index=False)
    commands = setup_commands(made(path, linucb=1.12))["linucb"]
    assert "--timezone UTC" in commands[0]
    run_commands(commands, tmp_path)


def test_setup_commands_follow_a_better_schedule(waves: Path, tmp_path: Path) -> None:
    judged = made(waves, linucb=1.1)
    assert LEARNED not in setup_commands(judged)
    totals = {**judged.totals, LEARNED: 1.2 * judged.totals[FIXED]}
    commands = setup_commands(replace(judged, totals=totals))[LEARNED]
    assert "--seasons '1 day' --agent phase-ucb:period=24,scale=0" in commands[0]
    run_commands(commands, tmp_path)
    choice = Decider.load(tmp_path / "schedule").choose("2024-03-01 05:00")
    assert (choice.arm, choice.probability) == ("a", 1.0)


# --- the command -------------------------------------------------------------------------------


def test_backtest_writes_results(waves: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN)
    store, picture, page = (tmp_path / name for name in ("s.sqlite", "p.png", "p.html"))
    words = ["backtest", str(waves), "--agents", f"{own}:Second", "--agents", "linucb", "--json"]
    words += ["--store", str(store), "--workers", "0", "--windows", "4"]
    result = json.loads(call(*words, "--picture", str(picture), "--page", str(page)).stdout)
    assert (result["windows"], result["steps"]) == (4, 216)
    assert result["recommendation"]["agent"] == "linucb"
    assert "linucb" in result["recommendation"]["commands"]
    rows = {row["row"]: row for row in result["rows"]}
    assert set(rows) == {*MEANINGS, "linucb", f"{own}:Second"}
    assert rows[f"{own}:Second"]["total"] == pytest.approx(sum(rows[FIXED]["by_window"]), rel=0.05)
    assert picture.stat().st_size > 0
    assert "<html" in page.read_text()
    again = json.loads(call(*words, "--baseline", "linucb").stdout)
    assert [row["gain"] for row in again["rows"] if row["row"] == "linucb"] == [0.0]


def test_backtest_names_an_agent_that_fails_once(waves: Path) -> None:
    failing = f"{Path(__file__).parents[1] / 'test_evaluation' / 'faulty_agents.py'}:Raises"
    words = ["--agents", failing, "--agents", "ucb1", "--workers", "0", "--json"]
    result = call("backtest", str(waves), *words)
    assert result.returncode == 1
    content = json.loads(result.stdout)
    assert content["recommendation"]["agent"] == "ucb1"
    (note,) = content["notes"]
    assert failing in note


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--baseline", "unknown"], "unknown-baseline"),
        (["--windows", "99"], "too-few-steps"),
        (["--picture", "x.gif"], "unknown-file-type"),
        (["--agents", "ucb7"], "unknown-agent"),
    ],
)
def test_backtest_rejects_bad_options(options: list[str], code: str) -> None:
    words = ["backtest", str(EXAMPLE), "--agents", "ucb1", "--workers", "0", *options]
    assert error_of(*words) == code


@pytest.mark.parametrize("options", [("--objective", "most"), ("--period", "1")])
def test_backtest_rejects_values_out_of_range(options: tuple[str, str]) -> None:
    result = call("backtest", str(EXAMPLE), *options)
    assert result.returncode == 2
    assert options[0] in result.stderr


def test_backtest_rejects_logs(tmp_path: Path) -> None:
    rng, log = np.random.default_rng(0), tmp_path / "log.csv"
    times = pd.date_range("2026-01-05", periods=400, freq="h")
    rows = {"time": times, "arm": rng.choice(["a", "b", "c"], 400), "reward": rng.normal(size=400)}
    pd.DataFrame(rows).to_csv(log, index=False)
    result = call("backtest", str(log))
    assert (result.returncode, result.stderr) == (1, "")
    assert f"periodic-gp data log {log}" in result.stdout
    assert error_of("backtest", str(log), "--table") == "missing-values"


def test_backtest_orders_seasons_alike_in_plan_and_commands() -> None:
    tested = Backtest(EXAMPLE, window_steps=168, warm_start=96)
    assert tested.periods == (168.0, 24.0)
    assert tested.plan.periods == (24.0, 168.0)
    judged, _ = tested.run(["ucb1"], workers=0)
    assert "--seasons '1 day' --seasons '1 week'" in setup_commands(judged)["ucb1"][0]
