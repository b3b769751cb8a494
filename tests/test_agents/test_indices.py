"""The numbers that bandits compare, against the formulas of their docstrings by hand."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from tests.test_agents.playing import arms, clock, compared, fresh

SIGMA, MIDDLE, HALF = 0.6, 0.5, 2.0
"""Noise, and middle and half width of the interval of rewards, 0.5 -+ 2 sqrt(0.8^2 + 0.6^2)."""
B = 2.0 * SIGMA
PLAYS = [(0, 0.9), (1, 0.2), (2, 0.4), (0, 0.5), (1, 0.7), (0, 1.3), (2, -0.6), (0, 0.1)]
"""Arm and reward of each step."""
NOW = len(PLAYS)


def make(text: str, n_arms: int = 3, horizon: int = 100) -> Any:
    return fresh(text, arms(n_arms, horizon=horizon, noise_std=SIGMA, reward_scale=(MIDDLE, 0.8)))


def play(agent: Any, plays: list[tuple[int, float]] = PLAYS, late: bool = False) -> None:
    steps = list(enumerate(plays))
    for t, (arm, reward) in steps[3:] + steps[:3] if late else steps:
        agent.update(clock(t), arm, reward)


def rewards_of(arm: int, since: int = 0) -> list[float]:
    return [reward for a, reward in PLAYS[since:] if a == arm]


def upper(means: list[float], xi: float, steps: int, counts: tuple[int, ...]) -> list[float]:
    """Means plus B sqrt(xi log steps / n)."""
    widths = [B * math.sqrt(xi * math.log(steps) / n) for n in counts]
    return [mean + width for mean, width in zip(means, widths, strict=True)]


def linear_bounds(rewards: list[list[float]], lam: float, radius: float) -> list[float]:
    """Bounds of arms with unit vectors as features: ridge regression is a shrunk mean."""
    return [
        MIDDLE + sum(y - MIDDLE for y in ys) / (lam + len(ys)) + radius / math.sqrt(lam + len(ys))
        for ys in rewards
    ]


ALL, LAST = [0.7, 0.45, -0.1], [1.9 / 3, 0.7, -0.6]
"""Means of the arms, over all steps and over the last five."""


# 4 sqrt(T log T) is 7.26 for T = 3, so that the window of sw-ucb has 8 steps.
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("text", "horizon", "expected"),
    [
        ("ucb1", 100, upper(ALL, 2.0, 8, (4, 2, 2))),
        ("ucb1:xi=0.7", 100, upper(ALL, 0.7, 8, (4, 2, 2))),
        ("sw-ucb:window=5", 100, upper(LAST, 0.6, 5, (3, 1, 1))),
        ("sw-ucb:window=5,xi=2", 100, upper(LAST, 2.0, 5, (3, 1, 1))),
        ("sw-ucb", 3, upper(ALL, 0.6, 8, (4, 2, 2))),
    ],
)
def test_ucb_adds_its_width_to_the_mean(
    text: str, horizon: int, expected: list[float], late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make(text, horizon=horizon)
    play(agent, late=late)
    if horizon == 3:
        agent.act(clock(NOW))
        agent.update(clock(-1), 2, 9.0)  # too late for this window
    assert compared(agent, monkeypatch, NOW) == pytest.approx(expected)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("text", "gamma", "xi"),
    [
        ("d-ucb:gamma=0.8", 0.8, 0.6),
        ("d-ucb:gamma=0.8,xi=1.5", 0.8, 1.5),
        ("d-ucb", 0.875, 0.6),  # 1 - sqrt(1 / T) / 4 for T = 4
    ],
)
def test_d_ucb_discounts_by_age(
    text: str, gamma: float, xi: float, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make(text, horizon=4)
    play(agent, late=late)
    arm, reward = np.array(PLAYS).T
    weight = np.eye(3)[arm.astype(int)].T * gamma ** (NOW - 1 - np.arange(NOW))
    count = weight.sum(axis=1)
    width = 2.0 * B * np.sqrt(xi * math.log(count.sum()) / count)
    expected = weight @ reward / count + width
    assert compared(agent, monkeypatch, NOW) == pytest.approx(expected)


def test_ucb_air_uses_variances(monkeypatch: pytest.MonkeyPatch) -> None:
    """The decision is at t = 9."""
    agent = make("ucb-air")
    play(agent)
    e, rewards = 2.0 * math.log(10.0 * math.log(9)), [np.array(rewards_of(a)) for a in range(3)]
    expected = [
        y.mean() + math.sqrt(2.0 * y.var() * e / len(y)) + 3.0 * B * e / len(y) for y in rewards
    ]
    assert compared(agent, monkeypatch, NOW) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("setting", "horizon", "delta", "width"),
    [
        (",window=5,delta=0.05", 100, 0.05, 1.0),
        (",window=5,width=0.5", 100, 0.01, 0.5),
        ("", 4, 1 / 4, 1.0),  # (d T / B)^(2/3) is 12^(2/3) = 5.2, and delta 1 / T
        (",variation=3", 12, 1 / 12, 1.0),
    ],
)
def test_sw_linucb_forgets_outside_its_window(
    setting: str, horizon: int, delta: float, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window of five steps, given or by the formula."""
    agent = make("sw-linucb:regulariser=0.3,bound=1.5" + setting, horizon=horizon)
    play(agent)
    noise = SIGMA * math.sqrt(3 * math.log((1 + 5 / 0.3) / delta))
    radius = noise + math.sqrt(0.3) * 1.5 * HALF
    expected = linear_bounds([rewards_of(arm, 3) for arm in range(3)], 0.3, width * radius)
    assert compared(agent, monkeypatch, NOW) == pytest.approx(expected)


