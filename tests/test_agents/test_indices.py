"""The numbers that bandits compare, against the formulas of their docstrings by hand."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from agents import Problem, make_agent

SIGMA, MIDDLE, HALF = 0.6, 0.5, 2.0
"""Of the noise; of the interval of rewards, 0.5 -+ 2 sqrt(0.8^2 + 0.6^2), middle and half width."""
B = 2.0 * SIGMA
PLAYS = [(0, 0.9), (1, 0.2), (2, 0.4), (0, 0.5), (1, 0.7), (0, 1.3), (2, -0.6), (0, 0.1)]
"""Arm and reward of each step."""
NOW = len(PLAYS)


def clock(t: float) -> np.ndarray:
    return np.array([float(t)])


def make(text: str, n_arms: int = 3, horizon: int = 100) -> Any:
    problem = Problem(
        spaces.Discrete(n_arms),
        spaces.Box(0.0, np.inf, (1,)),
        horizon=horizon,
        noise_std=SIGMA,
        reward_scale=(MIDDLE, 0.8),
    )
    return make_agent(text, problem, np.random.default_rng(0))


def play(agent: Any, plays: list[tuple[int, float]] = PLAYS) -> None:
    for t, (arm, reward) in enumerate(plays):
        agent.update(clock(t), arm, reward)


def compared(agent: Any, monkeypatch: pytest.MonkeyPatch, t: float = NOW) -> list[float]:
    """The values of which the agent takes the greatest at time t."""
    seen: list[list[float]] = []
    best_of = agent.best_of

    def spy(values: Any) -> int:
        seen.append([float(value) for value in values])
        return int(best_of(values))

    with monkeypatch.context() as patch:
        patch.setattr(agent, "best_of", spy)
        arm = agent.act(clock(t))
    assert len(seen) == 1
    assert arm == int(np.argmax(seen[0]))
    return seen[0]


def rewards_of(arm: int, since: int = 0) -> list[float]:
    return [reward for a, reward in PLAYS[since:] if a == arm]


def linear_bounds(rewards: list[list[float]], lam: float, radius: float) -> list[float]:
    """Of arms with unit vectors as features, where ridge regression is a shrunk mean."""
    return [
        MIDDLE + sum(y - MIDDLE for y in ys) / (lam + len(ys)) + radius / math.sqrt(lam + len(ys))
        for ys in rewards
    ]


@pytest.mark.parametrize(("text", "xi"), [("ucb1", 2.0), ("ucb1:xi=0.7", 0.7)])
def test_ucb1(text: str, xi: float, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = make(text)
    play(agent)
    width = [B * math.sqrt(xi * math.log(8) / n) for n in (4, 2, 2)]
    expected = [0.7 + width[0], 0.45 + width[1], -0.1 + width[2]]
    assert compared(agent, monkeypatch) == pytest.approx(expected)


@pytest.mark.parametrize(("text", "xi"), [("sw-ucb:window=5", 0.6), ("sw-ucb:window=5,xi=2", 2.0)])
def test_sw_ucb(text: str, xi: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last five steps have 0.5, 1.3 and 0.1 of arm 0, 0.7 of arm 1 and -0.6 of arm 2."""
    agent = make(text)
    play(agent)
    width = [B * math.sqrt(xi * math.log(5) / n) for n in (3, 1, 1)]
    expected = [1.9 / 3 + width[0], 0.7 + width[1], -0.6 + width[2]]
    assert compared(agent, monkeypatch) == pytest.approx(expected)


