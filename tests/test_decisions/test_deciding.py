"""Tests of deciders: agents with names and times."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from periodic_decisions import Decider, DeciderError
from tests.errors import raises

ARMS = ["billing", "sales"]
QUICK = "periodic-gp-ucb:time_length_scale=1"
FILE_AGENT = '''
class Follower:
    """Takes the arm of the last reward that was good, and draws now and then."""

    def __init__(self, problem, rng):
        self.arms, self.rng, self.seen = int(problem.action_space.n), rng, [0.0] * 100

    def act(self, observation):
        if self.rng.random() < 0.3:
            return int(self.rng.integers(self.arms))
        return int(max(range(self.arms), key=lambda arm: self.seen[arm]))

    def update(self, observation, action, reward):
        self.seen[action] = 0.5 * self.seen[action] + reward
'''


@pytest.fixture
def file_agent(tmp_path: Path) -> str:
    (tmp_path / "follower.py").write_text(FILE_AGENT)
    return f"{tmp_path / 'follower.py'}:Follower"


def kiosk(**settings: Any) -> Decider:
    merged = {"arms": ARMS, "step": "1h", "seasons": ["1 day"], "agent": QUICK, **settings}
    return Decider(**merged)


def reward_of(arm: str, hour: int) -> float:
    """Billing is good at night, sales by day."""
    return 20.0 + 8.0 * np.cos(2 * np.pi * hour / 24) * (1 if arm == "billing" else -1)


def live(decider: Decider, hours: int, first: str = "2026-11-16", seed: int = 0) -> list[str]:
    """Choose and tell every hour; return the chosen arms."""
    rng, chosen = np.random.default_rng(seed), []
    for moment in pd.date_range(first, periods=hours, freq="h"):
        choice = decider.choose(moment)
        decider.tell(choice.id, reward_of(choice.arm, moment.hour) + rng.normal())
        chosen.append(choice.arm)
    return chosen


def table(days: int, arms: list[str] = ARMS, first: str = "2026-11-02") -> pd.DataFrame:
    """Return every arm's reward at every hour."""
    times = pd.date_range(first, periods=24 * days, freq="h", name="time")
    return pd.DataFrame({a: [reward_of(a, t.hour) for t in times] for a in arms}, index=times)


@pytest.mark.parametrize("agent", ["auto-gp-ucb", QUICK])
def test_decider_learns_a_daily_season(agent: str) -> None:
    """The best fixed arm gains 20 an hour, the best arm of each hour 25."""
    decider = kiosk(agent=agent)
    live(decider, 24 * 10)
    chosen = live(decider, 24, first="2026-11-26", seed=1)
    assert np.mean([reward_of(arm, hour) for hour, arm in enumerate(chosen)]) > 24.5


def test_decider_keeps_the_phase_after_a_clock_change() -> None:
    decider = kiosk(timezone="Europe/Madrid")
    decider.learn(table(14, first="2026-10-10"))
    plan = decider.plan("2026-11-16", steps=24).table
    truth = [reward_of(arm, hour) for hour, arm in enumerate(plan["arm"])]
    np.testing.assert_allclose(plan["expected"], truth, atol=1.0)  # an hour is worth up to 2.1


def test_decider_minimises_costs() -> None:
    decider = kiosk(objective="min")
    decider.learn(table(7))
    choice = decider.choose("2026-11-16 00:00")
    assert choice.arm == "sales"  # 12 against 28
    assert choice.expected == pytest.approx(12.0, abs=1.5)
    assert choice.interval is not None
    assert choice.interval[0] < 12.0 < choice.interval[1]


def test_choice_expects_nothing_before_the_unit_is_known() -> None:
    decider = kiosk()
    assert decider.choose("2026-11-16").expected is None
    live(decider, 48, first="2026-11-16 01:00")
    choice = decider.choose("2026-11-18 12:00")
    assert choice.expected == pytest.approx(28.0, abs=3.0)
    assert kiosk(agent="ucb1").choose("2026-11-16").interval is None