def test_bob_weighs_windows_by_their_rewards() -> None:
    """T = 1000 and d = 3: H = 94, D = 5; a block of good, one of bad and one of middling rewards.

    The first block's window is drawn at 1 / 6, the later ones by the weights.
    """
    agent, h = make("bob", horizon=1000), 94
    gamma = math.sqrt(6 * math.log(6) / ((math.e - 1) * 11))
    reach = 2 * h + 4 * SIGMA / HALF * math.sqrt(h * math.log(1000 / math.sqrt(h)))
    log_weight, rises = np.zeros(6), []
    for block, reward in enumerate((2.5, -1.5, 0.9)):
        for t in range(block * h, (block + 1) * h):
            arm = agent.act(clock(t))
            agent.update(clock(t), arm, reward)
        chosen = agent._chosen
        assert agent.window == [1, 2, 6, 15, 37, 94][chosen]
        weight = np.exp(log_weight)
        chance = (1 - gamma) * weight[chosen] / weight.sum() + gamma / 6
        share = 0.5 + h * (reward - MIDDLE) / HALF / reach
        rises.append(gamma / (6 * chance) * share)
        log_weight[chosen] += rises[-1]
        agent.act(clock((block + 1) * h))
        assert agent._log_weight == pytest.approx(log_weight)
    assert rises[0] > rises[2] > rises[1] > 0


@pytest.mark.parametrize(("fails", "leader"), [(6, 1), (10, 0)])
def test_dlinucb_pool_follows_the_leader(
    fails: int, leader: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long record without a failure, or half as long a one with some: by e - sqrt(log tau) b."""
    agent, other = make("dlinucb-pool"), make("dlinucb-pool")
    play(agent)
    play(other, PLAYS[3:])
    agent.slaves += other.slaves
    agent.slaves[0].failed = np.zeros(100)
    agent.slaves[1].failed = np.repeat([1.0, 0.0], [fails, 50 - fails])
    reach = [math.sqrt(math.log(1 / 0.01) / (2 * n)) for n in (100, 50)]
    hope = math.sqrt(math.log(200))
    assert leader == int(0.0 - hope * reach[0] > fails / 50 - hope * reach[1])
    rewards, lam = [rewards_of(arm, since=3 * leader) for arm in range(3)], 0.1
    n = sum(len(ys) for ys in rewards)
    noise = SIGMA * math.sqrt(2 * math.log(1 / 0.01) + 3 * math.log(1 + n / (3 * lam)))
    expected = linear_bounds(rewards, lam, noise + math.sqrt(lam) * HALF)
    assert compared(agent, monkeypatch, NOW) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("fails", "old", "fresh"),
    [(49, True, False), (50, True, True), (57, True, True), (58, False, True)],
)
def test_dlinucb_pool_dismisses_and_adds_by_its_two_thresholds(
    fails: int, old: bool, fresh: bool
) -> None:
    """With 1,000 on record b = 0.0480: a fresh slave from 0.0500 on, the old one goes at 0.0580."""
    reach = math.sqrt(math.log(1 / 0.01) / 2000)
    assert 0.048 > reach > 0.0479
    agent = make("dlinucb-pool:record=1000")
    (slave,) = agent.slaves
    slave.failed = np.repeat([0.0, 1.0], [1000 - fails, fails])
    agent.update(clock(0), 0, MIDDLE)  # as foreseen: no failure
    assert (slave.failed.sum(), slave in agent.slaves) == (fails, old)
    assert len(agent.slaves) == old + fresh


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("factor", "fails"), [(0.999, False), (1.001, True)])
def test_dlinucb_pool_fails_a_slave_beyond_its_bound(sign: int, factor: float, fails: bool) -> None:
    """|x| = 1 / sqrt(lam) for a fresh slave; eps leaves one in a hundred of the noise outside."""
    agent, lam = make("dlinucb-pool"), 0.1
    radius = SIGMA * math.sqrt(2 * math.log(1 / 0.01)) + math.sqrt(lam) * HALF
    bound = radius / math.sqrt(lam) + SIGMA * NormalDist().inv_cdf(0.995)
    (slave,) = agent.slaves
    agent.update(clock(0), 1, MIDDLE + sign * factor * bound)
    assert slave.failed.tolist() == [fails]
    assert slave.ridge.squared_weights == (0.0 if fails else 1.0)  # learned from, unless it fails


@pytest.mark.parametrize(("factor", "good"), [(0.99, True), (1.01, False)])
def test_adswitch_drops_an_arm_at_its_gap(factor: float, good: bool) -> None:
    """Two arms in turn, three times each."""
    agent = make("adswitch", n_arms=2)
    play(agent, [(0, factor * B * math.sqrt(math.log(100) / 2)), (1, 0.0)] * 3)
    assert (list(agent._good), agent.episode) == ([True, good], 1)


@pytest.mark.parametrize("arm", [0, 1])
@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.parametrize(("factor", "episode"), [(0.99, 1), (1.01, 2), (-0.99, 1), (-1.01, 2)])
def test_adswitch_detects_changes(arm: int, plays: int, factor: float, episode: int) -> None:
    """Test 3 for a good arm after five rewards of 0, and test 4 for one that was dropped at 0."""
    agent = make("adswitch", n_arms=2)
    play(agent, [(0, 10.0), (1, 0.0)] * 3 if arm else [(0, 0.0)] * 5)
    five, some = (B * math.sqrt(2 * math.log(100) / n) for n in (5, plays))
    for i in range(plays):
        assert agent.episode == 1
        agent.update(clock(6 + i), arm, factor * (some + (10.0 / 4 if arm else five)))
    assert agent.episode == episode
