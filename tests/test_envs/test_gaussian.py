"""Worlds drawn from a Gaussian process: their covariance, and the search for the optimum.

One draw gives products f(a, t) f(b, s) whose expectation, given what the draw fixed (period,
change points, contexts), is the stated covariance. Their mean over independent draws is compared
with it, in units of its own standard error.

False alarms: each test compares 13 pairs and fails beyond 4.5 standard errors. With means of 600
products taken as normal, a correct world does so with probability below 13 * 7e-6 < 1e-4, and some
world of the suite below 2e-3. Products of Gaussians have heavier tails, so the true rates are a
little higher; seeds are fixed, so a test that passes keeps passing.
"""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import Matern

import periodic_envs
from periodic_envs.fields.basis import (
    SE_REACH,
    TOLERANCE,
    LinearBasis,
    lattice,
    random_frequencies,
)
from periodic_envs.fields.maximise import maximise
from periodic_envs.fields.seasons import season_features
from periodic_envs.worlds.gaussian import GaussianWorld
from tests.test_envs.envs import SYNTHETIC, make

DRAWS, HORIZON = 600, 200
DRAWN_IDS = [
    env_id for env_id in periodic_envs.ids() if isinstance(make(env_id).setup.world, GaussianWorld)
]
VARIANTS = [(env_id, {}) for env_id in DRAWN_IDS] + [
    (SYNTHETIC, {"action_kernel": "matern", "nu": 1.5, "period": 13.7}),
    (SYNTHETIC, {"action_kernel": "linear", "dim": 3}),
    (SYNTHETIC, {"dim": 3, "action_kernel": "matern", "nu": 2.5}),
    ("PeriodicGP-SyntheticDiscrete-v0", {"dim": 2, "n_actions": 20, "time_length_scale": 0.3}),
    ("PeriodicGP-Shift-v0", {"change": ["swap", "amplitude"], "size": 1.0, "changes": 5}),
    ("PeriodicGP-Shift-v0", {"change": ["period", "amplitude"], "n_actions": None, "dim": 2}),
]
TIMES = [
    *((0, 0), (3, 3), (5, 6), (5, 8), (2, 12), (1, 21), (4, 24), (0, 40), (7, 20), (9, 59)),
    *((30, 30), (15, 17), (10, 178)),
]


def matern(distance: Any, nu: float | None) -> np.ndarray:
    """Return Matern correlations at distances in length-scales; SE with ``nu=None``."""
    if nu is None:
        return np.exp(-0.5 * np.square(distance))
    return Matern(nu=nu)(np.ravel(distance)[:, None], [[0.0]]).reshape(np.shape(distance))


def periodic(lag: Any, period: float, length_scale: float) -> np.ndarray:
    """Return the periodic kernel at lags, Eq. (2)."""
    return np.exp(-2.0 * np.sin(np.pi * lag / period) ** 2 / length_scale**2)


def action_covariance(world: GaussianWorld, a: Any, b: Any) -> float:
    """Return the covariance between two actions in [-1, 1]^dim."""
    if world.action_kernel == "linear":
        return float(a @ b) / world.dim
    distance = np.linalg.norm(a - b) * world.action_width / 2.0 / world.action_length_scale
    return float(matern(distance, world.nu if world.action_kernel == "matern" else None))


def time_covariance(world: Any, process: Any, t: int, s: int) -> float:
    """Return the covariance between two times, given periods, changes and contexts of a draw."""
    name = type(world).__name__
    if name in ("Stationary", "Piecewise"):
        return float(process.rows[t] == process.rows[s])
    scale = world.time_length_scale
    season = float(periodic(t - s, process.period, scale))
    if name == "AlmostPeriodic":
        return (season + float(periodic(t - s, world.ratio * world.period, scale))) / 2.0
    if name == "MultiSeason":
        week = float(periodic(t - s, world.long_period, world.long_length_scale))
        return season * (1.0 - world.weekly_share + world.weekly_share * week)
    if name == "Switching":
        return float(season * (1.0 - world.drift) ** (abs(t - s) / 2.0))
    if name == "Contextual":
        distance = np.linalg.norm(process.contexts[t] - process.contexts[s])
        return season * float(matern(distance / world.context_length_scale, None))
    if name == "Shift":
        course = process.course
        constant = float(periodic(np.arange(100), 100.0, scale).mean())
        season = float(periodic(course.cycles[t] - course.cycles[s], 1.0, scale))
        return constant + course.amplitudes[t] * course.amplitudes[s] * (season - constant)
    return season


