"""A season that moves: what changes, when, and what agents are told of it."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from periodic_envs.fields.course import change_times
from periodic_envs.process import FiniteProcess
from periodic_envs.rendering import world_figure

ID = "PeriodicGP-Shift-v0"
KINDS = ("phase", "period", "swap", "amplitude")


def drawn(seed: int = 3, **arguments: Any) -> Any:
    env = gym.make(ID, **arguments).unwrapped
    env.reset(seed=seed)
    return env


def still(seed: int = 3) -> np.ndarray:
    """The same world without its changes, shape (steps, arms), as a sibling draws it."""
    env = gym.make("PeriodicGP-SyntheticDiscrete-v0", n_actions=20, horizon=400).unwrapped
    env.reset(seed=seed)
    process = env.episode.process
    return np.asarray(process.values[process.rows])


@pytest.mark.parametrize("kind", KINDS)
def test_until_the_first_change_it_is_the_still_world(kind: str) -> None:
    process = drawn(change=kind).episode.process
    first = process.changes[0]
    np.testing.assert_allclose(process.values[:first], still()[:first], atol=1e-9)
    assert not np.allclose(process.values[first : first + 20], still()[first : first + 20])


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_phase_jumps_by_a_share_of_half_a_season(seed: int) -> None:
    process = drawn(seed, change="phase", size=0.4, changes=1).episode.process
    (t,) = process.changes
    after = process.values[t:]
    ways = [
        np.allclose(after, np.roll(still(seed), -way, axis=0)[t:], atol=1e-9) for way in (4, -4)
    ]
    assert sorted(ways) == [False, True]


@pytest.mark.parametrize(("seed", "longer"), [(2, True), (1, False)])
def test_a_season_becomes_longer_or_shorter_and_goes_on(seed: int, longer: bool) -> None:
    process = drawn(seed, change="period", size=1.0, changes=1).episode.process
    (t,) = process.changes
    steps = np.arange(40)
    fast, slow = process.values[t + steps * 2], process.values[t + steps]
    expected = still(seed)[(t + steps) % 20]
    assert np.allclose(fast, expected, atol=1e-9) == longer
    expected = still(seed)[(t + 2 * steps) % 20]
    assert np.allclose(slow, expected, atol=1e-9) != longer
    assert process.course.periods[[0, -1]].tolist() == [20.0, 40.0 if longer else 10.0]


@pytest.mark.parametrize(("size", "moved"), [(1.0, 20), (0.5, 10), (0.01, 2)])
def test_a_share_of_the_arms_trade_places_in_pairs(size: float, moved: int) -> None:
    process = drawn(change="swap", size=size, changes=1).episode.process
    (t,) = process.changes
    arms = process.course.arms[t]
    assert (arms != np.arange(20)).sum() == moved
    assert (arms[arms] == np.arange(20)).all()  # pairs: once more, and all are where they were
    np.testing.assert_allclose(process.values[t:], still()[t:][:, arms], atol=1e-9)


def test_swaps_add_up() -> None:
    process = drawn(change="swap", size=1.0, changes=2).episode.process
    arms, (first, second) = process.course.arms, process.changes
    again = arms[second][np.argsort(arms[first])]
    assert (again != np.arange(20)).all()
    assert sorted(arms[second]) == list(range(20))


@pytest.mark.parametrize("seed", [3, 5])
def test_an_amplitude_scales_what_repeats_and_nothing_else(seed: int) -> None:
    process = drawn(seed, change="amplitude", size=0.5, changes=1).episode.process
    (t,) = process.changes
    before, after = still(seed)[t : t + 20], process.values[t : t + 20]
    np.testing.assert_allclose(after.mean(0), before.mean(0), atol=1e-9)
    ratio = (after - after.mean(0)) / (before - before.mean(0))
    factor = 1.5 if ratio[0, 0] > 1 else 1 / 1.5
    np.testing.assert_allclose(ratio, factor, rtol=1e-6)


def test_both_directions_and_all_kinds_occur() -> None:
    courses = [drawn(s, change=list(KINDS), changes=1).episode.process.course for s in range(60)]
    lengths = {float(course.periods[-1]) for course in courses}
    assert {20.0, 30.0} <= lengths
    assert min(lengths) == pytest.approx(20 / 1.5)
    assert len({float(course.amplitudes[-1]) for course in courses}) == 3
    jumps = {round(float(c.cycles[-1] - 20.0), 6) for c in courses if c.periods[-1] == 20.0}
    assert jumps == {-0.25, 0.0, 0.25}
    assert any((course.arms[-1] != np.arange(20)).any() for course in courses)


def test_worlds_that_differ_in_what_changes_are_paired() -> None:
    plain = drawn()
    for other in ({"change": "swap"}, {"size": 1.0}, {"change": list(KINDS)}, {"notify": "full"}):
        env = drawn(**other)
        assert (env.episode.process.changes == plain.episode.process.changes).all()
        assert (env.episode.noise == plain.episode.noise).all()
    for other in ({"changes": 0}, {"changes": 7, "gap": 3}):
        assert (drawn(**other).episode.noise == plain.episode.noise).all()


def test_changes_keep_their_distance() -> None:
    for seed in range(30):
        changes = drawn(seed, changes=4, gap=70, horizon=360).episode.process.changes
        assert np.diff([0, *changes, 360]).min() >= 70
    assert change_times(np.array([0.999, 0.0]), 100, 20).tolist() == [20, 80]
    assert change_times(np.array([0.0]), 2, 1).tolist() == [1]
    default = [drawn(seed).episode.process.changes for seed in range(30)]
    assert min(np.diff([0, *changes, 400]).min() for changes in default) >= 400 // 6
    assert len({tuple(changes) for changes in default}) > 25


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"change": "level"}, "change must be one of amplitude, .* got 'level'"),
        ({"change": ["phase", "level"]}, "change must be one of .* got 'level'"),
        ({"change": 5}, "change must be one of phase, period, swap, amplitude, or a list .* got 5"),
        ({"change": None}, "change must be one of .* or a list of them, got None"),
        ({"change": True}, "change must be one of .* or a list of them, got True"),
        ({"change": {"swap"}}, "change must be one of .* or a list of them, got {'swap'}"),
        ({"change": [5]}, "change must be one of .* got 5"),
        ({"change": []}, "change must name at least one of phase, period, swap, amplitude"),
        ({"change": "swap", "n_actions": 1}, "change='swap' needs n_actions of at least 2, got 1"),
        ({"change": "swap", "n_actions": None}, "change='swap' needs n_actions .* got None"),
        ({"size": 0}, "size must be a finite number greater than 0, got 0"),
        ({"size": 1.5}, r"size must be a number in \[0, 1\], got 1.5"),
        ({"changes": -1}, "changes must be a whole number of at least 0, got -1"),
        ({"gap": 0}, "gap must be a whole number of at least 1, got 0"),
        ({"notify": "all"}, "notify must be one of change, full, none, got 'all'"),
        ({"gap": 150}, "horizon must be at least 450 for changes=2 with gap=150, got 400"),
        ({"horizon": 2}, "horizon must be at least 3 for changes=2 with gap=1, got 2"),
    ],
    ids=str,
)
def test_bad_values(kwargs: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.make(ID, **kwargs)


def test_agents_are_told_what_notify_says() -> None:
    plain = ("t", "cos_phase", "sin_phase")
    assert drawn().observation_fields == drawn(notify=None).observation_fields == plain
    env = drawn(notify="change")
    assert env.observation_fields == (*plain, "changed")
    shown = env.episode.observations
    assert np.flatnonzero(shown[:, 3]).tolist() == env.episode.process.changes.tolist()
    assert set(shown[:, 3]) == {0.0, 1.0}
    np.testing.assert_array_equal(shown[:, :3], drawn().episode.observations)


def test_full_notice_says_what_is_the_case() -> None:
    env = drawn(5, change=list(KINDS), notify="full", n_actions=6, changes=5)
    named = ("changed", "cos_season", "sin_season", "period_now", "amplitude_now")
    arms = tuple(f"arm_{i}" for i in range(6))
    assert env.observation_fields == ("t", "cos_phase", "sin_phase", *named, *arms)
    assert env.public.context_dim == 11
    course = env.episode.process.course
    told = dict(zip(env.observation_fields, env.episode.observations.T, strict=True))
    angle = np.arctan2(told["sin_season"], told["cos_season"]) / (2 * np.pi)
    np.testing.assert_allclose((angle - course.cycles + 0.5) % 1.0, 0.5, atol=1e-9)
    period = 20.0 * (1 + told["period_now"]) / (1 - told["period_now"])
    np.testing.assert_allclose(period, course.periods)
    amplitude = (1 + told["amplitude_now"]) / (1 - told["amplitude_now"])
    np.testing.assert_allclose(amplitude, course.amplitudes)
    whose = np.stack([(told[arm] + 1) * 5 / 2 for arm in arms], axis=1)
    np.testing.assert_allclose(whose, course.arms, atol=1e-12)
    assert len(np.unique(course.periods)) > 1
    assert env.observation_space.contains(env.episode.observations[-1])


def test_a_notice_is_only_about_what_may_change() -> None:
    fields = {kind: drawn(change=kind, notify="full").observation_fields[3:] for kind in KINDS}
    assert fields["phase"] == ("changed", "cos_season", "sin_season")
    assert fields["period"] == ("changed", "cos_season", "sin_season", "period_now")
    assert fields["amplitude"] == ("changed", "amplitude_now")
    assert fields["swap"] == ("changed", *(f"arm_{i}" for i in range(20)))


def test_a_world_without_changes_stands_still() -> None:
    process = drawn(changes=0).episode.process
    assert process.changes.tolist() == []
    np.testing.assert_allclose(process.values, still(), atol=1e-9)


def test_other_worlds_have_no_changes() -> None:
    assert FiniteProcess(values=np.zeros((1, 2)), rows=np.zeros(3, int), period=2.0).changes is None


def test_a_picture_shows_the_changes() -> None:
    env = drawn(horizon=200)
    above, *_ = world_figure("", env.setup, env.episode).axes
    lines = [line for line in above.lines if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] + 0.5 for line in lines] == env.episode.process.changes.tolist()
    labels = [text.get_text() for text in above.get_legend().get_texts()]
    assert labels == ["best action", "change"]
