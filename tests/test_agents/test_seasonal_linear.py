"""Linear bandits on harmonics, against their formulas by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest, norm

from agents.zoo.linear.seasonal_agent import SeasonFeatures
from tests.test_agents.playing import arms, clock, compared, fresh

PLAYS = [(0, 30.0), (1, 20.0), (2, 50.0), (0, 10.0), (1, 40.0), (0, 60.0), (2, 0.0), (0, 30.0)]
"""Arm and reward of each step."""
REWARDS = np.array([reward for _, reward in PLAYS])
NOW = 8.0


def make(text: str, n_arms: int = 3, seed: int = 0, **known: Any) -> Any:
    return fresh(text, arms(n_arms, **{"periods": (7.0,), **known}), seed)


def played(text: str, **known: Any) -> Any:
    agent = make(text, **known)
    for t, (arm, reward) in enumerate(PLAYS):
        agent.update(clock(t), arm, reward)
    return agent


def by_hand(rewards: np.ndarray, lam: float) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances now, from rewards as the models get them: two harmonics."""
    angle = 2 * math.pi * np.outer(np.arange(NOW + 1), [1, 2]) / 7
    waves = np.column_stack([np.ones(9), np.cos(angle), np.sin(angle)])
    moments = []
    for arm in range(3):
        pulls = [t for t, (chosen, _) in enumerate(PLAYS) if chosen == arm]
        z, now = waves[pulls], waves[8]
        inverse = np.linalg.inv(lam * np.eye(5) + z.T @ z)
        moments.append((now @ inverse @ z.T @ rewards[pulls], now @ inverse @ now))
    mean, variance = np.array(moments).T
    return mean, variance


def as_they_came() -> np.ndarray:
    """Each reward in deviations from the mean, of those up to it."""
    so_far = [REWARDS[: t + 1] for t in range(len(REWARDS))]
    return np.array([(y[-1] - y.mean()) / (y.std() or 1.0) for y in so_far])


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
    agent = played(f"linucb:harmonics=2,first_pulls=8{setting}")
    mean, variance = by_hand(as_they_came(), lam)
    expected = mean + alpha * np.sqrt(noise + variance)
    np.testing.assert_allclose(compared(agent, monkeypatch, NOW), expected, rtol=1e-10)


def test_linucb_uses_a_known_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mean 30 and deviation 5 = sqrt(3^2 + 4^2), and no choice at random."""
    agent = played("linucb:harmonics=2", noise_std=4.0, reward_scale=(30.0, 3.0))
    mean, variance = by_hand((REWARDS - 30.0) / 5.0, 1.0)
    expected = mean + np.sqrt(1.0 + variance)
    np.testing.assert_allclose(compared(agent, monkeypatch, NOW), expected, rtol=1e-10)


@pytest.mark.parametrize(("setting", "width"), [("", 1.0), (",width=0.25", 0.25)])
def test_fourier_linucb_has_the_width_of_its_ellipsoid(
    setting: str, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Features are sqrt(2) cos and sin, of norm sqrt(d), so that |z|^2 / d = 1 in the radius."""
    known = {"horizon": 100, "noise_std": 3.0, "reward_scale": (30.0, 4.0)}
    agent = played(f"fourier-linucb:period=7,harmonics=2,regulariser=0.5{setting}", **known)
    angle = 2 * math.pi * np.outer(np.arange(NOW + 1), [1, 2]) / 7
    waves = math.sqrt(2) * np.column_stack([np.full(9, 0.5**0.5), np.cos(angle), np.sin(angle)])
    expected = []
    for arm in range(3):
        pulls = [t for t, (chosen, _) in enumerate(PLAYS) if chosen == arm]
        z, now = waves[pulls], waves[8]
        inverse = np.linalg.inv(0.5 * np.eye(5) + z.T @ z)
        spread = math.sqrt(2 * math.log(100) + 5 * math.log(1 + len(pulls) / 0.5))
        radius = 3.0 * spread + math.sqrt(0.5) * 10.0  # twice the deviation of a reward
        mean = 30.0 + now @ inverse @ z.T @ (REWARDS[pulls] - 30.0)
        expected.append(mean + width * radius * math.sqrt(now @ inverse @ now))
    np.testing.assert_allclose(compared(agent, monkeypatch, NOW), expected, rtol=1e-10)


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_lints_draws_from_the_posterior(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kolmogorov-Smirnov on 2,000 draws of each arm: three false alarms in ten thousand."""
    agent = played(f"lints:harmonics=2,first_pulls=8,width={alpha}")
    mean, variance = by_hand(as_they_came(), 1.0)
    draws = np.array([compared(agent, monkeypatch, NOW) for _ in range(2000)])
    for arm in range(3):
        posterior = norm(mean[arm], alpha * math.sqrt(variance[arm]))
        assert kstest(draws[:, arm], posterior.cdf).pvalue > 1e-4
    assert abs(np.corrcoef(draws.T)[np.triu_indices(3, 1)]).max() < 0.1  # 4.5 deviations


@pytest.mark.parametrize("name", ["linucb", "lints"])
def test_linear_bandits_choose_ten_arms_at_random(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = [make(name, n_arms=1000, seed=seed) for seed in (0, 1)]
    for agent in agents:
        monkeypatch.setattr(agent, "best_of", lambda values: -1)
    for t in range(10):
        chosen = [agent.act(clock(t)) for agent in agents]
        assert -1 not in chosen
        assert chosen[0] != chosen[1]  # of a hundred pairs of seeds one would fail
        for agent, arm in zip(agents, chosen, strict=True):
            agent.update(clock(t), arm, float("nan"))  # not counted
            agent.update(clock(t), arm, 1.0 + t)
    assert [agent.act(clock(10)) for agent in agents] == [-1, -1]


def test_season_features_are_harmonics_of_all_seasons() -> None:
    """Three of a week; of a season of four steps only the first."""
    problem = arms(3, periods=(168.0, 4.0))
    features = SeasonFeatures(problem, None, 3)
    angles = 2 * np.pi * np.array([1 / 168, 2 / 168, 3 / 168, 1 / 4]) * 5.0
    expected = np.concatenate([[1.0], np.cos(angles), np.sin(angles)])
    np.testing.assert_allclose(features(5.0), expected, rtol=1e-12)
    assert SeasonFeatures(problem, 24.0, 3).dim == 7
