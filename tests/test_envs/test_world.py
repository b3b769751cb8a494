"""Worlds drawn from a Gaussian process follow the covariance that they state.

One draw gives products f(a, t) f(b, s) whose expectation, given what the draw fixed (period,
change points, contexts), is the stated covariance. Their mean over independent draws is compared
with it, in units of its own standard error.

False alarms: each parametrised test looks at 13 pairs and fails beyond 4.5 standard errors. With
means of 1,500 products taken as normal, a correct world does so with probability below
13 * 7e-6 < 1e-4, and some world of the suite below 2e-3. Products of Gaussians have heavier tails,
so the true rates are a little higher; seeds are fixed, so a test that passes keeps passing.
"""

import gymnasium as gym
import numpy as np
import pytest

import periodic_envs
from periodic_envs.fields.basis import SE_REACH, TOLERANCE, lattice
from periodic_envs.fields.covariance import matern, matern_reach, periodic
from periodic_envs.fields.seasons import season_features
from periodic_envs.worlds.gaussian import GaussianWorld

DRAWS, HORIZON = 1500, 200
KWARGS = {"horizon": HORIZON}
DRAWN_IDS = [
    env_id
    for env_id in periodic_envs.ids()
    if isinstance(gym.make(env_id).unwrapped.setup.world, GaussianWorld)
]
VARIANTS = [(env_id, {}) for env_id in DRAWN_IDS] + [
    ("PeriodicGP-Synthetic-v0", {"action_kernel": "matern", "nu": 0.5}),
    ("PeriodicGP-Synthetic-v0", {"action_kernel": "matern", "nu": 1.5, "period": 13.7}),
    ("PeriodicGP-Synthetic-v0", {"action_kernel": "linear", "dim": 3}),
    ("PeriodicGP-Synthetic-v0", {"dim": 2, "time_length_scale": 0.3}),
    ("PeriodicGP-Synthetic-v0", {"dim": 2, "action_kernel": "matern", "nu": 2.5}),
    ("PeriodicGP-SyntheticDiscrete-v0", {"dim": 2, "n_actions": 20}),
    ("PeriodicGP-Switching-v0", {"drift": 0.3}),
    ("PeriodicGP-Shift-v0", {"change": ["swap", "amplitude"], "size": 1.0, "changes": 5}),
    ("PeriodicGP-Shift-v0", {"change": ["period", "amplitude"], "n_actions": None, "dim": 2}),
]


@pytest.mark.parametrize(("env_id", "kwargs"), VARIANTS, ids=str)
def test_statistics_of_draws_match_the_stated_covariance(env_id: str, kwargs: dict) -> None:
    world = gym.make(env_id, **kwargs).unwrapped.setup.world
    rng = np.random.default_rng(20260101)
    points, pairs = _points_and_pairs(world, rng)
    errors = np.empty((DRAWS, len(pairs)))
    for i in range(DRAWS):
        process = world.draw(rng, HORIZON)
        for j, (a, t, b, s) in enumerate(pairs):
            product = process.mean(points[a][1], t) * process.mean(points[b][1], s)
            stated = world.covariance(process, points[a][0], t, points[b][0], s)
            errors[i, j] = product - stated
    z = errors.mean(0) / (errors.std(0, ddof=1) / np.sqrt(DRAWS))
    assert np.abs(z).max() < 4.5, z


def _points_and_pairs(world: GaussianWorld, rng: np.random.Generator) -> tuple[list, list]:
    """Six actions close to each other (coordinates, action), and 13 pairs of (action, time)."""
    if world.n_actions is None:
        places = rng.uniform(-0.2, 0.2, (6, world.dim)) * min(1, world.action_length_scale)
        points = [(place, place) for place in places]
    else:
        points = [(world.points[i], i) for i in range(6)]
    times = [(0, 0), (3, 3), (5, 6), (5, 8), (2, 12), (1, 21), (4, 24), (0, 40), (7, 20), (9, 59)]
    pairs = [(k % 6, t, (k + 1) % 6, s) for k, (t, s) in enumerate(times)]
    return points, [*pairs, (2, 30, 2, 30), (3, 15, 3, 17), (1, 10, 2, 178)]