def test_tell_takes_rewards_in_any_order() -> None:
    """Without decay the order does not matter to the agent, but for rounding."""
    moments = pd.date_range("2026-11-16", periods=60, freq="h")
    beliefs = []
    for order in (range(60), np.random.default_rng(0).permutation(60)):
        decider = kiosk(agent=f"{QUICK},prior_mean=20,prior_scale=8", explore=1.0)
        choices = [decider.choose(moment) for moment in moments]
        assert len(decider.open_choices) == 60
        for i in order:
            decider.tell(choices[i].id, reward_of(choices[i].arm, moments[i].hour))
        assert decider.open_choices == ()
        beliefs.append(decider.plan("2026-11-20").table["expected"].to_numpy())
    np.testing.assert_allclose(*beliefs, rtol=1e-6)


def test_choose_allows_several_choices_at_once() -> None:
    decider = kiosk()
    choices = [decider.choose("2026-11-16 09:10") for _ in range(5)]
    assert len({choice.id for choice in choices}) == 5
    decider.tell(choices[3].id, 1.0)
    assert decider.open_choices == tuple(choices[i].id for i in (0, 1, 2, 4))


# --- invalid input -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"arms": ["one"]}, "invalid-arms"),
        ({"arms": ["one", "one"]}, "invalid-arms"),
        ({"arms": "one"}, "invalid-arms"),
        ({"arms": ["one", " two"]}, "invalid-name"),
        ({"arms": ["one", ""]}, "invalid-name"),
        ({"step": "2 moons"}, "invalid-duration"),
        ({"seasons": "1 day"}, "not-a-list"),
        ({"seasons": ["30 min"]}, "season-too-short"),
        ({"agent": "no-such-agent"}, "unknown-agent"),
        ({"agent": "ucb1:nonsense=3"}, "unknown-setting"),
        ({"agent": "phase-ucb", "seasons": []}, "agent-failed"),
        ({"timezone": "Mars"}, "unknown-timezone"),
        ({"objective": "most"}, "invalid-option"),
        ({"explore": 1.5}, "out-of-range"),
        ({"explore": math.nan}, "out-of-range"),
        ({"remember": 0}, "out-of-range"),
        ({"start": "soon"}, "invalid-time"),
    ],
)
def test_decider_refuses_bad_settings(settings: dict[str, Any], code: str) -> None:
    with raises(DeciderError, code):
        kiosk(**settings)


def snapshot(decider: Decider) -> Any:
    return (
        decider.log.to_csv(),
        decider.arms,
        decider.plan("2026-12-24").table.to_csv(),
    )


@pytest.mark.parametrize(
    ("attempt", "code"),
    [
        (lambda d, c: d.tell("99-abcdef", 1.0), "unknown-choice"),
        (lambda d, c: d.tell(7, 1.0), "unknown-choice"),
        (lambda d, c: d.tell(c[0].id, 2.0), "known-reward"),
        (lambda d, c: d.tell(c[1].id, math.nan), "invalid-reward"),
        (lambda d, c: d.tell(c[1].id, math.inf), "invalid-reward"),
        (lambda d, c: d.tell(c[1].id, "good"), "invalid-reward"),
        (lambda d, c: d.tell(c[1].id, None), "invalid-reward"),
        (lambda d, c: d.choose("2026-11-15 23:00"), "before-start"),
        (lambda d, c: d.plan("2026-11-15 23:00"), "before-start"),
        (lambda d, c: d.plan(steps=0), "out-of-range"),
        (lambda d, c: d.add_arm("sales"), "repeated-names"),
        (lambda d, c: d.retire_arm("chat"), "unknown-arm"),
        (lambda d, c: d.retire_arm("sales"), "too-few-arms"),
        (lambda d, c: d.learn(table(2)), "before-start"),
        (lambda d, c: d.learn(table(2, ["billing", "chat"])), "unknown-arm"),
        (lambda d, c: d.learn(3), "wrong-type"),
        (lambda d, c: d.learn("none.csv"), "file-not-found"),
    ],
)
def test_decider_is_unchanged_after_a_mistake(
    attempt: Callable[[Decider, Any], Any], code: str
) -> None:
    decider = kiosk()
    choices = [decider.choose("2026-11-16 09:00") for _ in range(2)]
    decider.tell(choices[0].id, 1.0)
    before = snapshot(decider)
    with raises(DeciderError, code) as caught:
        attempt(decider, choices)
    assert "\n" not in str(caught.value)
    assert snapshot(decider) == before
    decider.tell(choices[1].id, 1.0)


