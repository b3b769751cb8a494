"""A season that moves: kinds and times of changes, and the notices of them."""

from typing import Any

import numpy as np
import pytest

from periodic_envs.fields.course import change_times
from tests.test_envs.envs import ARMS, make

ID = "PeriodicGP-Shift-v0"
KINDS = ("phase", "period", "swap", "amplitude")


def drawn(seed: int = 3, **arguments: Any) -> Any:
    env = make(ID, **arguments)
    env.reset(seed=seed)
    return env


def changed(seed: int = 3, **arguments: Any) -> tuple[Any, int]:
    """Return the process of one change, and its time."""
    process = drawn(seed, changes=1, **arguments).episode.process
    return process, int(process.changes[0])


def still(seed: int = 3) -> np.ndarray:
    """Return the same world without changes, (steps, arms), as another id draws it."""
    env = make(ARMS, n_actions=20, horizon=400)
    env.reset(seed=seed)
    process = env.episode.process
    return np.asarray(process.values[process.rows])


@pytest.mark.parametrize("kind", KINDS)
def test_world_is_still_until_the_first_change(kind: str) -> None:
    process = drawn(change=kind).episode.process
    first = process.changes[0]
    np.testing.assert_allclose(process.values[:first], still()[:first], atol=1e-9)
    assert not np.allclose(process.values[first : first + 20], still()[first : first + 20])
    none = drawn(change=kind, changes=0).episode.process
    assert none.changes.tolist() == []
    np.testing.assert_allclose(none.values, still(), atol=1e-9)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_phase_jumps_by_a_share_of_half_a_season(seed: int) -> None:
    process, t = changed(seed, change="phase", size=0.4)
    shifted = [np.roll(still(seed), -way, axis=0)[t:] for way in (4, -4)]
    assert sum(np.allclose(process.values[t:], one, atol=1e-9) for one in shifted) == 1


@pytest.mark.parametrize(("seed", "longer"), [(2, True), (1, False)])
def test_period_becomes_longer_or_shorter_and_goes_on(seed: int, longer: bool) -> None:
    process, t = changed(seed, change="period", size=1.0)
    steps = np.arange(40)
    slow, fast = still(seed)[(t + steps) % 20], still(seed)[(t + 2 * steps) % 20]
    assert np.allclose(process.values[t + steps * 2], slow, atol=1e-9) == longer
    assert np.allclose(process.values[t + steps], fast, atol=1e-9) != longer
    assert process.course.periods[[0, -1]].tolist() == [20.0, 40.0 if longer else 10.0]


@pytest.mark.parametrize(("size", "moved"), [(1.0, 20), (0.5, 10), (0.01, 2)])
def test_swap_exchanges_a_share_of_the_arms_in_pairs(size: float, moved: int) -> None:
    process, t = changed(change="swap", size=size)
    arms = process.course.arms[t]
    assert (arms != np.arange(20)).sum() == moved
    assert (arms[arms] == np.arange(20)).all()
    np.testing.assert_allclose(process.values[t:], still()[t:][:, arms], atol=1e-9)


@pytest.mark.parametrize("seed", [3, 5])
def test_amplitude_scales_only_the_part_that_repeats(seed: int) -> None:
    process, t = changed(seed, change="amplitude", size=0.5)
    before, after = still(seed)[t : t + 20], process.values[t : t + 20]
    np.testing.assert_allclose(after.mean(0), before.mean(0), atol=1e-9)
    ratio = (after - after.mean(0)) / (before - before.mean(0))
    np.testing.assert_allclose(ratio, 1.5 if ratio[0, 0] > 1 else 1 / 1.5, rtol=1e-6)


def test_changes_take_all_kinds_and_directions() -> None:
    courses = [changed(seed, change=list(KINDS))[0].course for seed in range(60)]
    for factors in ("periods", "amplitudes"):
        ends = [getattr(course, factors)[[0, -1]] for course in courses]
        assert {round(end / start, 6) for start, end in ends} == {0.666667, 1.0, 1.5}
    jumps = {round(float(c.cycles[-1] - 20.0), 6) for c in courses if c.periods[-1] == 20.0}
    assert jumps == {-0.25, 0.0, 0.25}
    assert any((course.arms[-1] != np.arange(20)).any() for course in courses)


def test_worlds_of_other_changes_are_paired() -> None:
    plain = drawn()
    for other in ({"change": "swap"}, {"size": 1.0}, {"change": list(KINDS)}, {"notify": "full"}):
        env = drawn(**other)
        assert (env.episode.process.changes == plain.episode.process.changes).all()
        assert (env.episode.noise == plain.episode.noise).all()
    for other in ({"changes": 0}, {"changes": 7, "gap": 3}):
        assert (drawn(**other).episode.noise == plain.episode.noise).all()


@pytest.mark.parametrize(
    ("kwargs", "gap"), [({"changes": 4, "gap": 70, "horizon": 360}, 70), ({}, 400 // 6)]
)
def test_changes_keep_their_distance(kwargs: dict, gap: int) -> None:
    times = [drawn(seed, **kwargs).episode.process.changes for seed in range(30)]
    assert min(np.diff([0, *t, kwargs.get("horizon", 400)]).min() for t in times) >= gap
    assert len({tuple(t) for t in times}) > 15
    assert change_times(np.array([0.999, 0.0]), 100, 20).tolist() == [20, 80]


def test_notices_say_as_much_as_notify() -> None:
    plain = ("t", "cos_phase", "sin_phase")
    assert drawn().observation_fields == drawn(notify=None).observation_fields == plain
    env = drawn(notify="change")
    assert env.observation_fields == (*plain, "changed")
    notices = env.episode.observations[:, 3]
    assert np.flatnonzero(notices).tolist() == env.episode.process.changes.tolist()
    assert set(notices) == {0.0, 1.0}
    fields = {kind: drawn(change=kind, notify="full").observation_fields[4:] for kind in KINDS}
    assert fields == {
        "phase": ("cos_season", "sin_season"),
        "period": ("cos_season", "sin_season", "period_now"),
        "amplitude": ("amplitude_now",),
        "swap": tuple(f"arm_{i}" for i in range(20)),
    }


def test_full_notice_describes_the_season() -> None:
    env = drawn(5, change=list(KINDS), notify="full", n_actions=6, changes=5)
    assert env.public.context_dim == 11
    course = env.episode.process.course
    seen = dict(zip(env.observation_fields, env.episode.observations.T, strict=True))
    angle = np.arctan2(seen["sin_season"], seen["cos_season"]) / (2 * np.pi)
    np.testing.assert_allclose((angle - course.cycles + 0.5) % 1.0, 0.5, atol=1e-9)
    for name, start, actual in (
        ("period_now", 20.0, course.periods),
        ("amplitude_now", 1.0, course.amplitudes),
    ):
        np.testing.assert_allclose(start * (1 + seen[name]) / (1 - seen[name]), actual)
    arms = np.stack([(seen[f"arm_{i}"] + 1) * 5 / 2 for i in range(6)], axis=1)
    np.testing.assert_allclose(arms, course.arms, atol=1e-12)
    assert len(np.unique(course.periods)) > 1
    assert env.observation_space.contains(env.episode.observations[-1])