@pytest.mark.parametrize("nu", [None, 2.5, 1.5, 0.5])
def test_lattice_is_the_action_kernel(nu: float | None) -> None:
    basis = lattice(0.2, nu)
    x = np.linspace(-1, 1, 81)[:, None]
    features = basis(x) * basis.scale
    error = np.abs(features @ features.T - matern(np.abs(x - x.T) / 0.2, nu)).max()
    # Rough kernels are cut at 512 harmonics.
    assert error < {None: 1e-5, 2.5: 1e-5, 1.5: 1e-5, 0.5: 1e-2}[nu]


@pytest.mark.parametrize(("nu", "tolerance"), [(None, 1e-5), (2.5, 1e-2)])
def test_lattice_is_the_action_kernel_in_the_plane(nu: float | None, tolerance: float) -> None:
    """Within each draw, not only on average."""
    basis = lattice(0.2, nu, dim=2)
    x = np.random.default_rng(0).uniform(-1, 1, (80, 2))
    features = basis(x) * basis.scale
    distance = np.linalg.norm(x[:, None] - x, axis=-1)
    assert np.abs(features @ features.T - matern(distance / 0.2, nu)).max() < tolerance


def test_contexts_follow_their_kernel_within_each_draw() -> None:
    basis = gym.make("PeriodicGP-Contextual-v0").unwrapped.setup.world._context_basis
    x = np.random.default_rng(0).uniform(-1, 1, (80, 2))
    features = basis(x) * basis.scale
    distance = np.linalg.norm(x[:, None] - x, axis=-1)
    assert np.abs(features @ features.T - matern(distance, None)).max() < 1e-5


@pytest.mark.parametrize("length_scale", [0.1, 0.5, 1.0, 10.0])
@pytest.mark.parametrize("period", [20.0, 7.31])
def test_seasons_are_the_periodic_kernel(length_scale: float, period: float) -> None:
    """The Bessel series against the closed form, Eq. (2)."""
    times = np.arange(50.0)
    features = season_features(times, period, length_scale)
    closed = periodic(times[:, None] - times, period, length_scale)
    assert np.abs(features @ features.T - closed).max() < 1e-8


def test_the_papers_time_length_scale_stands_still() -> None:
    """AUDIT: with l = 10 the periodic kernel stays in [0.980, 1]."""
    assert periodic(np.linspace(0, 20, 201), 20, 10.0).min() == pytest.approx(0.980, abs=5e-4)


def test_half_integer_matern_closed_forms() -> None:
    r = np.linspace(0.01, 5, 50)
    np.testing.assert_allclose(matern(r, 0.5), np.exp(-r), rtol=1e-10)
    u = np.sqrt(3) * r
    np.testing.assert_allclose(matern(r, 1.5), (1 + u) * np.exp(-u), rtol=1e-10)
    assert matern(0.0, 2.5) == pytest.approx(1.0)


@pytest.mark.parametrize("env_id", DRAWN_IDS)
def test_integer_seasons_repeat_exactly(env_id: str) -> None:
    """Worlds whose longest season is a whole number return to themselves after it."""
    env = gym.make(env_id, horizon=400).unwrapped
    env.reset(seed=0)
    process = env.episode.process
    cycle = {"MultiSeason": 168, "Synthetic": 20, "SyntheticDiscrete": 20, "Stationary": 1}
    name = env_id.split("-")[1]
    if name in cycle:
        action = env.action_space.sample()
        values = [process.mean(action, t) for t in range(400)]
        assert values[: -cycle[name]] == values[cycle[name] :]
        # Also where the table is not reduced to one cycle: a hair's breadth off a whole number.
        if name == "Synthetic":
            other = gym.make(env_id, horizon=400, period=20.0 + 1e-9).unwrapped
            other.reset(seed=0)
            unreduced = [other.episode.process.mean(action, t) for t in range(400)]
            assert unreduced == pytest.approx(values, abs=1e-6)
        if cycle[name] > 1:
            assert not np.allclose(values[:20], values[7:27])


def test_the_reach_of_the_se_kernel_is_what_a_search_finds() -> None:
    """To the last bit: worlds of earlier versions stay as they are."""
    assert matern_reach(1.0, None, TOLERANCE) == SE_REACH
