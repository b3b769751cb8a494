"""Tests of plans: trials, past means and warnings."""

import numpy as np
import pandas as pd
import pytest

from periodic_decisions import Decider, DeciderError
from periodic_decisions.decider.plan import mean_so_far
from tests.errors import raises
from tests.test_decisions.test_deciding import ARMS, kiosk, table

MONDAY = "2026-11-16"


def peaked(weeks: int = 4) -> pd.DataFrame:
    """Two arms of which one has a peak of an hour on Saturdays, which no smooth season follows."""
    times = pd.date_range("2026-10-19", periods=168 * weeks, freq="h")
    hour = times.hour.to_numpy()
    rng = np.random.default_rng(0)
    calm = 20.0 + 5.0 * np.cos(2 * np.pi * hour / 24)
    peak = 10.0 + 60.0 * ((times.day_of_week == 5) & (hour == 18))
    return pd.DataFrame(
        {
            "time": times,
            "billing": calm + rng.normal(0, 1, len(times)),
            "sales": peak + rng.normal(0, 1, len(times)),
        }
    )


def weekly(agent: str) -> Decider:
    return kiosk(seasons=["1 day", "1 week"], agent=agent)


def test_plan_has_means_of_the_same_hour_of_the_week() -> None:
    decider, past = weekly("ucb1"), peaked()
    decider.learn(past)
    plan = decider.plan(MONDAY, steps=168).table
    by_hour = past.groupby(np.arange(len(past)) % 168)[["billing", "sales"]].mean()
    wanted = [by_hour.loc[i, arm] for i, arm in enumerate(plan["arm"])]
    np.testing.assert_allclose(plan["mean_so_far"], wanted)


def test_plan_has_no_means_without_a_season() -> None:
    decider = kiosk(seasons=[], agent="ucb1")
    decider.learn(peaked(1))
    assert decider.plan(MONDAY, steps=3).table["mean_so_far"].isna().all()


def test_mean_so_far_counts_rewards_by_phase() -> None:
    rewards = [(0, "sales", 2.0), (7, "sales", 4.0), (8, "billing", 1.0)]
    mean, count = mean_so_far((7.0,), ("billing", "sales", "chat"), [0, 1], rewards)
    assert count.tolist() == [[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]]
    assert (mean[0, 1], mean[1, 0]) == (3.0, 1.0)


def test_plan_notes_a_peak_that_the_model_flattens() -> None:
    decider = weekly("auto-gp-ucb")
    decider.learn(peaked())
    (note,) = decider.plan(MONDAY, steps=168).notes
    assert "phase-ucb:period=168" in note
    smooth = kiosk()
    smooth.learn(table(14))
    assert smooth.plan("2026-11-20", steps=48).notes == ()


def test_plan_of_phase_ucb_takes_the_peak() -> None:
    """The documentation recommends it for a schedule that keeps learning."""
    decider = weekly("phase-ucb:period=168,scale=0")
    decider.learn(peaked())
    plan = decider.plan(MONDAY, steps=168)
    assert plan.table.loc[plan.table["arm"] == "sales", "time"].tolist() == [
        pd.Timestamp("2026-11-21 18:00")
    ]
    assert plan.notes == ()
    assert plan.table["trial"].isna().all()


@pytest.mark.parametrize("objective", ["max", "min"])
def test_plan_marks_trials(objective: str) -> None:
    decider = kiosk(objective=objective)
    decider.learn(table(14))
    assert not decider.plan("2026-11-20", steps=24).table["trial"].any()
    decider.add_arm("chat")
    plan = decider.plan("2026-11-20", steps=24)
    assert plan.table["trial"][plan.table["arm"] == "chat"].any()
    assert plan.text().count(" yes") == plan.table["trial"].sum()


def test_learn_skips_known_rewards() -> None:
    decider, once = kiosk(agent="ucb1"), kiosk(agent="ucb1")
    assert decider.learn(table(2)) == once.learn(table(3)) - 48 == 96
    with pytest.warns(UserWarning, match="96 of 144"):
        assert decider.learn(table(3)) == 48
    with pytest.warns(UserWarning, match="144 of 144"):
        assert decider.learn(table(3)) == 0
    assert decider._journal.events == once._journal.events
    assert decider.learn(table(3), again=True) == 144
    assert len(decider._journal.events) == 288


def test_learn_keeps_the_start_after_an_error() -> None:
    decider = kiosk(agent="ucb1")
    with pytest.raises(ZeroDivisionError):
        decider.learn(table(2), on_progress=lambda done, of: 1 // 0)
    assert decider.choose("2026-11-01").id in decider.open_choices


def test_learn_skips_told_choices() -> None:
    decider = kiosk(agent="ucb1", start="2026-11-02")
    choice = decider.choose("2026-11-02 09:00")
    decider.tell(choice.id, float(table(1).loc["2026-11-02 09:00", choice.arm]))
    with pytest.warns(UserWarning, match="1 of 48"):
        assert decider.learn(table(1)) == 47


def test_learn_counts_repeated_rewards_of_a_log() -> None:
    """Several choices of one arm at one time, with equal and with different rewards."""
    rows = [("2026-11-02 09:00", "billing", reward) for reward in (1.0, 1.0, 0.0)]
    log = pd.DataFrame(rows, columns=["time", "arm", "reward"])
    decider = kiosk(agent="ucb1")
    assert decider.learn(log) == 3
    with pytest.warns(UserWarning, match="3 of 4"):
        assert decider.learn(pd.concat([log, log[:1]])) == 1


def test_learn_refuses_conflicting_rewards() -> None:
    twice = pd.concat([table(2), table(2)[5:6] + 1.0])
    decider = kiosk(agent="ucb1")
    with raises(DeciderError, "conflicting-values") as caught:
        decider.learn(twice)
    assert "'billing' at 2026-11-02 05:00" in str(caught.value)
    assert decider.learn(twice, duplicates="mean") == 96
    assert kiosk(agent="ucb1").learn(pd.concat([table(2), table(2)[5:6]])) == 96
    with raises(DeciderError, "invalid-option"):
        decider.learn(twice, duplicates="last")


def test_learn_keeps_a_repeated_hour() -> None:
    autumn = table(2, first="2026-10-24")
    autumn = pd.concat([autumn, autumn[26:27] + 1.0])
    assert kiosk(agent="ucb1", timezone="Europe/Madrid").learn(autumn) == 98


def test_learn_warns_of_other_columns() -> None:
    odd = table(1).assign(Störung=3.0)
    decider, selective, other = (kiosk(arms=[*ARMS, "chat"], agent="ucb1") for _ in range(3))
    with pytest.warns(UserWarning, match="'Störung'.*'chat'"):
        assert decider.learn(odd) == 48
    assert selective.learn(odd, arms=ARMS) == 48
    long = odd.reset_index().melt("time", var_name="arm", value_name="reward")
    assert other.learn(long, arms=ARMS) == 48
    with raises(DeciderError, "unknown-arm"):
        other.learn(long, arms=["billing", "Störung"])
