"""Bad input is answered with the argument, the value and what is allowed."""

import gymnasium as gym
import numpy as np
import pytest

import periodic_envs

SYNTHETIC = "PeriodicGP-Synthetic-v0"


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"period": 0}, "period must be a finite number greater than 0, got 0"),
        ({"period": float("nan")}, "period must be .* got nan"),
        ({"period": "day"}, "period must be .* got 'day'"),
        ({"horizon": 0}, "horizon must be a whole number of at least 1, got 0"),
        ({"horizon": 2.5}, "horizon must be a whole number .* got 2.5"),
        ({"horizon": True}, "horizon must be a whole number .* got True"),
        ({"action_kernel": "rbf"}, "action_kernel must be one of linear, matern, se, got 'rbf'"),
        ({"action_kernel": "matern", "nu": 0.1}, r"nu must be a number in \[0.5, 30\], got 0.1"),
        ({"action_kernel": "matern", "nu": 1e9}, r"nu must be a number in \[0.5, 30\], got"),
        (
            {"action_kernel": "matern", "nu": 0.5, "dim": 2},
            r"nu in two or more dimensions must be a number in \[1.5, 30\], got 0.5",
        ),
        (
            {"dim": 2, "action_length_scale": 0.05},
            r"action_width / action_length_scale in 2 dimensions must be .*\[0, 50\], got 200",
        ),
        ({"action_length_scale": 0.02, "action_kernel": "matern", "nu": 0.5}, "is too short for"),
        ({"reveal_period": "no"}, "reveal_period must be True or False, got 'no'"),
        ({"noise": "poisson"}, "noise='poisson' needs a finite set of actions .*Synthetic has not"),
        ({"dim": 7}, r"dim must be a whole number in \[1, 6\], got 7"),
        ({"n_actions": 0}, "n_actions must be a whole number of at least 1, got 0"),
        ({"action_length_scale": -1}, "action_length_scale must be .* got -1"),
        ({"time_length_scale": 0}, r"time_length_scale must be .*\[0.01, 10000\], got 0"),
        ({"action_width": np.inf}, "action_width must be .* got inf"),
        ({"noise": "loud"}, "noise must be one of gaussian, .* got 'loud'"),
        ({"noise_std": -1}, "noise_std must be a finite number of at least 0, got -1"),
        ({"noise": "student-t", "noise_df": 2}, "noise_df must be a finite number greater than 2"),
        ({"world": "nowhere:World"}, "world must be 'module:Class' .* got 'nowhere:World'"),
    ],
    ids=str,
)
def test_bad_values(kwargs: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.make(SYNTHETIC, **kwargs)


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        ("Piecewise", {"mean_segment": 0.5}, "mean_segment must be .* at least 1, got 0.5"),
        ("Switching", {"drift": 1.5}, r"drift must be a number in \[0, 1\], got 1.5"),
        ("AlmostPeriodic", {"ratio": 0}, "ratio must be .* got 0"),
        ("MultiSeason", {"weekly_share": -1}, r"weekly_share must be .* in \[0, 1\], got -1"),
        ("MultiSeason", {"long_period": 0}, "long_period must be .* got 0"),
        ("HiddenPeriod", {"shortest": 0}, "shortest must be .* got 0"),
        ("HiddenPeriod", {"longest": 5}, "longest must be .* at least 10, got 5"),
        ("Contextual", {"context_dim": 0}, r"context_dim must be .*\[1, 2\], got 0"),
        ("Contextual", {"context_length_scale": 0.01}, "context_length_scale is too short"),
        ("RideShare", {"peak_requests": 0}, "peak_requests must be .* got 0"),
        ("RideShare", {"variety": -0.1}, "variety must be .* got -0.1"),
    ],
    ids=str,
)
def test_bad_values_of_other_worlds(name: str, kwargs: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.make(f"PeriodicGP-{name}-v0", **kwargs)


def test_unknown_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"no argument 'tau'; Synthetic takes period, n_"):
        gym.make(SYNTHETIC, tau=20)
    with pytest.raises(ValueError, match=r"no argument 'noise_stdd' \(did you mean 'noise_std'\?"):
        gym.make(SYNTHETIC, noise_stdd=20)
    with pytest.raises(ValueError, match=r"no argument 'period'"):
        gym.make("PeriodicGP-HiddenPeriod-v0", period=20)


@pytest.mark.parametrize(
    "action",
    [[1.01], [-2.0], [float("nan")], [0.0, 0.0], 0.5, "left", None, [[0.0]]],
    ids=str,
)
def test_bad_box_actions(action: object) -> None:
    env = gym.make(SYNTHETIC).unwrapped
    env.reset(seed=0)
    with pytest.raises(
        gym.error.InvalidAction, match=r"action must be an array of shape \(1,\) .*\[-1, 1\], got"
    ):
        env.step(action)


@pytest.mark.parametrize("action", [-1, 12, 0.5, float("nan"), "Downtown", None, [1]], ids=str)
def test_bad_discrete_actions(action: object) -> None:
    env = gym.make("PeriodicGP-RideShare-v0").unwrapped
    env.reset(seed=0)
    with pytest.raises(
        gym.error.InvalidAction, match=r"action must be a whole number in \[0, 11\], got"
    ):
        env.step(action)


def test_a_refused_action_changes_nothing() -> None:
    env, twin = (gym.make("PeriodicGP-RideShare-v0") for _ in range(2))
    for each in (env, twin):
        each.reset(seed=0)
    with pytest.raises(gym.error.InvalidAction):
        env.step(99)
    assert env.step(3)[1] == twin.step(3)[1]


@pytest.mark.parametrize("action", [3, np.int64(3), np.array(3), np.uint8(3)], ids=repr)
def test_all_kinds_of_whole_numbers_are_taken(action: object) -> None:
    env = gym.make("PeriodicGP-RideShare-v0")
    env.reset(seed=0)
    env.step(action)


def test_order_of_calls() -> None:
    env = gym.make(SYNTHETIC, render_mode="rgb_array").unwrapped
    with pytest.raises(gym.error.ResetNeeded, match=r"reset\(\) before step"):
        env.step([0.0])
    with pytest.raises(gym.error.ResetNeeded, match=r"reset\(\) before render"):
        env.render()
    with pytest.raises(ValueError, match="render_mode must be one of ansi, human, rgb_array"):
        periodic_envs.PeriodicBanditEnv(
            "periodic_envs.worlds.synthetic:Synthetic", render_mode="hologram"
        )


def test_render_without_a_mode_says_so() -> None:
    env = gym.make(SYNTHETIC).unwrapped
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None
