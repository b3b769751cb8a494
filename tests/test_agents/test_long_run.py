"""After very many observations: still exact, symmetric, positive definite and the same size.

A million observations run with ``make test-all`` only.
"""

import numpy as np
import pytest

from agents.gp import Decay, Finite, Matern, Periodic, make_posterior
from agents.objects import pack

PERIOD, ARMS, NOISE = 7, 6, 0.5


def run(kernel, actions, steps):
    posterior = make_posterior(kernel, actions, NOISE)
    rng = np.random.default_rng(1)
    f, noise = rng.normal(size=(ARMS, PERIOD)), np.sqrt(NOISE) * rng.normal(size=steps)
    arm = rng.integers(0, ARMS, steps)
    y = f[arm, np.arange(steps) % PERIOD] + noise
    for t in range(steps):
        posterior.observe(int(arm[t]), t, float(y[t]))
    return posterior, arm, y


@pytest.mark.parametrize("steps", [100_000, pytest.param(1_000_000, marks=pytest.mark.nightly)])
def test_exact_after_very_many_observations(steps):
    """Against one solve over the 42 (arm, phase) pairs, from their counts and mean rewards."""
    kernel = Matern(1.5, 2.0) * Periodic(float(PERIOD), 1.0)
    actions = Finite(np.random.default_rng(0).uniform(0, 4, (ARMS, 2)))
    posterior, arm, y = run(kernel, actions, steps)
    cell = arm * PERIOD + np.arange(steps) % PERIOD
    counts = np.bincount(cell)
    means = np.bincount(cell, weights=y) / counts
    phase = np.tile(np.arange(PERIOD, dtype=float), ARMS)
    points = actions.points(np.repeat(np.arange(ARMS), PERIOD))
    K = kernel.gram(points, phase, points, phase)
    gain = np.linalg.solve(K + np.diag(NOISE / counts), np.column_stack((means, K)))
    mean, covariance = K @ gain[:, 0], K - K @ gain[:, 1:]
    for p in range(PERIOD):
        ours = posterior.predict(steps - steps % PERIOD + p)
        np.testing.assert_allclose(ours.mean, mean[phase == p], atol=1e-9)
        expected = np.diagonal(covariance)[phase == p]
        np.testing.assert_allclose(ours.variance, expected, rtol=1e-6)
    assert posterior.count == steps
    P = posterior.filter.S[:, :-1]
    assert np.linalg.eigvalsh((P + P.T) / 2).min() > 0


@pytest.mark.parametrize("decay", [None, 0.01])
def test_the_state_stays_sound_and_does_not_grow(decay):
    kernel = Matern(1.5, 2.0) * Periodic(float(PERIOD), 1.0)
    kernel = kernel if decay is None else kernel * Decay(decay)
    actions = Finite(np.random.default_rng(0).uniform(0, 4, (ARMS, 2)))
    sizes = []
    for steps in (100, 20_000):
        posterior, arrays = run(kernel, actions, steps)[0], {}
        pack(posterior, arrays)
        sizes.append(sum(array.nbytes for array in arrays.values()))
        P = posterior.filter.S[:, :-1]
        assert np.abs(P - P.T).max() < 1e-14
        assert np.linalg.eigvalsh(P).min() > 0
    assert sizes[1] <= 1.05 * sizes[0]
