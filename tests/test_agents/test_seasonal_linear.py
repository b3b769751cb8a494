"""LinUCB and linear Thompson sampling on harmonics, against their formulas by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from scipy.stats import kstest, norm

from agents import Problem, make_agent
from agents.zoo.linear.seasonal_agent import SeasonFeatures

PLAYS = [(0, 30.0), (1, 20.0), (2, 50.0), (0, 10.0), (1, 40.0), (0, 60.0), (2, 0.0), (0, 30.0)]
"""Arm and reward of each step."""
NOW = 8.0


def clock(t: float) -> np.ndarray:
    return np.array([t])


def make(text: str, n_arms: int = 3, seed: int = 0, **known: Any) -> Any:
    problem = Problem(
        spaces.Discrete(n_arms), spaces.Box(0.0, np.inf, (1,)), **{"periods": (7.0,), **known}
    )
    return make_agent(text, problem, np.random.default_rng(seed))


def play(agent: Any) -> None:
    for t, (arm, reward) in enumerate(PLAYS):
        agent.update(clock(float(t)), arm, reward)


def waves(t: float) -> np.ndarray:
    """Two harmonics of a week, of amplitude 1."""
    angle = 2 * math.pi * t / 7
    cosines, sines = ([f(angle), f(2 * angle)] for f in (math.cos, math.sin))
    return np.array([1.0, *cosines, *sines])


def by_hand(rewards: list[float], lam: float) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances now, from rewards as the models got them."""
    now, found = waves(NOW), []
    for arm in range(3):
        times = [t for t, (chosen, _) in enumerate(PLAYS) if chosen == arm]
        z = np.array([waves(t) for t in times])
        inverse = np.linalg.inv(lam * np.eye(5) + z.T @ z)
        y = np.array([rewards[t] for t in times])
        found.append((now @ inverse @ z.T @ y, now @ inverse @ now))
    mean, variance = np.array(found).T
    return mean, variance


def as_they_came() -> list[float]:
    """Each reward in deviations from the mean, of those up to it."""
    rewards, found = [reward for _, reward in PLAYS], []
    for t in range(len(rewards)):
        so_far = np.array(rewards[: t + 1])
        found.append(float((so_far[-1] - so_far.mean()) / (so_far.std() or 1.0)))
    assert found[:2] == [0.0, -1.0]
    return found


def scores(agent: Any, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """The values of which the agent takes the greatest now."""
    seen: list[np.ndarray] = []
    with monkeypatch.context() as patch:
        patch.setattr(agent, "best_of", lambda values: seen.append(values) or 0)
        agent.act(clock(NOW))
    return seen[0]


@pytest.mark.parametrize(
    ("setting", "lam", "alpha", "noise"),
    [
        ("", 1.0, 1.0, 1.0),
        (",noise=0", 1.0, 1.0, 0.0),  # as printed in the paper
        (",regulariser=0.5,width=0.3,noise=2", 0.5, 0.3, 2.0),
    ],
)
def test_linucb_has_a_constant_width(
    setting: str, lam: float, alpha: float, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make(f"linucb:harmonics=2,first_pulls=8{setting}")
    play(agent)
    mean, variance = by_hand(as_they_came(), lam)
    expected = mean + alpha * np.sqrt(noise + variance)
    np.testing.assert_allclose(scores(agent, monkeypatch), expected, rtol=1e-10)


def test_a_told_scale_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mean 30 and deviation 5 = sqrt(3^2 + 4^2), and no choice at random."""
    agent = make("linucb:harmonics=2", noise_std=4.0, reward_scale=(30.0, 3.0))
    play(agent)
    mean, variance = by_hand([(reward - 30.0) / 5.0 for _, reward in PLAYS], 1.0)
    expected = mean + np.sqrt(1.0 + variance)
    np.testing.assert_allclose(scores(agent, monkeypatch), expected, rtol=1e-10)


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_lints_draws_from_the_posterior(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kolmogorov-Smirnov on 2,000 draws of each arm: three false alarms in ten thousand."""
    agent = make(f"lints:harmonics=2,first_pulls=8,width={alpha}")
    play(agent)
    mean, variance = by_hand(as_they_came(), 1.0)
    draws = np.array([scores(agent, monkeypatch) for _ in range(2000)])
    for arm in range(3):
        posterior = norm(mean[arm], alpha * math.sqrt(variance[arm]))
        assert kstest(draws[:, arm], posterior.cdf).pvalue > 1e-4
    assert abs(np.corrcoef(draws.T)[np.triu_indices(3, 1)]).max() < 0.1  # 4.5 deviations


@pytest.mark.parametrize("name", ["linucb", "lints"])
def test_the_first_ten_rewards_are_of_random_arms(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = [make(name, n_arms=1000, seed=seed) for seed in (0, 1)]
    for agent in agents:
        monkeypatch.setattr(agent, "best_of", lambda values: -1)
    for t in range(10):
        chosen = [agent.act(clock(float(t))) for agent in agents]
        assert -1 not in chosen
        assert chosen[0] != chosen[1]  # of a hundred pairs of seeds one would fail
        for agent, arm in zip(agents, chosen, strict=True):
            agent.update(clock(float(t)), arm, float("nan"))  # no news: still nothing is known
            agent.update(clock(float(t)), arm, 1.0 + t)
    assert [agent.act(clock(10.0)) for agent in agents] == [-1, -1]


def test_untried_arms_are_chosen_at_random() -> None:
    """37 of 40 arms are untried and tie to the last bit, at any time."""
    agent = make("linucb:first_pulls=8,regulariser=0.3", n_arms=40, periods=(168.0, 24.0))
    play(agent)
    for t in np.linspace(8.0, 500.0, 50):
        mean, deviation = agent._table.predict(agent.features(t))
        assert len(set(mean[3:])) == len(set(deviation[3:])) == 1
    for arm in range(3):
        agent.update(clock(8.0), arm, -1e6)
    chosen = {agent.act(clock(9.0)) for _ in range(100)}
    # 37 equally likely arms: fewer than 25 different ones in 100 draws less than once in 10^6.
    assert len(chosen) >= 25
    assert not chosen & {0, 1, 2}


def test_harmonics_of_all_seasons() -> None:
    """Three of a week; of a season of four steps only the first."""
    problem = make("linucb", periods=(168.0, 4.0))._problem
    features = SeasonFeatures(problem, None, 3)
    assert features.dim == 9
    frequencies = np.array([1 / 168, 2 / 168, 3 / 168, 1 / 4])
    angles = 2 * np.pi * frequencies * 5.0
    expected = np.concatenate([[1.0], np.cos(angles), np.sin(angles)])
    np.testing.assert_allclose(features(5.0), expected, rtol=1e-12)
    assert SeasonFeatures(problem, 24.0, 3).dim == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("linucb:noise=-1", "noise must be finite and not negative"),
        ("linucb:width=-1", "width must be finite and not negative"),
        ("linucb:regulariser=0", "regulariser must be positive"),
        ("linucb:harmonics=0", "harmonics must be a whole number"),
        ("lints:first_pulls=-1", "first_pulls must be finite and not negative"),
        ("lints:period=0", "period must be positive"),
        ("lints:noise=1", "noise"),
    ],
)
def test_bad_settings(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(text)


def test_a_season_must_be_known() -> None:
    with pytest.raises(ValueError, match="needs a period"):
        make("linucb", periods=())
