"""Rewards that come late, or never."""

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from periodic_envs import DelayedReward

WORLD = "PeriodicGP-SyntheticDiscrete-v0"


def played(seed: int = 0, world: str = WORLD, **delay: Any) -> tuple[list[float], list[Any]]:
    """The rewards that the steps return, and what arrived in each, for actions by turns."""
    env = DelayedReward(gym.make(world), **delay)
    env.reset(seed=seed)
    rewards, arrived, truncated, step = [], [], False, 0
    while not truncated:
        _, reward, _, truncated, info = env.step(step % 3)
        rewards.append(float(reward))
        arrived.append(info["arrived"])
        step += 1
    return rewards, arrived


def test_without_delay_nothing_changes() -> None:
    env = gym.make(WORLD)
    env.reset(seed=0)
    plain = [float(env.step(step % 3)[1]) for step in range(200)]
    rewards, arrived = played()
    assert rewards == plain
    assert [[(t, t % 3, plain[t])] for t in range(200)] == arrived


def test_a_fixed_delay_shifts_rewards_and_the_last_are_not_seen() -> None:
    plain, _ = played()
    rewards, arrived = played(delay=5)
    assert rewards[:5] == [0.0] * 5
    assert rewards[5:] == plain[:-5]
    assert arrived[:5] == [[]] * 5
    assert arrived[5] == [(0, 0, plain[0])]


def test_random_delays_are_bounded_and_in_the_order_of_arrival() -> None:
    plain, _ = played()
    rewards, arrived = played(delay=1, random=4)
    late = [now - t for now, each in enumerate(arrived) for t, _, _ in each]
    assert set(late) == {1, 2, 3, 4, 5}
    for each, reward in zip(arrived, rewards, strict=True):
        assert [t for t, *_ in each] == sorted(t for t, *_ in each)
        assert reward == pytest.approx(sum(gained for *_, gained in each))
        assert all(gained == plain[t] for t, _, gained in each)
    assert any(len(each) > 1 for each in arrived)


def test_a_share_is_lost() -> None:
    _, arrived = played(lost=0.2)
    share = 1.0 - sum(map(len, arrived)) / 200
    assert 0.1 < share < 0.3  # 3.5 standard deviations
    assert sum(played(lost=1.0)[0]) == 0.0


def test_delays_are_fixed_by_the_seed() -> None:
    assert played(3, random=5, lost=0.1) == played(3, random=5, lost=0.1)
    assert played(3, random=5)[1] != played(4, random=5)[1]


def test_what_is_under_way_is_counted_and_forgotten_at_a_reset() -> None:
    env = DelayedReward(gym.make(WORLD), delay=3)
    env.reset(seed=0)
    assert [env.step(0)[4]["open"] for _ in range(5)] == [1, 2, 3, 3, 3]
    env.reset(seed=0)
    assert env.step(0)[4]["open"] == 1


@pytest.mark.parametrize("world", [WORLD, "PeriodicGP-Synthetic-v0"])
def test_gymnasium_is_content(world: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a wrapped environment is noted
        check_env(DelayedReward(gym.make(world).unwrapped, delay=2, random=3, lost=0.1))


def test_an_action_that_is_changed_later_is_kept_as_it_was() -> None:
    env = DelayedReward(gym.make("PeriodicGP-Synthetic-v0"), delay=1)
    env.reset(seed=0)
    action = np.array([0.5], dtype=np.float32)
    env.step(action)
    action[:] = -1.0
    assert env.step(action)[4]["arrived"][0][1] == 0.5


@pytest.mark.parametrize("wrong", [{"delay": -1}, {"random": 1.5}, {"lost": 1.1}, {"lost": "x"}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DelayedReward(gym.make(WORLD), **wrong)