def test_decider_reports_a_failing_agent(tmp_path: Path) -> None:
    (tmp_path / "faulty.py").write_text(
        "class Faulty:\n"
        "    def __init__(self, problem, rng): pass\n"
        "    def act(self, observation): return 1 if observation[0] < 3 else 7\n"
        "    def update(self, observation, action, reward): assert reward > 0, 'no losses'\n"
    )
    decider = kiosk(agent=f"{tmp_path / 'faulty.py'}:Faulty")
    choice = decider.choose("2026-11-16")
    with raises(DeciderError, "agent-failed") as caught:
        decider.tell(choice.id, -1.0)
    assert "no losses" in str(caught.value)
    decider.tell(choice.id, 1.0)
    with raises(DeciderError, "agent-failed"):
        decider.choose("2026-11-16 04:00")
    assert len(decider.log) == 1


def test_decider_gives_its_agent_time_and_phase(tmp_path: Path) -> None:
    (tmp_path / "strict.py").write_text(
        "import numpy as np\n"
        "class Strict:\n"
        "    def __init__(self, problem, rng):\n"
        "        self.space, self.names = problem.observation_space, problem.observation_fields\n"
        "    def act(self, observation):\n"
        "        step, angle = observation[0], 2 * np.pi * observation[0] / 24\n"
        "        assert self.names == ('t', 'cos_phase', 'sin_phase')\n"
        "        assert np.allclose(observation, [step, np.cos(angle), np.sin(angle)])\n"
        "        assert self.space.contains(observation), observation\n"
        "        assert (self.space.low == [0, -1, -1]).all()\n"
        "        assert (self.space.high == [np.inf, 1, 1]).all()\n"
        "        return int(step % 2)\n"
        "    def update(self, observation, action, reward): pass\n"
    )
    decider = kiosk(agent=f"{tmp_path / 'strict.py'}:Strict")
    assert live(decider, 30) == ARMS * 15


# --- probabilities -------------------------------------------------------------------------


def test_choose_logs_exact_probabilities() -> None:
    """The false-alarm rate is one in 16,000 seeds (four standard deviations of 2,000 choices)."""
    decider = kiosk(arms=["a", "b", "c", "d"], explore=0.4)
    decider.learn(table(7, ["a", "b"]).assign(b=1.0, c=0.0, d=2.0))
    planned = decider.plan("2026-11-16 00:00", steps=1).table["arm"][0]
    for _ in range(2000):
        decider.choose("2026-11-16 00:00")
    log = decider.log
    assert set(log["probability"][log["arm"] == planned].round(12)) == {0.7}
    assert set(log["probability"][log["arm"] != planned].round(12)) == {0.1}
    shares = log["arm"].value_counts(normalize=True)
    for arm in "abcd":
        expected = 0.7 if arm == planned else 0.1
        assert shares[arm] == pytest.approx(expected, abs=4 * math.sqrt(0.21 / 2000))


def test_choose_knows_probabilities_of_certain_choices_only() -> None:
    certain, drawn = kiosk(), kiosk(agent="thompson")
    for decider in (certain, drawn):
        decider.learn(table(7))
    assert certain.choose("2026-11-16").probability == 1.0
    assert drawn.choose("2026-11-16").probability is None
    assert np.isnan(drawn.log["probability"][0])
    assert kiosk(agent="thompson", explore=1.0).choose("2026-11-16").probability == 0.5


# --- arms that come and go -----------------------------------------------------------------


def test_add_arm_keeps_knowledge_of_the_others() -> None:
    decider = kiosk()
    live(decider, 24 * 5)
    before = decider.plan("2026-11-22").table
    decider.add_arm("chat")
    assert decider.arms == ("billing", "sales", "chat")
    assert "chat" in set(decider.plan("2026-11-22").table["arm"])  # nothing is known of it
    decider.retire_arm("chat")
    after = decider.plan("2026-11-22").table
    assert list(after["arm"]) == list(before["arm"])
    np.testing.assert_allclose(after["expected"], before["expected"], rtol=1e-6)


