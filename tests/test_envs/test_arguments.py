"""Errors that name the argument, the value and the allowed values."""

import gymnasium as gym
import numpy as np
import pytest

from tests.test_envs.envs import SYNTHETIC, make

RIDES = "PeriodicGP-RideShare-v0"


STATIONS = [[4], [4, 4], [4, 5], 4, [4.0, 8.0], [[4], [8]]]
DESTINATIONS = [["ATL"], ["ATL", "ATL"], ["ATL", "atl"], "ATL", ["ATL", 4]]
SYNTHETIC_VALUES: list[dict] = [
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
]
SHIFT_VALUES: list[dict] = [
    *({"change": wrong} for wrong in ("level", ["phase", "level"], 5, None, {"swap"}, [5], [])),
    *({"n_actions": n, "change": "swap"} for n in (1, None)),
    *({"size": 0}, {"size": 1.5}, {"changes": -1}, {"gap": 0}, {"gap": 150}),
    *({"notify": "all"}, {"horizon": 2}),
]
DAYS_VALUES: list[dict] = [
    *({"start": start} for start in ("3 March", 20180303, "9999-12-25")),
    *({"days": days} for days in (0, 2, 2.5)),
    *({"warm_start_days": -1}, {"objective": "best"}, {"period_hours": 0}, {"horizon": 10_000}),
]


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        *(("Synthetic", kwargs) for kwargs in SYNTHETIC_VALUES),
        *(("Shift", kwargs) for kwargs in SHIFT_VALUES),
        *((n, kwargs) for n in ("Madrid", "MadridSim", "Flights") for kwargs in DAYS_VALUES),
        *((name, {"stations": wrong}) for name in ("Madrid", "MadridSim") for wrong in STATIONS),
        *(("Flights", {"destinations": wrong}) for wrong in DESTINATIONS),
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
def test_env_names_bad_arguments(name: str, kwargs: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        make(f"PeriodicGP-{name}-v0", **kwargs)


def test_misspelled_arguments_are_corrected() -> None:
    with pytest.raises(ValueError, match="'noise_std'"):
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
    for call in (lambda: env.step([0.0]), env.render):
        with pytest.raises(gym.error.ResetNeeded):
            call()
