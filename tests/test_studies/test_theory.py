"""The paper's lemmas and theorems, checked by brute force, simulation and independent code."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.gp import Finite, Periodic, SquaredExponential
from studies.theory import (
    action_gain,
    exact_action_gain,
    exact_season_gain,
    gain_from_variances,
    information_gain,
    phase_gains,
    power,
    power_of_log,
    predictive_variances,
    regret_bound,
    season_gain,
    slope_constants,
)
from tests.dense import Dense

seeds = st.integers(0, 2**32 - 1)
noises = st.floats(0.01, 10.0)
examples = settings(deadline=None)  # a busy machine is no error


def random_covariance(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a covariance of any rank from 1 to n; a single action may have variance 0."""
    factor = rng.standard_normal((n, rng.integers(1, n + 1))) * rng.uniform(0, 2, (n, 1))
    return factor @ factor.T


def smooth(n: int, *, length_scale: float = 1.0, width: float = 3.0) -> np.ndarray:
    x = np.linspace(0.0, width, n)
    return np.exp(-((x[:, None] - x) ** 2) / (2 * length_scale**2))


def seasonal(times: np.ndarray, period: float, *, length_scale: float = 1.0) -> np.ndarray:
    lag = times[:, None] - times
    return np.exp(-2 * np.sin(np.pi * lag / period) ** 2 / length_scale**2)


# Lemma A.1


def test_information_gain_by_hand() -> None:
    """|I + K| = 2 * 2 - 0.5^2 for two unit variances with correlation 1/2."""
    gain = information_gain([[1.0, 0.5], [0.5, 1.0]], noise_variance=1.0)
    assert gain == pytest.approx(0.5 * np.log(3.75))
    assert information_gain(np.eye(3), noise_variance=0.25) == pytest.approx(1.5 * np.log(5.0))


@examples
@given(seed=seeds, n=st.integers(1, 12), noise_variance=noises)
def test_information_gain_is_the_sum_over_variances(seed, n, noise_variance) -> None:
    covariance = random_covariance(np.random.default_rng(seed), n)
    variances = predictive_variances(covariance, noise_variance=noise_variance)
    total = gain_from_variances(variances, noise_variance=noise_variance)
    expected = information_gain(covariance, noise_variance=noise_variance)
    assert total == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_predictive_variances_are_those_of_the_agents_posterior() -> None:
    rng = np.random.default_rng(4)
    kernel, places = SquaredExponential(0.7) * Periodic(6.0, 0.8), np.linspace(0.0, 3.0, 9)
    steps, chosen = 20, rng.integers(9, size=20)
    posterior = Dense(kernel, Finite(places[:, None]), 0.3)
    expected = []
    for t in range(steps):
        expected.append(posterior.predict(float(t)).variance[chosen[t]])
        posterior.observe(chosen[t], float(t), rng.standard_normal())
    over_actions = smooth(9, length_scale=0.7)[np.ix_(chosen, chosen)]
    covariance = over_actions * seasonal(np.arange(steps), 6.0, length_scale=0.8)
    ours = predictive_variances(covariance, noise_variance=0.3)
    np.testing.assert_allclose(ours, expected, rtol=1e-9)


# Lemma 1


@examples
@given(seed=seeds, tau=st.integers(2, 5), seasons=st.integers(1, 4), noise_variance=noises)
def test_phase_gains_of_phases_apart_are_larger(seed, tau, seasons, noise_variance) -> None:
    """Strictly, since any two rewards of this world are correlated."""
    rng, times = np.random.default_rng(seed), np.arange(tau * seasons)
    x = rng.uniform(0.0, 2.0, len(times))
    covariance = np.exp(-((x[:, None] - x) ** 2) / 2) * seasonal(times, tau)
    apart = phase_gains(covariance, times % tau, noise_variance=noise_variance)
    together = information_gain(covariance, noise_variance=noise_variance)
    assert apart.shape == (tau,)
    assert together < apart.sum() - 1e-7


