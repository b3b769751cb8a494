"""The linear agents: their regression, their formulas, and the worlds that they are made for."""

import numpy as np
import pytest
from gymnasium import spaces

from agents import Problem, make_agent
from agents.testing import example_problem, observe
from agents.zoo.linear.linear_agent import arm_features
from agents.zoo.linear.ridge import Ridge, RidgeTable, ellipsoid_radius

CLOCK = spaces.Box(np.array([0.0]), np.array([1e6]), dtype=np.float64)
CIRCLE = np.stack([f(2 * np.pi * np.arange(12) / 12) for f in (np.cos, np.sin)], axis=1)
"""Twelve arms on the unit circle: the arms of Russac, Vernade and Cappe's experiments."""


def turning(angles: list[float], steps: int) -> np.ndarray:
    """Mean rewards (steps, arms) of a theta on the circle that jumps from angle to angle."""
    angle = np.repeat(angles, steps // len(angles))
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) @ CIRCLE.T


def share_of_uniform(name: str, means: np.ndarray, seed: int, noise: float = 0.3) -> np.ndarray:
    """Regret of every step as a share of the mean regret of choosing at random."""
    steps, arms = means.shape
    problem = Problem(
        spaces.Discrete(arms),
        CLOCK,
        horizon=steps,
        noise_std=noise,
        reward_scale=(0.0, 0.7),
        action_features=CIRCLE,
    )
    agent = make_agent(name, problem, np.random.default_rng(seed))
    errors = np.random.default_rng(seed + 100).normal(0, noise, steps)
    regret = np.zeros(steps)
    for t in range(steps):
        arm = agent.act(np.array([float(t)]))
        regret[t] = means[t].max() - means[t, arm]
        agent.update(np.array([float(t)]), arm, means[t, arm] + errors[t])
    return regret / (means.max(axis=1) - means.mean(axis=1)).mean()


def test_the_regression_is_the_one_of_the_textbook() -> None:
    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(30, 4)), rng.normal(5.0, 1.0, 30), rng.uniform(0.1, 1.0, 30)
    ridge = Ridge(4, 0.7)
    for row, reward, weight in zip(x, y, w, strict=True):
        ridge.add(row, reward, weight)
    ridge.add(x[0], 3.0, 0.5)
    ridge.add(x[0], 3.0, -0.5)
    v, v2 = (0.7 * np.eye(4) + (x.T * weight) @ x for weight in (w, w**2))
    theta = np.linalg.solve(v, (x.T * w) @ (y - 5.0))
    at = rng.normal(size=(6, 4))
    inverse = np.linalg.inv(v)
    deviation = np.sqrt(np.einsum("nd,de,ne->n", at, inverse @ v2 @ inverse, at))
    mean, found = ridge.predict(at, 5.0)
    np.testing.assert_allclose(mean, 5.0 + at @ theta, rtol=1e-10)
    np.testing.assert_allclose(found, deviation, rtol=1e-10)
    assert ridge.squared_weights == pytest.approx(np.square(w).sum())


def test_the_table_answers_as_its_regressions_do() -> None:
    rng = np.random.default_rng(0)
    ridges, alone = ([Ridge(5, 0.5) for _ in range(4)] for _ in "ab")
    table = RidgeTable(ridges)
    for _ in range(60):
        arm, x, y = int(rng.integers(3)), rng.normal(size=5), float(rng.normal(20.0, 3.0))
        table.add(arm, x, y)
        alone[arm].add(x, y)
        at = rng.normal(size=5)
        mean, deviation = table.predict(at, 20.0)
        wanted = [ridge.predict(at[None], 20.0) for ridge in alone]
        np.testing.assert_allclose(mean, [m[0] for m, _ in wanted], rtol=1e-12)
        np.testing.assert_allclose(deviation, [d[0] for _, d in wanted], rtol=1e-12)


