"""The declared optimum against brute force."""

import gymnasium as gym
import numpy as np
import pytest
from scipy.optimize import minimize

from periodic_envs.fields.basis import LinearBasis, lattice, random_frequencies
from periodic_envs.fields.maximise import maximise


def brute_force(basis, weights: np.ndarray, per_axis: int) -> list[float]:
    """For every row the best of a dense grid, its ten best points polished by L-BFGS-B."""
    axes = [np.linspace(-1, 1, per_axis)] * basis.dim
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, basis.dim)
    heights = np.concatenate([basis(part) @ weights.T for part in np.array_split(grid, 50)])
    return [
        _polish(basis, row, grid[np.argsort(h)[-10:]])
        for row, h in zip(weights, heights.T, strict=True)
    ]


def _polish(basis, row: np.ndarray, starts: np.ndarray) -> float:
    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, _ = basis.derivatives(x[None], row[None])
        return -value[0], -gradient[0]

    bounds = [(-1, 1)] * basis.dim
    return -min(minimize(negative, x, jac=True, bounds=bounds, tol=1e-12).fun for x in starts)


@pytest.mark.parametrize("nu", [None, 2.5, 1.5, 0.5])
def test_line(nu: float | None) -> None:
    basis = lattice(0.2, nu)
    weights = np.random.default_rng(1).standard_normal((40, len(basis.scale))) * basis.scale
    actions, values = maximise(basis, weights)
    np.testing.assert_allclose(values, np.sum(basis(actions) * weights, axis=1), atol=1e-12)
    assert (values >= np.array(brute_force(basis, weights, 2001)) - 1e-9).all()


@pytest.mark.parametrize(("dim", "per_axis"), [(2, 301), (3, 45)])
@pytest.mark.parametrize("nu", [None, 1.5])
def test_plane_and_space(dim: int, per_axis: int, nu: float | None) -> None:
    rng = np.random.default_rng(2)
    for _ in range(2):
        basis = random_frequencies(dim, 0.2, nu, rng)
        weights = rng.standard_normal((8, len(basis.scale))) * basis.scale
        actions, values = maximise(basis, weights)
        assert np.abs(actions).max() <= 1.0
        assert (values >= np.array(brute_force(basis, weights, per_axis)) - 1e-6).all()


def test_straight_lines_end_in_a_corner() -> None:
    weights = np.array([[1.0, -2.0], [-0.5, -0.5]])
    actions, values = maximise(LinearBasis(2), weights)
    np.testing.assert_array_equal(actions, [[1, -1], [-1, -1]])
    np.testing.assert_allclose(values, [3 / np.sqrt(2), 1 / np.sqrt(2)])


def test_many_rows_are_done_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    basis = lattice(0.2, None)
    weights = np.random.default_rng(3).standard_normal((40, len(basis.scale))) * basis.scale
    _, whole = maximise(basis, weights)
    monkeypatch.setattr("periodic_envs.fields.maximise._CHUNK", 500)
    _, chunked = maximise(basis, weights)
    np.testing.assert_allclose(whole, chunked, atol=1e-12)


@pytest.mark.parametrize(
    "kwargs", [{"dim": 2}, {"dim": 3}, {"dim": 2, "action_kernel": "linear"}], ids=str
)
def test_no_action_beats_the_optimum_in_more_dimensions(kwargs: dict) -> None:
    env = gym.make("PeriodicGP-Synthetic-v0", horizon=6, **kwargs).unwrapped
    env.reset(seed=0)
    points = np.random.default_rng(0).uniform(-1, 1, (20_000, env.public.dim))
    for t in range(6):
        assert env.episode.process.mean(points, t).max() <= env.episode.process.optimum(t)[1]