@examples
@given(seed=seeds, tau=st.integers(1, 5), seasons=st.integers(1, 4), noise_variance=noises)
def test_phase_gains_of_independent_phases_are_equal(seed, tau, seasons, noise_variance) -> None:
    """Rewards within a phase depend on each other: the paper's remark asks too much."""
    rng, phases = np.random.default_rng(seed), np.arange(tau * seasons) % tau
    covariance = random_covariance(rng, len(phases)) * (phases[:, None] == phases)
    apart = phase_gains(covariance, phases, noise_variance=noise_variance)
    together = information_gain(covariance, noise_variance=noise_variance)
    assert together == pytest.approx(apart.sum(), rel=1e-9, abs=1e-9)


def test_phase_gains_are_in_the_order_of_phases() -> None:
    gains = phase_gains(np.diag([1.0, 2.0, 3.0]), [7, -1, 7], noise_variance=1.0)
    np.testing.assert_allclose(gains, [0.5 * np.log(3.0), 0.5 * np.log(8.0)])


# Greedy and exact


def sequences(actions: np.ndarray, season: np.ndarray, rounds: int, noise_variance: float) -> float:
    """gamma^S by the definition: every sequence of actions, step by step."""
    phase = np.arange(rounds) % len(season)
    times = season[np.ix_(phase, phase)]
    return max(
        information_gain(times * actions[np.ix_(a, a)], noise_variance=noise_variance)
        for a in itertools.product(range(len(actions)), repeat=rounds)
    )


@pytest.mark.parametrize(("n", "tau", "rounds"), [(3, 2, 5), (2, 3, 7), (4, 1, 3), (2, 4, 3)])
def test_exact_gain_tries_every_sequence(n, tau, rounds) -> None:
    rng = np.random.default_rng(n)
    actions, season = random_covariance(rng, n), random_covariance(rng, tau)
    exact = exact_season_gain(actions, season, rounds=rounds, noise_variance=0.2)
    assert exact == pytest.approx(sequences(actions, season, rounds, 0.2))
    if tau == 1:
        alone = exact_action_gain(season[0, 0] * actions, rounds=rounds, noise_variance=0.2)
        assert alone == pytest.approx(exact)


@st.composite
def tiny(draw) -> dict:
    """Three phases or fewer, and up to seven steps, as many as brute force can take."""
    rng = np.random.default_rng(draw(seeds))
    n, tau = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    stationary = seasonal(np.arange(tau), tau, length_scale=rng.uniform(0.3, 3))
    season = stationary if draw(st.booleans()) else random_covariance(rng, tau)
    actions = smooth(n) if draw(st.booleans()) else random_covariance(rng, n)
    return {"actions": actions, "season": season, "noise_variance": draw(noises)}


@examples
@given(case=tiny(), rounds=st.integers(1, 6))
def test_season_gain_theorem_2(case, rounds) -> None:
    """With the visits of each phase, tau dividing T or not, and phases of different variance."""
    noise_variance, season = case["noise_variance"], case["season"]
    together = exact_season_gain(
        case["actions"], season, rounds=rounds, noise_variance=noise_variance
    )
    apart = 0.0
    for phase, variance in enumerate(season.diagonal()):
        visits = len(range(phase, rounds, len(season)))
        if visits:
            apart += exact_action_gain(
                variance * case["actions"], rounds=visits, noise_variance=noise_variance
            )
    assert together <= apart + 1e-9


def test_season_gain_theorem_2_can_be_an_equality() -> None:
    """Two independent actions and two phases with equal rewards; correlated rewards are strict."""
    together = exact_season_gain(np.eye(2), np.ones((2, 2)), rounds=2, noise_variance=1.0)
    apart = 2 * exact_action_gain(np.eye(2), rounds=1, noise_variance=1.0)
    assert together == pytest.approx(apart)
    together = exact_season_gain(smooth(3), seasonal(np.arange(2), 2), rounds=4, noise_variance=0.5)
    assert together < 2 * exact_action_gain(smooth(3), rounds=2, noise_variance=0.5) - 1e-3


@examples
@given(case=tiny())
def test_brackets_hold_the_exact_gain(case) -> None:
    noise_variance = case["noise_variance"]
    season = season_gain(case["actions"], case["season"], rounds=6, noise_variance=noise_variance)
    action = action_gain(case["actions"], rounds=6, noise_variance=noise_variance)
    for i in range(6):
        common = {"rounds": i + 1, "noise_variance": noise_variance}
        exact = exact_season_gain(case["actions"], case["season"], **common)
        assert season.low[i] - 1e-9 <= exact <= season.high[i] + 1e-9
        exact = exact_action_gain(case["actions"], **common)
        assert action.low[i] - 1e-9 <= exact <= action.high[i] + 1e-9


