"""Worlds drawn from a Gaussian process follow the covariance that they state.

One draw gives products f(a, t) f(b, s) whose expectation, given what the draw fixed (period,
change points, contexts), is the stated covariance. Their mean over independent draws is compared
with it, in units of its own standard error.

False alarms: each test compares 13 pairs and fails beyond 4.5 standard errors. With means of 600
products taken as normal, a correct world does so with probability below 13 * 7e-6 < 1e-4, and some
world of the suite below 2e-3. Products of Gaussians have heavier tails, so the true rates are a
little higher; seeds are fixed, so a test that passes keeps passing.
"""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import periodic_envs
from periodic_envs.fields.basis import SE_REACH, TOLERANCE, lattice
from periodic_envs.fields.seasons import season_features
from periodic_envs.worlds.gaussian import GaussianWorld
from tests.test_envs.kernels import covariance, matern, periodic

DRAWS, HORIZON = 600, 200
DRAWN_IDS = [
    env_id
    for env_id in periodic_envs.ids()
    if isinstance(gym.make(env_id).unwrapped.setup.world, GaussianWorld)
]
VARIANTS = [(env_id, {}) for env_id in DRAWN_IDS] + [
    ("PeriodicGP-Synthetic-v0", {"action_kernel": "matern", "nu": 1.5, "period": 13.7}),
    ("PeriodicGP-Synthetic-v0", {"action_kernel": "linear", "dim": 3}),
    ("PeriodicGP-Synthetic-v0", {"dim": 3, "action_kernel": "matern", "nu": 2.5}),
    ("PeriodicGP-SyntheticDiscrete-v0", {"dim": 2, "n_actions": 20, "time_length_scale": 0.3}),
    ("PeriodicGP-Shift-v0", {"change": ["swap", "amplitude"], "size": 1.0, "changes": 5}),
    ("PeriodicGP-Shift-v0", {"change": ["period", "amplitude"], "n_actions": None, "dim": 2}),
]
TIMES = [
    *((0, 0), (3, 3), (5, 6), (5, 8), (2, 12), (1, 21), (4, 24), (0, 40), (7, 20), (9, 59)),
    *((30, 30), (15, 17), (10, 178)),
]


@pytest.mark.parametrize(("env_id", "kwargs"), VARIANTS, ids=str)
def test_draws_have_the_stated_covariance(env_id: str, kwargs: dict) -> None:
    world = gym.make(env_id, **kwargs).unwrapped.setup.world
    rng = np.random.default_rng(20260101)
    # Six actions close to each other, and 13 pairs of times.
    near = rng.uniform(-0.2, 0.2, (6, world.dim)) * min(1, world.action_length_scale)
    actions: list[Any] = list(near) if world.n_actions is None else list(range(6))
    pairs = [(actions[k % 6], t, actions[(k + 1) % 6], s) for k, (t, s) in enumerate(TIMES)]
    errors = np.empty((DRAWS, len(pairs)))
    stated: dict[int, float] = {}
    is_conditional = env_id.split("-")[1] in ("Contextual", "HiddenPeriod", "Piecewise", "Shift")
    for i in range(DRAWS):
        process = world.draw(rng, HORIZON)
        for j, (a, t, b, s) in enumerate(pairs):
            if is_conditional or j not in stated:
                stated[j] = covariance(world, process, a, t, b, s)
            errors[i, j] = process.mean(a, t) * process.mean(b, s) - stated[j]
    z = errors.mean(0) / (errors.std(0, ddof=1) / np.sqrt(DRAWS))
    assert np.abs(z).max() < 4.5, z


@pytest.mark.parametrize(
    ("nu", "dim", "tolerance"),
    [
        (None, 1, 1e-5),
        (2.5, 1, 1e-5),
        (1.5, 1, 1e-5),
        (0.5, 1, 1e-2),
        (None, 2, 1e-5),
        (2.5, 2, 1e-2),
    ],
)
def test_lattice_is_the_action_kernel(nu: float | None, dim: int, tolerance: float) -> None:
    """Within each draw, not only on average; rough kernels are cut at 512 harmonics."""
    basis = lattice(0.2, nu, dim)
    x = np.random.default_rng(0).uniform(-1, 1, (80, dim))
    features = basis(x) * basis.scale
    distance = np.linalg.norm(x[:, None] - x, axis=-1)
    assert np.abs(features @ features.T - matern(distance / 0.2, nu)).max() < tolerance


def test_lattice_reach_of_the_se_kernel_is_its_tolerance() -> None:
    assert np.exp(-0.5 * SE_REACH**2) == pytest.approx(TOLERANCE, rel=1e-9)


@pytest.mark.parametrize("length_scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("period", [20.0, 7.31])
def test_seasons_are_the_periodic_kernel(length_scale: float, period: float) -> None:
    times = np.arange(50.0)
    features = season_features(times, period, length_scale)
    closed = periodic(times[:, None] - times, period, length_scale)
    assert np.abs(features @ features.T - closed).max() < 1e-8


@pytest.mark.parametrize(
    ("name", "cycle"),
    [("MultiSeason", 168), ("Synthetic", 20), ("SyntheticDiscrete", 20), ("Stationary", 1)],
)
def test_seasons_of_whole_length_repeat_exactly(name: str, cycle: int) -> None:
    env = gym.make(f"PeriodicGP-{name}-v0", horizon=400).unwrapped
    env.reset(seed=0)
    action = env.action_space.sample()
    values = [env.episode.process.mean(action, t) for t in range(400)]
    assert values[:-cycle] == values[cycle:]
    assert (values[:20] == values[7:27]) == (cycle == 1)


def test_seasons_of_whole_length_are_the_limit_of_others() -> None:
    """A table that is reduced to one cycle is the one of a period that is a little longer."""
    tables = []
    for period in (20.0, 20.0 + 1e-9):
        env = gym.make("PeriodicGP-Synthetic-v0", period=period).unwrapped
        env.reset(seed=0)
        tables.append([env.episode.process.mean(np.array([0.3]), t) for t in range(200)])
    assert tables[0] == pytest.approx(tables[1], abs=1e-6)
