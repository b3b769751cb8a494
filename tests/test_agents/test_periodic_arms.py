"""Agents for arms that repeat: their formulas, and the worlds that their papers make them for."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from agents.testing import observe
from agents.zoo.arms.fourier_period_ucb import estimate_period
from agents.zoo.arms.ramanujan_ucb import ramanujan_sum
from tests.test_agents.playing import arms, clock, fresh, played, uniform


def waves(periods: list[float], steps: int) -> np.ndarray:
    """Mean rewards (steps, arms): a sine for every arm, each a third of a turn further."""
    t = np.arange(steps)
    return np.stack([np.sin(2 * np.pi * (t / p + i / 3)) for i, p in enumerate(periods)], axis=1)


def three_arms(text: str) -> Any:
    return fresh(text, arms(3, horizon=50, noise_std=0.1, reward_scale=(0.0, 0.7)))


@pytest.mark.parametrize(
    ("text", "periods", "bound"),
    [
        ("phase-ts:period=6", [6, 6, 6], 0.1),
        ("phase-ucb:period=6", [6, 6, 6], 0.1),
        ("fourier-linucb:period=6", [6, 6, 6], 0.15),
        ("linucb:period=6", [6, 6, 6], 0.1),
        ("lints:period=6", [6, 6, 6], 0.15),
        ("fourier-period-ucb", [4, 6, 5], 0.1),
        ("ramanujan-ucb:max_period=12", [4, 6, 5], 0.5),
        ("periodic-exp4:max_period=6", [6, 6, 6], 0.45),
    ],
)
def test_periodic_bandits_learn_seasons(text: str, periods: list[float], bound: float) -> None:
    """Regret over the second half of 1,000 steps, as a share of uniform choice's.

    The mean of two seeds. Twelve others (mean, deviation): phase-ts, phase-ucb, linucb and
    fourier-period-ucb 0.00, 0.00; lints 0.01, 0.00; fourier-linucb 0.02, 0.00; ramanujan-ucb 0.18,
    0.07; periodic-exp4 0.27, 0.03.
    Every bound is more than six deviations of a mean of two above.
    """
    means = waves(periods, 1000)
    lost = np.mean([played(text, means, seed, 0.3)[0] for seed in range(2)], axis=0)
    assert lost[500:].mean() < bound * uniform(means).mean()


def test_phase_ts_draws_from_the_posterior() -> None:
    """The one of the textbook, at the phase that was asked for."""
    agent = fresh("phase-ts", "arms")
    for reward in (0.5, 1.0):
        agent.update(observe(7.0), 2, reward)
    draws = np.array([agent.act(observe(1.0)) for _ in range(400)])
    prior, noise = 1.0 + 0.01, 0.01  # the square of a quarter of the interval; the noise's
    variance = 1 / (1 / prior + 2 / noise)
    # Four arms are at the prior: arm 2 wins if its mean exceeds the largest of them.
    chance = norm.cdf(variance * 1.5 / noise / np.sqrt(prior)) ** 4
    # Four deviations of 400 draws: one false alarm in 16,000.
    assert abs((draws == 2).mean() - chance) < 4 * np.sqrt(chance * (1 - chance) / 400)


def test_periodic_exp4_sums_over_all_experts() -> None:
    """Against EXP4 with the experts written out: all choices of an arm for each phase.

    Rewards come three steps late and are weighed by the probability at their decision.
    """
    agent, rng = three_arms("periodic-exp4:max_period=3,gamma=0.5"), np.random.default_rng(1)
    experts = [rule for period in (1, 2, 3) for rule in product(range(3), repeat=period)]
    log_weight, waiting = np.zeros(len(experts)), []
    for t in range(20):
        advice = np.array([rule[t % len(rule)] for rule in experts])
        weight = np.exp(log_weight)
        chance = np.array([weight[advice == a].sum() for a in range(3)]) / weight.sum()
        np.testing.assert_allclose(agent.probabilities(float(t)), chance, rtol=1e-9)
        arm = agent.act(clock(t))
        waiting.append((t, arm, advice == arm, chance[arm]))
        if t >= 3:
            then, arm, followers, probability = waiting.pop(0)
            reward = float(rng.uniform(-1, 1))
            log_weight[followers] += 0.5 * agent.scale.unit(reward) / (3 * probability)
            agent.update(clock(then), arm, reward)


def test_ramanujan_features_span_every_period() -> None:
    assert ramanujan_sum(6).tolist() == [2.0, 1.0, -1.0, -2.0, -1.0, 1.0]
    agent = fresh("ramanujan-ucb:max_period=7", "arms")
    table = np.array([agent.features(float(t)) for t in range(420)])
    assert table.shape[1] == sum([1, 1, 2, 2, 4, 2, 6])
    for period in range(1, 8):
        signal = np.resize(np.random.default_rng(period).normal(size=period), 420)
        fitted = table @ np.linalg.lstsq(table, signal, rcond=None)[0]
        np.testing.assert_allclose(fitted, signal, atol=1e-8)


@pytest.mark.parametrize(("period", "n"), [(2, 20), (5, 40), (7, 40), (12, 60), (24, 100)])
def test_estimate_period_finds_it(period: int, n: int) -> None:
    rng = np.random.default_rng(period)
    season = np.sin(2 * np.pi * np.arange(period) / period + 0.4)
    season += 0.5 * np.cos(4 * np.pi * np.arange(period) / period)
    t = np.arange(100, 100 + n)
    y = 3.0 + season[t % period] + rng.normal(0, 0.2, n)
    assert estimate_period(t.astype(float), y, sigma=0.2) == period


def test_estimate_period_finds_none_in_noise() -> None:
    """At most one in twenty by a union bound: of 200, more than 20 with probability 4e-4."""
    rng, t = np.random.default_rng(0), np.arange(40.0)
    periods = [estimate_period(t, rng.normal(1.0, 0.5, 40), sigma=0.5) for _ in range(200)]
    assert sum(period > 1 for period in periods) <= 20
    assert estimate_period(t[:3], t[:3], sigma=0.5) == estimate_period(t, t, sigma=0.0) == 1


def test_fourier_period_ucb_plays_in_turn_and_then_knows_periods() -> None:
    means = waves([4, 6, 5], 120)
    lost, agent = played("fourier-period-ucb:stage_one=30", means, noise=0.2)
    in_turn = means[np.arange(90), np.repeat(range(3), 30)]
    np.testing.assert_allclose(lost[:90], means[:90].max(axis=1) - in_turn)
    assert agent.periods == [4, 6, 5]