@examples
@given(seed=seeds, n=st.integers(1, 8), tau=st.integers(1, 4), noise_variance=noises)
def test_brackets_are_in_order_and_never_fall(seed, n, tau, noise_variance) -> None:
    rng = np.random.default_rng(seed)
    actions, season = random_covariance(rng, n), random_covariance(rng, tau)
    for bracket in (
        action_gain(actions, rounds=70, noise_variance=noise_variance),
        season_gain(actions, season, rounds=70, noise_variance=noise_variance),
    ):
        assert bracket.low.shape == bracket.high.shape == bracket.choices.shape == (70,)
        assert (bracket.low <= bracket.high).all()
        assert (np.diff(bracket.low) >= 0).all()
        assert (np.diff(bracket.high) >= -1e-12 * bracket.high[-1]).all()
        assert ((bracket.choices >= 0) & (bracket.choices < n)).all()


@pytest.mark.parametrize(("n", "tau"), [(21, 1), (7, 5)])
def test_season_gain_of_the_greedy_design(n, tau) -> None:
    """150 steps are more than two blocks of updates: choices and gains by the plain formula."""
    rounds, season = 150, seasonal(np.arange(tau), tau)
    bracket = season_gain(smooth(n), season, rounds=rounds, noise_variance=0.1)
    phases, chosen = np.arange(rounds) % tau, bracket.choices
    joint = season[np.ix_(phases, phases)] * smooth(n)[np.ix_(chosen, chosen)]
    for t in (1, 2, 63, 64, 65, 128, 129, 150):
        gain = information_gain(joint[:t, :t], noise_variance=0.1)
        assert bracket.low[t - 1] == pytest.approx(gain, rel=1e-10)
        others = np.empty(n)  # what each action would have gained at step t
        for a in range(n):
            row = season[phases[t - 1], phases[:t]] * smooth(n)[a, np.append(chosen[: t - 1], a)]
            trial = np.block([[joint[: t - 1, : t - 1], row[:-1, None]], [row]])
            others[a] = information_gain(trial, noise_variance=0.1)
        assert gain == pytest.approx(others.max(), rel=1e-10)


def online_bound(
    covariance: np.ndarray, rows: np.ndarray, low: np.ndarray, phases: np.ndarray
) -> np.ndarray:
    """The least over greedy designs of every length, by the definition; noise variance 1."""
    tau, bounds = phases.max() + 1, []
    for k in range(len(rows) + 1):
        past = rows[:k]
        noisy = covariance[np.ix_(past, past)] + np.eye(k)
        left = covariance - covariance[:, past] @ np.linalg.solve(noisy, covariance[past])
        most = 0.5 * np.log1p(np.diagonal(left).reshape(tau, -1).max(1))
        bounds.append(np.append(0.0, low)[k] + np.cumsum(most[phases]))
    return np.min(bounds, axis=0)


def test_action_gain_high_is_the_online_bound() -> None:
    """And never above greedy's guarantee."""
    actions, phases = smooth(40, width=5.0), np.zeros(120, dtype=int)
    bracket = action_gain(actions, rounds=120, noise_variance=1.0)
    expected = online_bound(actions, bracket.choices, bracket.low, phases)
    np.testing.assert_allclose(bracket.high, expected, rtol=1e-9)
    assert (bracket.high <= bracket.low / (1 - np.exp(-1)) + 1e-9).all()


@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.9])
def test_season_gain_high_is_the_lesser_of_two_bounds(correlation) -> None:
    """Online and Theorem 2 (each is the lesser one somewhere), never above greedy's guarantee."""
    n, rounds, deviations = 12, 62, np.array([1.0, 0.5, 1.5, 1.0])
    season = np.outer(deviations, deviations) * (correlation + (1 - correlation) * np.eye(4))
    bracket = season_gain(smooth(n), season, rounds=rounds, noise_variance=1.0)
    phases = np.arange(rounds) % 4
    online = online_bound(
        np.kron(season, smooth(n)), phases * n + bracket.choices, bracket.low, phases
    )
    apart = np.zeros(rounds)
    for phase, deviation in enumerate(deviations):
        alone = action_gain(deviation**2 * smooth(n), rounds=rounds, noise_variance=1.0)
        apart += np.append(0.0, alone.high)[np.cumsum(phases == phase)]
    assert (online < apart - 1e-6).any() == (correlation > 0.0)
    assert (apart < online - 1e-6).any() == (correlation < 0.9)
    np.testing.assert_allclose(bracket.high, np.minimum(online, apart), rtol=1e-9)
    assert (bracket.high <= 2 * bracket.low + 1e-9).all()


