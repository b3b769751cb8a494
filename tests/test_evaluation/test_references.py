"""Reference rows against brute force, against played policies, and against each other."""

import gymnasium as gym
import numpy as np
import pytest

import periodic_envs
from evaluation.references import REFERENCE_ROWS, phase_bins, reference_regrets
from periodic_envs import PeriodicBanditEnv, PublicInfo
from periodic_envs.process import FiniteProcess, RewardProcess


def make(env_id, seed=0, **kwargs):
    env = gym.make(env_id, disable_env_checker=True, **kwargs).unwrapped
    env.reset(seed=seed)
    return env


def times_of(env):
    return env.episode.first_step + np.arange(env.horizon)


def regret_of(env, actions, t):
    """Regret of actions (n, ...) at one time, from the process alone."""
    return env.episode.process.optimum(int(t))[1] - env.episode.process.mean(actions, int(t))


@pytest.mark.parametrize("env_id", periodic_envs.ids())
def test_references_are_in_order_in_every_world(env_id) -> None:
    regrets = reference_regrets(make(env_id, seed=3))
    assert tuple(regrets) == REFERENCE_ROWS
    totals = [regret.sum() for regret in regrets.values()]
    assert totals[0] == 0.0
    assert totals[1] <= totals[2] + 1e-6
    assert totals[2] < totals[3]


def test_references_of_a_table_by_hand() -> None:
    values = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.6]])
    process = FiniteProcess(values=values, rows=np.arange(6) % 2, period=2.0)
    env = PeriodicBanditEnv(process, horizon=6)
    env.reset(seed=0)
    regrets = reference_regrets(env)
    np.testing.assert_allclose(regrets["oracle"], 0.0)
    np.testing.assert_allclose(regrets["best-per-phase"], 0.0)
    np.testing.assert_allclose(regrets["best-fixed"], 0.4)  # the third, best on average
    np.testing.assert_allclose(regrets["uniform-random"], 1.0 - 1.6 / 3.0)


@pytest.mark.parametrize("env_id", ["PeriodicGP-RideShare-v0", "PeriodicGP-Madrid-v0"])
def test_references_of_arms_by_brute_force(env_id) -> None:
    env = make(env_id, seed=5)
    arms, times = np.arange(env.action_space.n), times_of(env)
    table = np.array([regret_of(env, arms, t) for t in times])
    regrets = reference_regrets(env)
    assert regrets["best-fixed"].sum() == pytest.approx(table.sum(0).min())
    phases = phase_bins(times, env.episode.process.period)
    per_phase = sum(table[phases == phase].sum(0).min() for phase in np.unique(phases))
    assert regrets["best-per-phase"].sum() == pytest.approx(per_phase)
    np.testing.assert_allclose(regrets["uniform-random"], table.mean(1))


@pytest.mark.parametrize(
    ("env_id", "kwargs", "points"),
    [
        ("PeriodicGP-AlmostPeriodic-v0", {}, 4001),
        ("PeriodicGP-Synthetic-v0", {"action_kernel": "matern", "nu": 1.5, "horizon": 30}, 4001),
        ("PeriodicGP-HiddenPeriod-v0", {"horizon": 60}, 4001),
        ("PeriodicGP-Piecewise-v0", {"dim": 2, "horizon": 10}, 101),
    ],
)
def test_references_of_boxes_by_brute_force(env_id, kwargs, points) -> None:
    """A grid finds no better action, and comes close to ours."""
    env = make(env_id, seed=2, **kwargs)
    axis = np.linspace(-1.0, 1.0, points)
    grid = np.stack(np.meshgrid(*[axis] * env.public.dim), axis=-1).reshape(-1, env.public.dim)
    times = times_of(env)
    table = np.array([regret_of(env, grid, t) for t in times])
    regrets = reference_regrets(env)
    phases = phase_bins(times, env.episode.process.period)
    per_phase = sum(table[phases == phase].sum(0).min() for phase in np.unique(phases))
    for ours, searched in [
        (regrets["best-fixed"].sum(), table.sum(0).min()),
        (regrets["best-per-phase"].sum(), per_phase),
    ]:
        assert searched - 0.01 * env.horizon <= ours <= searched + 1e-6


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({}, 1e-4),
        ({"action_kernel": "matern", "nu": 1.5}, 1e-4),
        ({"dim": 2}, 1e-4),
        ({"dim": 3, "horizon": 8}, 0.01),
    ],
)
def test_uniform_random_integrates_the_waves(kwargs, error) -> None:
    """The mean of cos(omega . a) over the box is the product of sin(omega_j) / omega_j."""
    env = make("PeriodicGP-Synthetic-v0", **kwargs)
    process = env.episode.process
    means = np.sinc(process.basis.frequencies / np.pi).prod(1)
    average = process.weights[process.rows[times_of(env)]][:, : len(means)] @ means
    best = np.array([process.optimum(int(t))[1] for t in times_of(env)])
    np.testing.assert_allclose(reference_regrets(env)["uniform-random"], best - average, atol=error)


@pytest.mark.parametrize("env_id", ["PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"])
def test_references_equal_played_policies(env_id) -> None:
    """The best fixed action loses its row, step by step; random choice on average over 400 runs.

    The mean of 400 x 200 random steps has a standard error of a two-hundredth; four are allowed:
    false alarms in fewer than 1 of 10,000 seeds.
    """
    env = make(env_id, seed=4)
    regrets = reference_regrets(env)
    finite = env.public.n_actions is not None
    arms = np.arange(env.public.n_actions) if finite else np.linspace(-1, 1, 20_001)[:, None]
    times = times_of(env)
    table = np.array([regret_of(env, arms, t) for t in times])
    best = arms[table.sum(0).argmin()]
    played = [env.step(best)[-1]["regret"] for _ in times]
    np.testing.assert_allclose(played, regrets["best-fixed"], atol=1e-3)
    drawn = np.random.default_rng(0).integers(0, len(arms), (400, len(times)))
    random = table[np.arange(len(times)), drawn].sum(1)
    error = random.std(ddof=1) / 20.0
    assert random.mean() == pytest.approx(regrets["uniform-random"].sum(), abs=4.0 * error)


class Tide(RewardProcess):
    """A process that is known by its formula alone: the best action follows the tide."""

    period = 12.4
    public = PublicInfo(n_actions=None, dim=1, periods=(12.4,), first_step=6)

    def mean(self, actions, t):
        return -np.sum((np.asarray(actions) - self.level(t)) ** 2, axis=-1)

    def optimum(self, t):
        return np.array([self.level(t)], dtype=np.float32), 0.0

    def level(self, t):
        return 0.5 * np.sin(2 * np.pi * t / self.period)


def test_references_of_an_own_process_by_hand() -> None:
    """The loss is quadratic: the best fixed action is the mean level, its loss the variance."""
    env = PeriodicBanditEnv(Tide(), horizon=100)
    env.reset(seed=0)
    times, regrets = times_of(env), reference_regrets(env)
    level = Tide().level(times)
    np.testing.assert_allclose(regrets["best-fixed"], (level - level.mean()) ** 2, atol=1e-5)
    np.testing.assert_allclose(regrets["uniform-random"], 1 / 3 + level**2)
    phases = phase_bins(times, 12.4)
    inside = np.array([level[phases == phase].mean() for phase in phases])
    np.testing.assert_allclose(regrets["best-per-phase"], (level - inside) ** 2, atol=1e-5)