def test_retire_arm_still_takes_rewards() -> None:
    decider = kiosk(arms=[*ARMS, "chat"])
    decider.learn(table(7, ARMS).assign(chat=100.0))
    late = decider.choose("2026-11-16")
    assert late.arm == "chat"
    decider.retire_arm("chat")
    assert set(live(decider, 48)) <= set(ARMS)
    decider.tell(late.id, 90.0)
    assert decider.log["reward"][0] == 90.0
    decider.add_arm("chat")
    assert decider.choose("2026-11-18").arm == "chat"


# --- learning and logging ------------------------------------------------------------------


def test_learn_reads_wide_long_and_logged_tables_alike(tmp_path: Path) -> None:
    wide = table(7)
    long = wide.reset_index().melt("time", var_name="arm", value_name="reward")
    log = long.sample(frac=1.0, random_state=0).assign(probability=0.5)
    wide.to_csv(tmp_path / "wide.csv")
    log.to_parquet(tmp_path / "log.parquet")
    plans = []
    for source in (wide, long, log, tmp_path / "wide.csv", tmp_path / "log.parquet"):
        decider = kiosk()
        assert decider.learn(source) == 2 * 24 * 7
        plans.append(decider.plan("2026-11-16").table["expected"].to_numpy())
    for plan in plans[1:]:
        np.testing.assert_allclose(plan, plans[0], rtol=1e-4)


def test_learn_takes_the_newest_known_rewards() -> None:
    gaps = table(7)
    gaps.iloc[:24, 0] = np.nan
    assert kiosk().learn(gaps) == 2 * 24 * 7 - 24
    with pytest.warns(UserWarning, match="50 of 312"):
        assert kiosk(remember=50).learn(gaps) == 50


def test_learn_reads_an_exported_log(tmp_path: Path) -> None:
    """Over the end of summer time: each row comes back at its own time."""
    one = kiosk(timezone="Europe/Madrid", explore=0.5)
    for moment in pd.date_range("2026-10-24 22:00", periods=30, freq="h", tz="UTC"):
        choice = one.choose(moment)
        if moment.hour != 5:
            one.tell(choice.id, reward_of(choice.arm, choice.time.hour))
    one.export_log(tmp_path / "log.csv")
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert lines[0] == "time,arm,reward,probability,choice_id"
    assert lines[3].startswith("2026-10-25 02:00:00+02:00,")
    assert lines[4].startswith("2026-10-25 02:00:00+01:00,")
    assert sum(not line.split(",")[2] for line in lines) == 1  # not told at five o'clock
    two = kiosk(timezone="Europe/Madrid")
    assert two.learn(tmp_path / "log.csv") == 29
    assert list(one.log.columns) == lines[0].split(",")
    assert str(one.log["time"].dt.tz) == "Europe/Madrid"


def test_decider_remembers_a_bounded_number(file_agent: str) -> None:
    for agent in (QUICK, file_agent):
        decider = kiosk(remember=40, agent=agent)
        first = decider.choose("2026-11-16")
        live(decider, 100)
        assert len(decider.log) == 40
        assert len(decider._journal.events) <= 40
        with raises(DeciderError, "unknown-choice"):
            decider.tell(first.id, 1.0)


# --- plans ---------------------------------------------------------------------------------


def test_plan_changes_nothing(file_agent: str) -> None:
    for agent in ("auto-gp-ucb", QUICK, "thompson", file_agent):
        planner, twin = (kiosk(agent=agent) for _ in range(2))
        for decider in (planner, twin):
            live(decider, 40)
        plan = planner.plan("2026-11-18", steps=30)
        assert list(plan.table.columns[:5]) == ["time", "arm", "expected", "low", "high"]
        assert len(plan) == 30
        assert live(planner, 30, "2026-11-18") == live(twin, 30, "2026-11-18"), agent


def test_plan_draws_itself() -> None:
    decider = kiosk(arms=["<b>$x", "<b>$y"])
    decider.learn(table(3, ["<b>$x", "<b>$y"], first="2026-11-13"))
    figure = decider.plan("2026-11-16", steps=5).plot()
    figure.canvas.draw()
    assert len(figure.axes[1].lines[0].get_xdata()) == 5


def test_decider_page_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "decider.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    table(7).to_csv(tmp_path / "past.csv")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "decider.md", "exec"), names)
    assert len(blocks) >= 3
    assert (tmp_path / "kiosk").is_file()