def test_brackets_are_in_order_despite_round_off() -> None:
    """Both ends are the exact gain of independent rewards, but for the order of their sums."""
    for seed in range(50):
        season = np.diag(np.random.default_rng(seed).uniform(0.1, 2.0, 7))
        for bracket in (
            season_gain([[1.0]], season, rounds=7, noise_variance=0.3),
            action_gain(season[0, 0] * np.eye(7), rounds=7, noise_variance=0.3),
        ):
            assert (bracket.low <= bracket.high).all()


# Theorem 1


def test_regret_bound_by_hand() -> None:
    """sigma^2 = 1 / (e - 1) makes c3 = 8: sqrt(8 * 9 * 2 * 4) = 24."""
    noise_variance = 1.0 / (np.e - 1.0)
    bound = regret_bound([9, 9, 0], beta=2.0, gamma=[4, 1, 1], noise_variance=noise_variance)
    np.testing.assert_allclose(bound, np.array([24.0, 12.0, 0.0]) + np.pi**2 / 6)


@pytest.mark.parametrize(("width", "length_scale"), [(10.0, 1.0), (1.0, 0.4), (2.0, 5.0)])
def test_slopes_of_draws_keep_the_bound(width, length_scale) -> None:
    """20,000 draws of a Fourier series with the kernel's spectrum, and their slopes on a grid.

    A share lies more than 3.5 standard errors above its probability in 1 of 4,000 seeds; with 5
    levels in 3 cases that is a false alarm in fewer than 1 of 250, the bound being no larger than
    needed. It is at most 1.5 times the share plus 3.5 standard errors where crossings prevail.
    """
    rng, draws = np.random.default_rng(8), 20_000
    span = width + 12 * length_scale  # the series repeats after this: far enough not to matter
    frequency = 2 * np.pi * np.arange(1 + int(8 * span / (2 * np.pi * length_scale))) / span
    weight = np.exp(-((frequency * length_scale) ** 2) / 2)
    weight = weight / np.where(frequency == 0, 2, 1) / (weight.sum() - weight[0] / 2)
    grid = np.linspace(0.0, width, 201)
    angle = frequency[:, None] * grid
    np.testing.assert_allclose(
        weight @ np.cos(angle), np.exp(-(grid**2) / (2 * length_scale**2)), atol=1e-6
    )
    waves = np.sqrt(weight)[:, None] * frequency[:, None]
    slopes = rng.standard_normal((draws, len(frequency))) @ (waves * np.cos(angle))
    slopes -= rng.standard_normal((draws, len(frequency))) @ (waves * np.sin(angle))
    steepest = np.abs(slopes).max(1)
    c1, c2 = slope_constants(width, length_scale=length_scale)
    for bound in (0.5, 0.2, 0.05, 0.02, 0.005):
        level = c2 * np.sqrt(np.log(c1 / bound))
        share, error = np.mean(steepest >= level), 3.5 * np.sqrt(bound / draws)
        assert share <= bound + error
        if width > 5 * length_scale and bound <= 0.05:
            assert bound <= 1.5 * share + error
    assert c1 >= 1.0  # at level 0 the bound must allow a probability of 1


# Corollary 1


def test_powers_are_recovered() -> None:
    rounds = np.arange(1, 5001)
    assert power(rounds, 3.0 * rounds**0.37) == pytest.approx(0.37)
    assert power_of_log(rounds, 0.2 * np.log(rounds + (rounds == 1)) ** 2.5 + (rounds == 1)) == (
        pytest.approx(2.5)
    )
    # The upper half of log rounds counts: a kink at sqrt(1 * 10,000) = 100 has no effect.
    rounds = np.geomspace(1, 10_000, 81)
    gamma = np.where(rounds < 99.9, 100.0 + rounds, rounds**2)
    assert power(rounds, gamma) == pytest.approx(2.0)