def test_features_have_norm_one_at_most() -> None:
    for kind in ("finite", "box", "plane", "warm"):
        problem = example_problem(kind)
        arms = np.linspace(-1, 1, 10).reshape(-1, problem.dim)
        x = arm_features(problem, arms)
        assert np.linalg.norm(x, axis=1).max() == pytest.approx(1.0)
        assert x.shape[1] == problem.dim + 1
    np.testing.assert_array_equal(arm_features(example_problem("arms"), np.arange(5)), np.eye(5))


def test_d_linucb_is_the_printed_recursion() -> None:
    """Algorithm 1 of Russac et al. with rewards in time, and the same with rewards out of order."""
    text = "d-linucb:discount=0.9,delta=0.1,regulariser=0.5"
    agents = [make_agent(text, example_problem("finite"), np.random.default_rng(0)) for _ in "ab"]
    x, rng = agents[0].x, np.random.default_rng(1)
    v, w, b = 0.5 * np.eye(2), 0.5 * np.eye(2), np.zeros(2)
    arms, rewards = rng.integers(0, 5, 12), rng.normal(size=12)
    for t in range(12):
        outer = np.outer(x[arms[t]], x[arms[t]])
        v = 0.9 * v + outer + 0.1 * 0.5 * np.eye(2)
        w = 0.81 * w + outer + 0.19 * 0.5 * np.eye(2)
        b = 0.9 * b + rewards[t] * x[arms[t]]
        agents[0].update(observe(t), int(arms[t]), rewards[t])
    for t in (5, 2, 11, 0, 7, 1, 3, 10, 4, 6, 9, 8):
        agents[1].update(observe(t), int(arms[t]), rewards[t])
    inverse = np.linalg.inv(v)
    beta = 2 * np.log(10.0) + 2 * np.log1p((1 - 0.9**24) / (0.5 * 2 * (1 - 0.81)))
    half = 2 * np.hypot(1.0, 0.1)
    radius = 0.1 * np.sqrt(beta) + np.sqrt(0.5) * half
    width = np.sqrt(np.einsum("nd,de,ne->n", x, inverse @ w @ inverse, x))
    for agent in agents:
        bounds = agent.bounds(agent._ridge)
        np.testing.assert_allclose(bounds, x @ inverse @ b + radius * width, rtol=1e-9)


def test_the_window_of_sw_linucb_slides() -> None:
    agent = make_agent("sw-linucb:window=5", example_problem("finite"), np.random.default_rng(0))
    for t in range(20):
        agent.act(observe(t))
        agent.update(observe(t), t % 5, float(t))
    agent.act(observe(20))
    fresh = Ridge(2, 0.1)
    for t in range(15, 20):
        fresh.add(agent.x[t % 5], float(t))
    for found, wanted in zip(agent._ridge.predict(agent.x), fresh.predict(agent.x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_recommended_windows_and_discounts() -> None:
    problem = example_problem("plane")  # three features, forty steps
    sw, d, bob = (
        make_agent(n, problem, np.random.default_rng(0)) for n in ("sw-linucb", "d-linucb", "bob")
    )
    assert sw.window == int(120 ** (2 / 3)) == 24
    assert d.discount == pytest.approx(1 - 120 ** (-2 / 3))
    assert bob.block_size == int(3 * np.sqrt(40)) == 18
    assert bob.windows == [1, 2, 6, 18]
    assert bob.gamma == pytest.approx(min(1.0, np.sqrt(4 * np.log(4) / ((np.e - 1) * 3))))


# Regret as a share of uniform choice's over the last two thirds of a run with two jumps, mean of
# two seeds. Over twelve other seeds single runs had (mean, deviation) d-linucb 0.23, 0.02;
# sw-linucb 0.21, 0.02; dlinucb-pool 0.14, 0.01; model-reuse-ucb 0.07, 0.02: more than seven
# deviations below the bound, so that false alarms need no counting.
@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("d-linucb:variation=6", 0.35),
        ("sw-linucb:variation=6", 0.35),
        ("dlinucb-pool", 0.3),
        ("model-reuse-ucb", 0.3),
    ],
)
def test_jumps_are_followed(name: str, bound: float) -> None:
    means = turning([0.0, 2.1, 4.2], 1200)
    shares = [share_of_uniform(name, means, seed)[400:].mean() for seed in range(2)]
    assert np.mean(shares) < bound


