"""``periodic-gp backtest``: windows of one's own table, references, and what is recommended."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evaluation.specs import ProtocolError
from periodic_decisions.backtest.recommend import recommend
from periodic_decisions.backtest.references import FIXED, LEARNED, MEANINGS, UNIFORM
from periodic_decisions.backtest.result import BacktestResult
from periodic_decisions.backtest.run import Backtest
from periodic_decisions.backtest.windows import WindowPlan, plan_windows
from periodic_decisions.decider.decider import Decider
from periodic_envs.data.errors import DataError
from periodic_envs.worlds.replay import EXAMPLE
from tests.test_evaluation.test_cli import call

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


def test_windows_are_whole_seasons_that_do_not_overlap_up_to_the_end() -> None:
    plan = plan_windows(8760, (168.0, 24.0))
    assert (plan.steps, plan.warm, plan.season) == (1008, 336, 168.0)
    assert np.diff(plan.firsts).tolist() == [1008] * 7
    assert plan.firsts[-1] + plan.steps == 8760
    assert plan.firsts[0] >= plan.warm


def test_a_long_season_that_leaves_no_room_gives_way_to_a_shorter_one() -> None:
    plan = plan_windows(26304, (8736.0, 24.0))
    assert plan.season == 24.0
    assert plan.periods == (24.0,)  # a window of six weeks has no year to learn
    assert len(plan.firsts) == 26


def test_a_season_that_seldom_comes_back_is_not_the_main_one() -> None:
    assert plan_windows(8760, (168.0, 24.0)).periods == (24.0, 168.0)
    assert plan_windows(8760, (168.0, 24.0), windows=1).periods == (168.0, 24.0)


def test_windows_as_asked_for() -> None:
    assert plan_windows(1000, (24.0,), windows=1, warm=0) == WindowPlan(
        (16,), 984, 0, 24.0, (24.0,)
    )
    assert plan_windows(1000, (), steps=100).firsts == tuple(range(0, 1000, 100))
    with pytest.raises(DataError, match="no room for 9 windows: a warm start of 48 steps and 200"):
        plan_windows(1000, (24.0,), windows=9, steps=200)
    with pytest.raises(DataError, match="40 steps have no room for a window"):
        plan_windows(40, (24.0,))


# --- rewards and references --------------------------------------------------------------------


def test_references_are_sums_over_the_table(waves: Path) -> None:
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


def test_costs_are_shown_as_costs_and_less_is_a_gain(tmp_path: Path) -> None:
    costs = table(tmp_path / "costs.csv", third=7.0)
    judged, _ = Backtest(costs, periods=[24.0], objective="min", windows=4).run(["ucb1"], workers=0)
    assert judged.total("oracle") < judged.total(FIXED) < judged.total("uniform-random")
    assert judged.total("oracle") > 0
    gain = judged.gain("oracle")
    share = 1.0 - judged.total("oracle") / judged.total(FIXED)
    assert gain.estimate == pytest.approx(share)
    assert 0.0 < gain.low <= gain.estimate <= gain.high
    assert "--objective min" in (recommend(judged).command or "")


def test_without_a_zero_gains_are_in_units(tmp_path: Path) -> None:
    judged, _ = Backtest(table(tmp_path / "t.csv", level=0.0, third=-2.0), windows=4).run(
        ["ucb1"], workers=0
    )
    gain = judged.gain("oracle")
    assert not gain.share
    assert gain.estimate == pytest.approx(judged.per_step("oracle") - judged.per_step(FIXED))
    assert "a step" in gain.text()


def test_a_window_without_enough_readings_is_left_out_and_said(waves: Path) -> None:
    frame = pd.read_csv(waves)
    frame.loc[240:400, "b"] = np.nan
    frame.to_csv(waves, index=False)
    tested = Backtest(waves, periods=[24.0], window_steps=96)
    whole = plan_windows(len(frame), (24.0,), steps=96)
    assert 0 < len(tested.plan.firsts) < len(whole.firsts)
    judged, _ = tested.run(["fixed"], workers=0)
    assert "is missing" in judged.notes[0] or "missing" in judged.notes[0]


def test_a_table_without_a_season(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((200, 2)), columns=["a", "b"])
    frame.insert(0, "time", np.arange(200))
    frame.to_csv(tmp_path / "noise.csv", index=False)
    tested = Backtest(tmp_path / "noise.csv")
    assert tested.periods == ()
    assert "linucb" not in tested.default_agents()
    judged, _ = tested.run(["ucb1"], workers=0)
    assert LEARNED not in judged.totals
    with pytest.raises(ProtocolError, match="there is no baseline 'learned-schedule'"):
        tested.run(["ucb1"], baseline=LEARNED, workers=0)
    assert recommend(judged).command is None  # numbers are no times of a clock


# --- recommendations ---------------------------------------------------------------------------


def made(waves: Path, **totals: Any) -> BacktestResult:
    tested = Backtest(waves, periods=[24.0])
    count = len(tested.plan.firsts)
    rest = {name: np.full(count, 100.0) + np.arange(count) for name in MEANINGS}
    rest[UNIFORM] = rest[UNIFORM] / 2
    given = {name: value * rest[FIXED] for name, value in totals.items()}
    schedule = given.pop("schedule", rest[LEARNED])
    agents = tuple(given)
    return BacktestResult(
        source="t.csv",
        series=tested.series,
        plan=tested.plan,
        objective="max",
        totals={**rest, LEARNED: schedule, **given},
        agents=agents,
        milliseconds=dict.fromkeys(agents, 1.0),
        table=tested.table,
        periods=tested.periods,
        schedule_period=24.0,
    )


def test_a_clear_winner_is_recommended_with_a_command_that_works(
    waves: Path, tmp_path: Path
) -> None:
    advice = recommend(made(waves, ucb1=1.02, linucb=1.12))
    assert advice.agent == "linucb"
    assert advice.sentence.startswith("linucb gained 12.0 % [12.0 %, 12.0 %] in 9 windows over")
    assert advice.sentence.endswith("use it.")
    assert advice.command == (
        "periodic-gp decide init decider --arms a --arms b --arms c --step '1 hour' "
        "--seasons '1 day' --agent linucb"
    )
    assert call(*shlex.split(advice.command)[1:], cwd=tmp_path).returncode == 0
    assert Decider.load(tmp_path / "decider").arms == ("a", "b", "c")


def test_the_command_has_the_time_zone_of_the_table(waves: Path) -> None:
    advice = recommend(replace(made(waves, linucb=1.12), timezone="Europe/Berlin"))
    assert advice.command is not None
    assert "--seasons '1 day' --timezone Europe/Berlin --agent linucb" in advice.command
    tested = Backtest(waves, periods=[24.0], reading={"timezone": "Europe/Berlin"})
    judged, _ = tested.run(["ucb1"], workers=0)
    assert judged.timezone == "Europe/Berlin"


def test_a_loser_is_not_praised(waves: Path) -> None:
    advice = recommend(made(waves, ucb1=0.9, linucb=0.95))
    assert advice.sentence.startswith("No agent beat the best fixed arm: linucb came nearest (-5.0")
    without = made(waves, linucb=0.95, schedule=0.95)
    assert "always b, the best arm so far, did no worse" in recommend(without).sentence


def test_where_nothing_can_be_gained_it_is_said(waves: Path) -> None:
    judged = made(waves, linucb=1.0)
    same, jumps = judged.totals[LEARNED], np.resize([1.2, 0.85], 9)
    totals = {**judged.totals, UNIFORM: same, "linucb": same * jumps}
    advice = recommend(replace(judged, totals=totals))
    assert advice.sentence.startswith("No gain was shown")
    assert advice.command is None


def test_a_gain_that_may_be_chance_is_said_to_be_one(waves: Path) -> None:
    judged = made(waves, linucb=1.0)
    jumps = np.resize([30.0, -28.0], len(judged.totals["linucb"]))
    totals = {**judged.totals, "linucb": judged.totals[FIXED] + jumps}
    assert "is not clearly better" in recommend(replace(judged, totals=totals)).sentence


def test_what_agents_knew_beforehand_is_said_and_learned_by_the_decider(
    waves: Path, tmp_path: Path
) -> None:
    judged = made(waves, linucb=1.12)
    advice = recommend(replace(judged, reading={"time_column": "time", "timezone": "UTC"}))
    assert ", after it was told the best arm of each of the 48 steps before; use" in advice.sentence
    assert advice.learn == f"periodic-gp decide learn decider {waves} --time-column time"
    assert "--warm-start 0" in advice.notes[0]
    for command in (advice.command, advice.learn):
        done = call(*shlex.split(str(command))[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert "Learned 2,880 rewards" in done.stdout
    nothing = recommend(replace(judged, plan=replace(judged.plan, warm=0)))
    assert "told" not in nothing.sentence
    assert nothing.learn is None
    assert not any("--warm-start" in note for note in nothing.notes)
    assert any("--explore 0.05" in note for note in nothing.notes)


def test_times_with_an_offset_make_a_decider_with_a_zone(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv")
    frame = pd.read_csv(path)
    frame["time"] += "+01:00"
    frame.to_csv(path, index=False)
    advice = recommend(made(path, linucb=1.12))
    for command in (advice.command, advice.learn):
        done = call(*shlex.split(str(command))[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_a_schedule_that_got_a_little_more_is_said_with_both_figures(
    waves: Path, tmp_path: Path
) -> None:
    judged = made(waves, linucb=1.1)
    jumps = np.resize([0.2, -0.16], len(judged.plan.firsts))
    totals = {**judged.totals, LEARNED: judged.totals["linucb"] * (1.0 + jumps)}
    advice = recommend(replace(judged, totals=totals))
    assert "got more, but not clearly (+14.4 % against +10.0 % over the best" in advice.sentence
    assert advice.sentence.endswith("use linucb where only the chosen arm's reward is seen.")
    init, learn = advice.schedule
    assert "--seasons '1 day' --agent phase-ucb:period=24,scale=0" in init
    for command in (init, learn):
        done = call(*shlex.split(command)[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    choice = Decider.load(tmp_path / "schedule").choose("2024-03-01 05:00")
    assert (choice.arm, choice.probability) == ("a", 1.0)
    assert recommend(judged).schedule == ()


def test_the_sentence_is_about_the_baseline_that_was_asked_for(waves: Path) -> None:
    judged = made(waves, linucb=1.12, ucb1=1.0)
    other = recommend(replace(judged, baseline="learned-fixed")).sentence
    assert "in 9 windows over the best arm of all data before, after" in other
    assert "over ucb1, after" in recommend(replace(judged, baseline="ucb1")).sentence
    assert "over the best fixed arm" in recommend(replace(judged, baseline="linucb")).sentence


def test_one_window_has_a_sentence_that_can_be_read(waves: Path) -> None:
    judged = made(waves, linucb=1.12)
    one = {name: totals[:1] for name, totals in judged.totals.items()}
    plan = replace(judged.plan, firsts=judged.plan.firsts[:1], warm=0)
    assert recommend(replace(judged, totals=one, plan=plan)).sentence == (
        "linucb gained 12.0 % over the best fixed arm (in one window, too few for an interval); "
        "use it."
    )


def test_seasons_that_agents_were_not_told_are_no_secret(waves: Path) -> None:
    judged = replace(made(waves, linucb=1.12), periods=(168.0, 24.0))
    notes = recommend(judged).notes
    assert any("and so left out: 168. To try agents" in note for note in notes)
    assert any("give --window-steps 168." in note for note in notes)


def test_a_schedule_that_is_better_is_said(waves: Path) -> None:
    assert "needs no agent" in recommend(made(waves, linucb=1.1, schedule=1.3)).sentence
    assert "needs no agent" not in recommend(made(waves, linucb=1.4, schedule=1.3)).sentence


# --- the command -------------------------------------------------------------------------------


def test_the_command_says_its_windows_totals_and_advice(waves: Path, tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text(OWN)
    store, picture, page = (tmp_path / name for name in ("s.sqlite", "p.png", "p.html"))
    asked = ["backtest", str(waves), "--agents", f"{own}:Second", "--agents", "linucb"]
    asked += ["--store", str(store), "--workers", "0", "--windows", "4"]
    result = call(*asked, "--picture", str(picture), "--page", str(page))
    assert result.returncode == 0, result.stderr
    assert "4 windows of 216 steps (9 seasons of 24)" in result.stdout
    assert "every agent is told the best arm of each of 48 steps" in result.stdout
    for row in (*MEANINGS, "linucb", f"{own}:Second"):
        assert row in result.stdout
    assert "linucb gained " in result.stdout
    assert "periodic-gp decide init" in result.stdout
    assert picture.stat().st_size > 0
    assert "<html" in page.read_text()
    again = json.loads(call(*asked, "--json", "--baseline", "linucb").stdout)
    assert again["recommendation"]["agent"] == "linucb"
    rows = {row["row"]: row for row in again["rows"]}
    assert rows["linucb"]["gain"] == 0.0
    assert rows[f"{own}:Second"]["total"] == pytest.approx(sum(rows[FIXED]["by_window"]), rel=0.05)


def test_an_agent_that_fails_is_named_and_the_others_are_judged(waves: Path) -> None:
    failing = Path(__file__).parents[1] / "test_evaluation" / "faulty_agents.py"
    asked = ["--agents", f"{failing}:Raises", "--agents", "ucb1", "--workers", "0"]
    result = call("backtest", str(waves), *asked)
    assert result.returncode == 1
    assert result.stdout.count(f"Left out: {failing}:Raises failed in waves, from") == 1
    assert " and 8 more: " in result.stdout
    assert "ucb1" in result.stdout[result.stdout.index("Left out:") :]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--baseline", "nobody"], "there is no baseline 'nobody'; there are ucb1, oracle"),
        (["--windows", "99"], "no room for 99 windows"),
        (["--objective", "most"], "objective must be"),
        (["--period", "1"], "period must be at least 2 steps"),
        (["--picture", "x.gif"], "a picture's name must end in"),
        (["--agents", "ucb7"], "there is no agent 'ucb7'"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(asked: list[str], said: str) -> None:
    result = call("backtest", str(EXAMPLE), "--agents", "ucb1", "--workers", "0", *asked)
    assert result.returncode == 1
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_log_is_no_table_to_test_on(tmp_path: Path) -> None:
    rng, log = np.random.default_rng(0), tmp_path / "log.csv"
    times = pd.date_range("2026-01-05", periods=400, freq="h")
    rows = {"time": times, "arm": rng.choice(["a", "b", "c"], 400), "reward": rng.normal(size=400)}
    pd.DataFrame(rows).to_csv(log, index=False)
    done = call("backtest", str(log))
    assert done.returncode == 1
    assert "periodic-gp data log" in done.stdout
    insisted = call("backtest", str(log), "--table")  # what the sentence offers
    assert insisted.returncode == 1
    assert "too much is missing" in insisted.stderr


def test_a_table_that_is_too_short_is_said_to_be() -> None:
    with pytest.raises(DataError, match="30 steps are too short for a backtest: 8 windows of at"):
        plan_windows(30, ())
    assert plan_windows(30, (), windows=2).steps == 15
    assert plan_windows(80, ()).steps == 10


def test_an_arm_with_hardly_a_reading_may_be_misspelt(waves: Path) -> None:
    long = pd.read_csv(waves).rename(columns={"a": "Station", "b": "Airport"})
    long = long.melt("time", var_name="arm", value_name="reward")
    long.loc[7, "arm"] = "Statoin"
    long.to_csv(waves, index=False)
    done = call("backtest", str(waves), "--agents", "ucb1", "--table")
    assert done.returncode == 1
    assert "100% of 'Statoin' (is it 'Station' misspelt?)" in done.stderr
    assert "--arms Station --arms Airport --arms c" in done.stderr


def test_a_total_is_no_arm(waves: Path) -> None:
    from periodic_decisions.cli.backtest import plan_lines

    frame = pd.read_csv(waves)
    assert not any("the sum of all" in line for line in plan_lines(Backtest(waves)))
    frame["Total"] = (frame["a"] + frame["b"] + frame["c"]).round(9)
    frame.to_csv(waves, index=False)
    (line,) = (line for line in plan_lines(Backtest(waves)) if "the sum of all" in line)
    assert line.startswith("'Total' is the sum of all other arms")
    assert "give --arms ... with the others alone" in line


def test_seasons_have_one_order_in_words_and_in_the_command() -> None:
    from periodic_decisions.cli.backtest import plan_lines

    tested = Backtest(EXAMPLE, window_steps=168, warm_start=96)
    assert tested.periods == (168.0, 24.0)
    lines = plan_lines(tested)
    assert "Seasons in steps, the main one first: 168, 24." in lines
    told = "Agents are told 24 first: a window and its warm start have fewer than 10 seasons of 168"
    assert any(line.startswith(told) for line in lines)
    judged, _ = tested.run(["ucb1"], workers=0)
    command = str(recommend(judged).command)
    assert "--seasons '1 day' --seasons '1 week'" in command


def test_windows_that_are_left_out_are_said_where_windows_are(waves: Path) -> None:
    from periodic_decisions.cli.backtest import plan_lines

    frame = pd.read_csv(waves)
    frame.loc[240:400, "b"] = np.nan
    frame.to_csv(waves, index=False)
    lines = plan_lines(Backtest(waves, periods=[24.0], window_steps=96))
    windows = next(i for i, line in enumerate(lines) if " windows of 96 steps" in line)
    assert lines[windows + 1].startswith("Left out: The window from 2024-01-")


def test_a_window_of_one_season_has_the_oracle_for_its_best_per_phase(waves: Path) -> None:
    asked = ("backtest", str(waves), "--agents", "ucb1", "--workers", "0", "--period", "24")
    said = call(*asked, "--window-steps", "24").stdout
    assert "best-per-phase is the oracle here" in said
    assert "best-per-phase is the oracle" not in call(*asked, "--windows", "4").stdout


def test_an_agent_that_is_mistyped_is_said_before_the_table_is_looked_at(tmp_path: Path) -> None:
    done = call("backtest", str(tmp_path / "none.csv"), "--agents", "ucb7")
    assert "there is no agent 'ucb7'" in done.stderr


def test_a_main_season_that_fits_no_window_is_said(tmp_path: Path) -> None:
    from periodic_decisions.cli.backtest import plan_lines

    tested = Backtest(table(tmp_path / "t.csv"), periods=[400.0, 24.0])
    assert any("--window-steps 400 for agents that know it" in line for line in plan_lines(tested))
