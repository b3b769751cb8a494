"""Noise: its scale, its kinds, and the public facts."""

import gymnasium as gym
import numpy as np
import pytest

from tests.test_envs.envs import ARMS, make


def errors(steps: int = 4000, **kwargs: object) -> np.ndarray:
    env = gym.make(ARMS, horizon=steps, **kwargs)
    env.reset(seed=4)
    results = [env.step(0) for _ in range(steps)]
    return np.array([reward - info["mean_reward"] for _, reward, _, _, info in results])


@pytest.mark.parametrize("kind", ["gaussian", "heteroscedastic"])
def test_noise_has_its_standard_deviation(kind: str) -> None:
    """Five standard errors of a sample of 4000: a false alarm in 1e-6."""
    assert errors(noise=kind, noise_std=0.5).std() == pytest.approx(0.5, abs=5 * 0.5 / 89)
    assert not errors(steps=50, noise_std=0.0).any()


def test_student_t_has_the_same_scale_and_heavier_tails() -> None:
    heavy = errors(noise="student-t", noise_df=5.0, steps=20_000)
    assert heavy.std() == pytest.approx(1.0, abs=0.1)
    assert np.abs(heavy).max() > 5.5 > np.abs(errors(steps=20_000)).max()


def test_heteroscedastic_noise_follows_the_phase() -> None:
    by_phase = errors(noise="heteroscedastic", steps=8000).reshape(-1, 20).std(0)
    assert by_phase[5] / by_phase[15] == pytest.approx(3.0, abs=0.7)


def test_counts_are_whole_and_have_the_stated_mean() -> None:
    env = gym.make("PeriodicGP-RideShare-v0", horizon=24 * 400)
    env.reset(seed=0)
    results = [env.step(1) for _ in range(24 * 400)]
    counts = np.array([reward for _, reward, *_ in results]).reshape(400, 24)
    means = np.array([info["mean_reward"] for *_, info in results]).reshape(400, 24)[0]
    np.testing.assert_array_equal(counts, np.round(counts))
    # 24 means of 400 counts, five standard errors each: a false alarm in 2e-5.
    assert (np.abs(counts.mean(0) - means) < 5 * np.sqrt(means / 400)).all()
    np.testing.assert_allclose(counts.var(0) / means, 1.0, atol=0.5)
    with pytest.raises(ValueError, match="poisson"):
        make(ARMS, noise="poisson").reset(seed=0)


def test_noise_level_is_public_where_it_is_one_number() -> None:
    assert make(ARMS, noise_std=0.3).noise_std == 0.3
    assert make("PeriodicGP-RideShare-v0").noise_std is None