def test_sw_ucb_has_the_window_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """4 sqrt(T log T) is 7.26 for T = 3, so that 8 steps are kept: all but the first."""
    agent = make("sw-ucb", horizon=3)
    play(agent, [(2, 9.0), *PLAYS])
    width = [B * math.sqrt(0.6 * math.log(8) / n) for n in (4, 2, 2)]
    expected = [0.7 + width[0], 0.45 + width[1], -0.1 + width[2]]
    assert compared(agent, monkeypatch, NOW + 1) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "gamma", "xi"),
    [
        ("d-ucb:gamma=0.8", 0.8, 0.6),
        ("d-ucb:gamma=0.8,xi=1.5", 0.8, 1.5),
        ("d-ucb", 0.875, 0.6),  # 1 - sqrt(1 / T) / 4 for T = 4
    ],
)
def test_d_ucb(text: str, gamma: float, xi: float, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = make(text, horizon=4)
    play(agent)
    count, total = [0.0] * 3, [0.0] * 3
    for t, (arm, reward) in enumerate(PLAYS):
        count[arm] += gamma ** (NOW - 1 - t)
        total[arm] += gamma ** (NOW - 1 - t) * reward
    spread = [2.0 * B * math.sqrt(xi * math.log(sum(count)) / n) for n in count]
    expected = [y / n + s for y, n, s in zip(total, count, spread, strict=True)]
    assert compared(agent, monkeypatch) == pytest.approx(expected)


def test_ucb_air(monkeypatch: pytest.MonkeyPatch) -> None:
    """t = 9 is the step that is decided."""
    agent = make("ucb-air")
    play(agent)
    e = 2.0 * math.log(10.0 * math.log(9))
    expected = []
    for arm in range(3):
        ys = rewards_of(arm)
        mean = sum(ys) / len(ys)
        variance = sum((y - mean) ** 2 for y in ys) / len(ys)
        expected.append(mean + math.sqrt(2.0 * variance * e / len(ys)) + 3.0 * B * e / len(ys))
    assert compared(agent, monkeypatch) == pytest.approx(expected)


@pytest.mark.parametrize(("beta", "power"), [(0.5, 0.25), (1.0, 0.5), (3.0, 0.75)])
def test_ucb_air_draws_an_arm_when_the_rule_says(beta: float, power: float) -> None:
    agent, drawn = make(f"ucb-air:beta={beta}", n_arms=50), set()
    for t in range(1, 31):
        fresh = len(drawn) < t**power
        arm = agent.act(clock(t))
        assert (arm not in drawn) == fresh
        drawn.add(arm)
        agent.update(clock(t), arm, 0.1 * (t % 3))


@pytest.mark.parametrize(
    ("setting", "horizon", "delta", "width"),
    [
        (",window=5,delta=0.05", 100, 0.05, 1.0),
        (",window=5,width=0.5", 100, 0.01, 0.5),
        ("", 4, 1 / 4, 1.0),  # (d T / B)^(2/3) is 12^(2/3) = 5.2, and delta 1 / T
        (",variation=3", 12, 1 / 12, 1.0),
    ],
)
def test_sw_linucb(
    setting: str, horizon: int, delta: float, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window of five steps, given or by the formula."""
    agent = make("sw-linucb:regulariser=0.3,bound=1.5" + setting, horizon=horizon)
    play(agent)
    noise = SIGMA * math.sqrt(3 * math.log((1 + 5 / 0.3) / delta))
    radius = noise + math.sqrt(0.3) * 1.5 * HALF
    expected = linear_bounds([rewards_of(arm, 3) for arm in range(3)], 0.3, width * radius)
    assert compared(agent, monkeypatch) == pytest.approx(expected)


@pytest.mark.parametrize(("setting", "width"), [("", 1.0), (",width=0.25", 0.25)])
def test_fourier_linucb(setting: str, width: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Features of norm sqrt(d), so that |z|^2 / d = 1 in the radius."""
    agent, lam = make("fourier-linucb:period=7,harmonics=2,regulariser=0.5" + setting), 0.5
    play(agent)

    def waves(t: float) -> np.ndarray:
        angle, root = 2 * math.pi * t / 7, math.sqrt(2)
        cosines = [root * math.cos(angle), root * math.cos(2 * angle)]
        return np.array([1.0, *cosines, root * math.sin(angle), root * math.sin(2 * angle)])

    now, expected = waves(NOW), []
    assert float(now @ now) == pytest.approx(5.0)
    for arm in range(3):
        times = [t for t, (a, _) in enumerate(PLAYS) if a == arm]
        z = np.array([waves(t) for t in times])
        inverse = np.linalg.inv(lam * np.eye(5) + z.T @ z)
        mean = MIDDLE + now @ inverse @ z.T @ (np.array(rewards_of(arm)) - MIDDLE)
        r = math.sqrt(2 * math.log(100) + 5 * math.log(1 + len(times) / lam))
        radius = SIGMA * r + math.sqrt(lam) * HALF
        expected.append(float(mean + width * radius * math.sqrt(now @ inverse @ now)))
    assert compared(agent, monkeypatch) == pytest.approx(expected)


def test_bob() -> None:
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


def test_bob_draws_evenly_in_a_short_run() -> None:
    """T = 100 and d = 3: H = 30, D = 4 and four blocks, so that 5 log 5 / (4 (e - 1)) > 1 = gamma.

    Then the weights do not matter, and a window's rises by its share of a block.
    """
    agent, h = make("bob", horizon=100), 30
    assert 5 * math.log(5) / (4 * (math.e - 1)) > 1
    for t in range(h + 1):
        agent.update(clock(t), agent.act(clock(t)), 1.7)
    reach = 2 * h + 4 * SIGMA / HALF * math.sqrt(h * math.log(100 / math.sqrt(h)))
    assert sorted(agent._log_weight)[:-1] == [0.0] * 4
    assert max(agent._log_weight) == pytest.approx(0.5 + h * (1.7 - MIDDLE) / HALF / reach)
    assert agent._probabilities() == pytest.approx([0.2] * 5)


@pytest.mark.parametrize(("fails", "leader"), [(6, 1), (10, 0)])
def test_dlinucb_pool(fails: int, leader: int, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert compared(agent, monkeypatch) == pytest.approx(expected)


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
    assert slave.failed.sum() == fails
    assert (slave in agent.slaves) == old
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


def adswitch_after(gap: float) -> Any:
    """Two arms in turn, three times each; the second is worse by ``gap``."""
    agent = make("adswitch", n_arms=2)
    play(agent, [(0, gap), (1, 0.0)] * 3)
    return agent


@pytest.mark.parametrize(("factor", "good"), [(0.99, True), (1.01, False)])
def test_adswitch_drops_an_arm_at_the_gap_of_the_formula(factor: float, good: bool) -> None:
    agent = adswitch_after(factor * B * math.sqrt(math.log(100) / 2))
    assert list(agent._good) == [True, good]
    assert agent.episode == 1


@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.parametrize(("factor", "episode"), [(0.99, 1), (1.01, 2), (-0.99, 1), (-1.01, 2)])
def test_adswitch_takes_a_bad_arm_for_changed_by_test_4(
    plays: int, factor: float, episode: int
) -> None:
    """The dropped arm had mean 0; it now gives the same reward one or two times."""
    gap = 10.0
    agent = adswitch_after(gap)
    assert list(agent._good) == [True, False]
    reward = factor * (gap / 4 + B * math.sqrt(2 * math.log(100) / plays))
    for i in range(plays):
        assert agent.episode == 1
        agent.update(clock(6 + i), 1, reward)
    assert agent.episode == episode


@pytest.mark.parametrize("plays", [1, 2, 3])
@pytest.mark.parametrize(("factor", "episode"), [(0.99, 1), (1.01, 2), (-0.99, 1), (-1.01, 2)])
def test_adswitch_takes_a_good_arm_for_changed_by_test_3(
    plays: int, factor: float, episode: int
) -> None:
    """Five rewards of 0, then some of the same other one: radii of the five and of the others."""
    agent = make("adswitch", n_arms=2)
    play(agent, [(0, 0.0)] * 5)
    radii = [B * math.sqrt(2 * math.log(100) / n) for n in (5, plays)]
    for i in range(plays):
        assert agent.episode == 1
        agent.update(clock(5 + i), 0, factor * sum(radii))
    assert agent.episode == episode