def test_bob_beats_choosing_at_random() -> None:
    """By a quarter. Twelve other seeds: 0.48, deviation 0.12; the mean of three is four below."""
    means = turning([0.0, 2.1, 4.2], 1200)
    shares = [share_of_uniform("bob", means, seed).mean() for seed in range(3)]
    assert np.mean(shares) < 0.75


def test_old_models_are_taken_up_again() -> None:
    """In a world of two states that return, reuse costs less than learning anew.

    Over twelve other seeds 0.23 (deviation 0.04) against 0.37 (0.01): the bound is four deviations
    of a mean of two away, one false alarm in ten thousand.
    """
    means = turning([0.0, 2.1] * 6, 1200)
    reuse, pool = (
        np.mean([share_of_uniform(name, means, seed)[600:].mean() for seed in range(2)])
        for name in ("model-reuse-ucb", "dlinucb-pool")
    )
    assert reuse < 0.9 * pool


def test_models_change_rarely_where_the_world_does_not() -> None:
    """One test in a thousand may be wrong: of 3 x 380 tests more than 6 are with p < 0.001."""
    still = turning([1.0], 400)
    alarms = 0
    for seed in range(3):
        problem = Problem(
            spaces.Discrete(12), CLOCK, horizon=400, noise_std=0.3, action_features=CIRCLE
        )
        agent = make_agent("model-reuse-ucb", problem, np.random.default_rng(seed))
        noise = np.random.default_rng(seed + 10).normal(0, 0.3, 400)
        for t in range(400):
            arm = agent.act(np.array([float(t)]))
            before = len(agent.old)
            agent.update(np.array([float(t)]), arm, still[t, arm] + noise[t])
            alarms += len(agent.old) > before
    assert alarms <= 6


def test_bad_slaves_are_dismissed() -> None:
    agent = make_agent("dlinucb-pool", example_problem("finite"), np.random.default_rng(0))
    first = agent.slaves[0]
    for t in range(200):
        agent.update(observe(t), t % 5, 1.0)
    assert agent.slaves == [first]
    for t in range(200, 400):
        agent.update(observe(t), t % 5, -1.0)
    assert first not in agent.slaves
    mean, _ = agent.slaves[0].ridge.predict(agent.x)
    np.testing.assert_allclose(mean, -1.0, atol=0.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d-linucb:discount=0", "discount must lie in"),
        ("d-linucb:variation=0", "variation must be positive"),
        ("d-linucb:regulariser=0", "regulariser must be positive"),
        ("d-linucb:delta=1", "delta must lie in"),
        ("d-linucb:width=-1", "width must be finite and not negative"),
        ("sw-linucb:window=0", "window must be at least 1"),
        ("sw-linucb:variation=-1", "variation must be positive"),
        ("dlinucb-pool:record=0", "record must be at least 1"),
        ("dlinucb-pool:tolerance=2", "tolerance must lie in"),
        ("model-reuse-ucb:window=0", "window must be at least 1"),
        ("model-reuse-ucb:level=0", "level must lie in"),
    ],
)
def test_bad_settings(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_agent(text, example_problem("finite"), np.random.default_rng(0))


def test_the_radius_grows_with_what_was_seen() -> None:
    ridge = Ridge(3, 2.0)
    assert ellipsoid_radius(ridge, lam=2.0, delta=0.1) == pytest.approx(np.sqrt(2 * np.log(10)))
    ridge.add(np.ones(3), 1.0)
    wanted = np.sqrt(2 * np.log(10) + 3 * np.log(1 + 4 / 6))
    assert ellipsoid_radius(ridge, lam=2.0, delta=0.1, longest=2.0) == pytest.approx(wanted)
