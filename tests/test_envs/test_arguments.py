"""Errors that name the argument, the value and the allowed values."""

import gymnasium as gym
import numpy as np
import pytest

from tests.test_envs.envs import SYNTHETIC, make

RIDES = "PeriodicGP-RideShare-v0"


@pytest.mark.parametrize(
    "kwargs",
    [
        *({"period": wrong} for wrong in (0, float("nan"), "day")),
        *({"horizon": wrong} for wrong in (0, 2.5, True)),
        *({"nu": wrong, "action_kernel": "matern"} for wrong in (0.1, 1e9)),
        *({"noise": wrong} for wrong in ("loud", "poisson")),
        {"nu": 0.5, "action_kernel": "matern", "dim": 2},
        {"action_kernel": "rbf"},
        {"action_length_scale": 0.05, "dim": 2},
        {"action_length_scale": 0.02, "action_kernel": "matern", "nu": 0.5},
        {"action_length_scale": -1},
        {"reveal_period": "no"},
        {"dim": 7},
        {"n_actions": 0},
        {"time_length_scale": 0},
        {"action_width": np.inf},
        {"noise_std": -1},
        {"noise_df": 2, "noise": "student-t"},
        {"world": "nowhere:World"},
        {"tau": 20},
    ],
    ids=str,
)
def test_bad_values_are_named(kwargs: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        make(SYNTHETIC, **kwargs)


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("Piecewise", {"mean_segment": 0.5}),
        ("Switching", {"drift": 1.5}),
        ("AlmostPeriodic", {"ratio": 0}),
        ("MultiSeason", {"weekly_share": -1}),
        ("MultiSeason", {"long_period": 0}),
        ("HiddenPeriod", {"shortest": 0}),
        ("HiddenPeriod", {"longest": 5}),
        ("HiddenPeriod", {"period": 20}),
        ("Contextual", {"context_dim": 0}),
        ("Contextual", {"context_length_scale": 0.01}),
        ("RideShare", {"peak_requests": 0}),
        ("RideShare", {"variety": -0.1}),
    ],
    ids=str,
)
def test_bad_values_of_other_worlds_are_named(name: str, kwargs: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        make(f"PeriodicGP-{name}-v0", **kwargs)


def test_misspelled_arguments_are_corrected() -> None:
    with pytest.raises(ValueError, match="did you mean 'noise_std'"):
        make(SYNTHETIC, noise_stdd=20)


@pytest.mark.parametrize(
    ("env_id", "action"),
    [
        *((SYNTHETIC, [x]) for x in (1.01, -2.0, float("nan"), [0.0])),
        *((SYNTHETIC, x) for x in ([0.0, 0.0], 0.5, "left", None)),
        *((RIDES, x) for x in (-1, 12, 0.5, float("nan"), "Downtown", None, [1])),
    ],
    ids=str,
)
def test_bad_action_changes_nothing(env_id: str, action: object) -> None:
    env, twin = make(env_id), make(env_id)
    for each in (env, twin):
        each.reset(seed=0)
    with pytest.raises(gym.error.InvalidAction):
        env.step(action)
    good = twin.action_space.sample()
    assert env.step(good)[1] == twin.step(good)[1]


@pytest.mark.parametrize("action", [3, np.int64(3), np.array(3), np.uint8(3)], ids=repr)
def test_whole_numbers_of_any_type_are_actions(action: object) -> None:
    env = gym.make(RIDES)
    env.reset(seed=0)
    assert env.step(action)[4]["mean_reward"] > 0


def test_calls_before_reset_are_rejected() -> None:
    env = make(SYNTHETIC, render_mode="rgb_array")
    with pytest.raises(gym.error.ResetNeeded):
        env.step([0.0])
    with pytest.raises(gym.error.ResetNeeded):
        env.render()