def covariance(world: Any, process: Any, a: Any, t: int, b: Any, s: int) -> float:
    """Return the covariance of f(a, t) and f(b, s); a finite action is an index."""
    points = [a, b]
    if world.n_actions is not None:
        arms = getattr(process.course, "arms", None)
        now = [a, b] if arms is None else [arms[t, a], arms[s, b]]
        points = [world.points[arm] for arm in now]
    return action_covariance(world, *points) * time_covariance(world, process, t, s)


@pytest.mark.parametrize(("env_id", "kwargs"), VARIANTS, ids=str)
def test_draws_have_the_stated_covariance(env_id: str, kwargs: dict) -> None:
    world = make(env_id, **kwargs).setup.world
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
    env = make(f"PeriodicGP-{name}-v0", horizon=400)
    env.reset(seed=0)
    action = env.action_space.sample()
    values = [env.episode.process.mean(action, t) for t in range(400)]
    assert values[:-cycle] == values[cycle:]
    assert (values[:20] == values[7:27]) == (cycle == 1)


# The optimum against brute force.


def brute_force(basis, weights: np.ndarray, per_axis: int) -> list[float]:
    """Return for every row the best of a dense grid, its best points polished by L-BFGS-B."""
    axes = [np.linspace(-1, 1, per_axis)] * basis.dim
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, basis.dim)
    heights = np.concatenate([basis(part) @ weights.T for part in np.array_split(grid, 50)])
    bounds, best = [(-1, 1)] * basis.dim, []
    for row, height in zip(weights, heights.T, strict=True):

        def negative(x: np.ndarray, row: np.ndarray = row) -> tuple[float, np.ndarray]:
            value, gradient, _ = basis.derivatives(x[None], row[None])
            return -value[0], -gradient[0]

        starts = grid[np.argsort(height)[-4:]]
        best.append(max(-minimize(negative, x, jac=True, bounds=bounds).fun for x in starts))
    return best


@pytest.mark.parametrize("nu", [None, 1.5, 0.5])
def test_maximise_on_a_line(nu: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    basis = lattice(0.2, nu)
    weights = np.random.default_rng(1).standard_normal((40, len(basis.scale))) * basis.scale
    actions, values = maximise(basis, weights)
    np.testing.assert_allclose(values, np.sum(basis(actions) * weights, axis=1), atol=1e-12)
    assert (values >= np.array(brute_force(basis, weights, 2001)) - 1e-9).all()
    monkeypatch.setattr("periodic_envs.fields.maximise._CHUNK", 500)
    np.testing.assert_allclose(maximise(basis, weights)[1], values, atol=1e-12)


@pytest.mark.parametrize(("dim", "per_axis"), [(2, 201), (3, 31)])
@pytest.mark.parametrize("nu", [None, 1.5])
def test_maximise_in_more_dimensions(dim: int, per_axis: int, nu: float | None) -> None:
    rng = np.random.default_rng(2)
    basis = random_frequencies(dim, 0.2, nu, rng)
    weights = rng.standard_normal((6, len(basis.scale))) * basis.scale
    actions, values = maximise(basis, weights)
    assert np.abs(actions).max() <= 1.0
    assert (values >= np.array(brute_force(basis, weights, per_axis)) - 1e-6).all()


def test_maximise_finds_the_corner_of_a_plane() -> None:
    weights = np.array([[1.0, -2.0], [-0.5, -0.5]])
    actions, values = maximise(LinearBasis(2), weights)
    np.testing.assert_array_equal(actions, [[1, -1], [-1, -1]])
    np.testing.assert_allclose(values, [3 / np.sqrt(2), 1 / np.sqrt(2)])


@pytest.mark.parametrize("kwargs", [{"dim": 2}, {"dim": 2, "action_kernel": "linear"}], ids=str)
def test_optimum_of_an_env_in_the_plane(kwargs: dict) -> None:
    env = make(SYNTHETIC, horizon=4, **kwargs)
    env.reset(seed=0)
    points = np.random.default_rng(0).uniform(-1, 1, (20_000, env.public.dim))
    for t in range(4):
        assert env.episode.process.mean(points, t).max() <= env.episode.process.optimum(t)[1]