def test_action_gain_of_rank_one_is_half_a_logarithm() -> None:
    """The linear kernel with d = 1: gamma_T = 1/2 log(1 + T), so the power of log tends to 1."""
    bracket = action_gain([[1.0]], rounds=4000, noise_variance=1.0)
    rounds = np.arange(1, 4001)
    np.testing.assert_allclose(bracket.low, 0.5 * np.log1p(rounds), rtol=1e-10)
    assert power_of_log(rounds, bracket.low) == pytest.approx(1.0, abs=0.02)


# Bad input

ONE = np.eye(2)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: information_gain(np.ones((2, 3)), noise_variance=1.0), "covariance"),
        (lambda: information_gain(np.ones((0, 0)), noise_variance=1.0), "covariance"),
        (lambda: information_gain([[1.0, 0.5], [0.0, 1.0]], noise_variance=1.0), "covariance"),
        (lambda: information_gain([[np.nan]], noise_variance=1.0), "covariance"),
        (lambda: predictive_variances([[0, 1], [1, 0]], noise_variance=1.0), "covariance"),
        (lambda: action_gain(ONE + 1.01 * ONE[::-1], rounds=3, noise_variance=1.0), "covariance"),
        (lambda: action_gain(ONE, rounds=0, noise_variance=1.0), "rounds"),
        (lambda: action_gain(ONE, rounds=3, noise_variance=0.0), "noise_variance"),
        (lambda: season_gain(ONE, -ONE, rounds=3, noise_variance=1.0), "season_covariance"),
        (lambda: season_gain(-ONE, ONE, rounds=3, noise_variance=1.0), "action_covariance"),
        (lambda: gain_from_variances([0.1, -0.1], noise_variance=1.0), "variances"),
        (lambda: gain_from_variances([0.1, np.nan], noise_variance=1.0), "variances"),
        (lambda: phase_gains(ONE, [0, 1, 0], noise_variance=1.0), "phases"),
        (lambda: phase_gains(ONE, [0.0, 1.5], noise_variance=1.0), "phases"),
        (lambda: exact_action_gain(np.eye(50), rounds=5, noise_variance=1.0), "3,162,510"),
        (
            lambda: exact_season_gain(np.eye(4), ONE, rounds=100, noise_variance=1.0),
            "200,000",
        ),
        (lambda: regret_bound(3, beta=-1.0, gamma=1.0, noise_variance=1.0), "beta"),
        (lambda: regret_bound(3, beta=1.0, gamma=np.inf, noise_variance=1.0), "gamma"),
        (lambda: regret_bound(3, beta=1.0, gamma=1.0, noise_variance=-1.0), "noise_variance"),
        (lambda: slope_constants(0.0, length_scale=1.0), "width"),
        (lambda: slope_constants(1.0, length_scale=np.nan), "length_scale"),
        (lambda: power([1, 2, 3], [1, 2]), "gamma"),
        (lambda: power([], []), "rounds"),
        (lambda: power_of_log([1, 50, 100], [1, 2, 3]), "rounds"),
        (lambda: power([0, 2, 3], [1, 2, 3]), "rounds"),
        (lambda: power_of_log([1, 2, 3], [0, 2, 3]), "gamma"),
    ],
)
def test_theory_rejects_bad_input(call, name) -> None:
    with pytest.raises(ValueError, match=name):
        call()


def test_exact_gain_limits_its_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.theory._DESIGNS", 10)
    assert exact_action_gain(np.eye(4), rounds=2, noise_variance=1.0) == pytest.approx(np.log(2.0))


def test_gains_with_tiny_noise_are_finite() -> None:
    """Variances that round-off makes negative are clipped, without a warning."""
    for seed in range(20):
        covariance = random_covariance(np.random.default_rng(seed), 6)
        assert (predictive_variances(covariance, noise_variance=1e-17) >= 0).all()
        assert np.isfinite(action_gain(covariance, rounds=9, noise_variance=1e-17).high).all()
        alike = np.outer(covariance[0], covariance[0])  # one reward tells all
        bracket = season_gain([[1.0]], alike, rounds=9, noise_variance=1e-17)
        assert np.isfinite(bracket.high).all()
