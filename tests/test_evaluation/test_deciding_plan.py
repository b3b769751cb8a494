"""A plan says what is a trial, and where what was seen contradicts what is believed."""

import numpy as np
import pandas as pd
import pytest

from evaluation import Decider
from evaluation.deciding.past import mean_so_far
from tests.test_evaluation.test_deciding import kiosk, table

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


def test_means_so_far_are_those_of_the_same_hour_of_the_week() -> None:
    decider, past = weekly("ucb1"), peaked()
    decider.learn(past)
    plan = decider.plan(MONDAY, steps=168).table
    by_hour = past.groupby(np.arange(len(past)) % 168)[["billing", "sales"]].mean()
    wanted = [by_hour.loc[i, arm] for i, arm in enumerate(plan["arm"])]
    np.testing.assert_allclose(plan["mean_so_far"], wanted)
    _, count = mean_so_far(decider._known, [0, 5])
    assert count.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_nothing_was_seen_without_a_season_or_of_a_new_arm() -> None:
    decider = kiosk(seasons=[], agent="ucb1")
    decider.learn(peaked(1))
    assert decider.plan(MONDAY, steps=3).table["mean_so_far"].isna().all()
    decider = weekly("ucb1")
    decider.learn(peaked(1))
    decider.add_arm("chat")
    mean, count = mean_so_far(decider._known, [0])
    assert np.isnan(mean).tolist() == [[False, False, True]]
    assert count.tolist() == [[1.0, 1.0, 0.0]]


def test_a_peak_that_the_model_flattens_is_said() -> None:
    decider = weekly("auto-gp-ucb")
    decider.learn(peaked())
    plan = decider.plan(MONDAY, steps=168)
    (note,) = plan.notes
    assert "The largest gap: sales at 2026-11-21 18:00:00" in note
    assert "phase-ucb:period=168" in note
    assert note in " ".join(repr(plan).split())
    assert f"<p>{note}</p>".replace("'", "&#x27;") in plan._repr_html_()
    smooth = kiosk()
    smooth.learn(table(14))
    assert smooth.plan("2026-11-20", steps=48).notes == ()


def test_an_agent_without_smoothing_takes_the_peak() -> None:
    """The page about deciders recommends it for a schedule that keeps learning."""
    decider = weekly("phase-ucb:period=168,scale=0")
    decider.learn(peaked())
    plan = decider.plan(MONDAY, steps=168)
    assert plan.table.loc[plan.table["arm"] == "sales", "time"].tolist() == [
        pd.Timestamp("2026-11-21 18:00")
    ]
    assert plan.notes == ()
    assert plan.table["trial"].isna().all()


@pytest.mark.parametrize("objective", ["max", "min"])
def test_trials_are_marked(objective: str) -> None:
    decider = kiosk(objective=objective)
    decider.learn(table(14))
    assert not decider.plan("2026-11-20", steps=24).table["trial"].any()
    decider.add_arm("chat")
    plan = decider.plan("2026-11-20", steps=24)
    tried = plan.table[plan.table["arm"] == "chat"]
    assert len(tried) > 0
    assert plan.table.loc[tried.index, "trial"].any()
    assert plan.text().count(" yes") == plan.table["trial"].sum()


def test_learning_the_same_again_is_said() -> None:
    decider = kiosk(agent="ucb1")
    decider.learn(table(2))
    with pytest.warns(UserWarning, match="96 of 96 rewards .* count twice"):
        decider.learn(table(2))
    decider.learn(table(2, first="2026-11-09"))


def test_the_log_has_the_ids_of_choices() -> None:
    decider = kiosk()
    choice = decider.choose(MONDAY)
    assert decider.log["choice_id"].tolist() == [choice.id]
