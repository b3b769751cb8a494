"""Estimators against values by hand, Open Bandit Pipeline's formulas, and the truth."""

from dataclasses import replace
from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from gymnasium import spaces
from scipy.special import stdtrit

from agents import AgentSpec
from agents.base import Problem
from agents.gp import Constant, Finite, Index, Periodic
from agents.registry import find_class
from periodic_decisions.logs.evaluate import (
    ESTIMATED,
    PRIOR_ROWS,
    OffPolicy,
    block_interval,
    effective_size,
    estimate_probabilities,
    ratios,
    value,
)
from periodic_decisions.logs.log import DecisionLog, DecisionLogError, split_seasons
from periodic_decisions.logs.model import Cells, cross_fit, evidence, fit_model, posterior
from periodic_decisions.logs.policies import BestPerPhase, FixedArm, Policy, ScheduledArms
from periodic_decisions.logs.rejection import replay_agent
from periodic_decisions.tables.series import TimeGrid
from periodic_envs.arrays import Array
from studies.logs import Part, judge, score
from tests.dense import Dense
from tests.errors import raises


def some_log(
    arm: Array, reward: Array, probability: Array | None = None, names: str = "abc"
) -> DecisionLog:
    steps = np.arange(len(arm))
    known = np.asarray(arm, dtype=np.intp), np.asarray(reward, dtype=np.float64)
    return DecisionLog("a log", TimeGrid(0.0, 1.0), tuple(names), steps, *known, probability)


def uniform_log(seed: int = 0, n: int = 400, arms: int = 3, period: int = 10) -> DecisionLog:
    """Return a log with mean rewards arm + [phase is the arm's] and noise 1."""
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, arms, n)
    mean = arm + (np.arange(n) % period == arm)
    return some_log(arm, mean + rng.standard_normal(n), np.full(n, 1.0 / arms))


# --- by hand ---------------------------------------------------------------------------------


def test_block_interval_of_a_mean_is_students() -> None:
    rng = np.random.default_rng(1)
    x, block = rng.standard_normal(60), np.repeat(np.arange(6), 10)
    means = x.reshape(6, 10).mean(1)
    reach = stdtrit(5, 0.975) * means.std(ddof=1) / np.sqrt(6)
    interval = block_interval(((x, np.ones(60)),), block)
    assert interval.estimate == pytest.approx(x.mean())
    assert (interval.low, interval.high) == pytest.approx((x.mean() - reach, x.mean() + reach))


def test_effective_size() -> None:
    assert effective_size(np.array([1.0, 1.0, 1.0])) == pytest.approx(3.0)
    assert effective_size(np.array([3.0, 1.0])) == pytest.approx(16.0 / 10.0)
    assert effective_size(np.zeros(3)) == 0.0


def test_estimate_probabilities_smooths_towards_the_shares_of_all_rows() -> None:
    arm = np.array([0, 1, 0, 1, 0, 0, 0, 0])  # phase 0: always the first; phase 1: half each
    seasons = split_seasons(np.arange(8), 2.0)
    prior = PRIOR_ROWS * np.array([6.0, 2.0]) / 8.0
    first = (4.0 + prior[0]) / (4.0 + PRIOR_ROWS)
    second = (np.array([2.0, 2.0]) + prior) / (4.0 + PRIOR_ROWS)
    expected = np.where(np.arange(8) % 2 == 0, first, second[arm])
    assert estimate_probabilities(seasons, arm, 2) == pytest.approx(expected)


# --- the formulas of Open Bandit Pipeline, as its documentation defines them -----------------


def obp(name: str, reward: Array, action: Array, pscore: Array, dist: Array, q: Array) -> float:
    """Return an estimate from the policy's probabilities and model means, both (rounds, arms)."""
    each = np.arange(len(reward))
    w = dist[each, action] / pscore
    model = np.average(q, weights=dist, axis=1)
    match = dist[each, action] == 1
    estimated = {
        "rm": match * reward / match.mean(),
        "ips": w * reward,
        "snips": w * reward / w.mean(),
        "dm": model,
        "dr": model + w * (reward - q[each, action]),
        "sndr": model + w * (reward - q[each, action]) / w.mean(),
    }
    return float(estimated[name].mean())


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr", "sndr"])
@pytest.mark.parametrize("seed", range(5))
def test_ratios_equal_open_bandit_pipeline(estimator: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, arms = 50, 4
    reward, action = rng.standard_normal(n), rng.integers(0, arms, n)
    pscore, q = rng.uniform(0.05, 1.0, n), rng.standard_normal((n, arms))
    chosen = rng.integers(0, arms, n)
    each = np.arange(n)
    rows = (reward, (action == chosen) / pscore, q[each, action], q[each, chosen])
    expected = obp(estimator, reward, action, pscore, np.eye(arms)[chosen], q)
    assert value(ratios(estimator, *rows)) == pytest.approx(expected)


def test_evaluate_equals_open_bandit_pipeline() -> None:
    log = uniform_log()
    off_policy = OffPolicy(log=log, period=10.0)
    assert log.probability is not None
    q = off_policy.models.tables[off_policy.seasons.fold, off_policy.seasons.phase]
    dist = np.eye(3)[np.full(len(log), 1)]
    for estimator in ("ips", "snips", "dr", "sndr"):
        expected = obp(estimator, log.reward, log.arm, log.probability, dist, q)
        estimate = off_policy.evaluate(FixedArm("b"), estimator)
        assert estimate.value.estimate == pytest.approx(expected)
        assert estimate.effective_size == pytest.approx((log.arm == 1).sum())


class Second:
    """An agent that always chooses the second arm."""

    def __init__(self, problem: object, rng: object) -> None:
        pass

    def act(self, observation: Array) -> int:
        return 1

    def update(self, observation: Array, action: int, reward: float) -> None:
        pass


def test_replay_agent_equals_open_bandit_pipeline() -> None:
    log = uniform_log()
    assert log.probability is not None
    estimate = replay_agent(OffPolicy(log=log, period=10.0), f"{__file__}:Second")
    dist = np.eye(3)[np.full(len(log), 1)]
    expected = obp("rm", log.reward, log.arm, log.probability, dist, np.zeros((len(log), 3)))
    assert estimate.value.estimate == pytest.approx(expected)
    assert estimate.rows == (log.arm == 1).sum()


class Watcher(Second):
    """An agent that stores its problem and the observations."""

    problem: Problem
    observations: ClassVar[list[Array]] = []

    def __init__(self, problem: Problem, rng: object) -> None:
        Watcher.problem = problem
        self.observations.clear()

    def act(self, observation: Array) -> int:
        self.observations.append(observation)
        return 1


def test_replay_agent_observes_time_phase_and_scaled_contexts() -> None:
    log = uniform_log()
    log = replace(log, step=log.step + 25, contexts=np.linspace(5.0, 9.0, 400)[:, None])
    replay_agent(OffPolicy(log=log, period=10.0), f"{__file__}:Watcher")
    watcher = find_class(f"{__file__}:Watcher")
    t, cos, sin, context = np.array(watcher.observations).T
    assert t.tolist() == list(range(5, 405))  # whole seasons are subtracted
    assert cos + 1j * sin == pytest.approx(np.exp(2j * np.pi * t / 10.0))
    assert context == pytest.approx(np.linspace(-1.0, 1.0, 400))
    assert all(map(watcher.problem.observation_space.contains, watcher.observations))
    assert watcher.problem.periods == (10.0,)


# --- exactly -----------------------------------------------------------------------------------


def test_ratios_are_unbiased_over_all_logs() -> None:
    """Three rows, two arms, rewards 0 or 1: the mean over all 64 logs is the value itself."""
    logging = np.array([[0.3, 0.7], [0.5, 0.5], [0.9, 0.1]])  # of each arm at each row
    mean = np.array([[0.2, 0.6], [0.5, 0.1], [0.9, 0.4]])
    q = np.array([[1.0, -2.0], [0.3, 0.0], [5.0, 0.7]])  # a model that is quite wrong
    chosen, each = np.array([1, 0, 1]), np.arange(3)
    truth = mean[each, chosen].mean()
    total = {"ips": 0.0, "dr": 0.0}
    for arms, rewards in product(product((0, 1), repeat=3), product((0, 1), repeat=3)):
        arm, reward = np.array(arms), np.array(rewards, dtype=np.float64)
        p = logging[each, arm]
        chance = np.prod(p * np.where(reward == 1.0, mean[each, arm], 1.0 - mean[each, arm]))
        rows = (reward, (arm == chosen) / p, q[each, arm], q[each, chosen])
        for estimator in total:
            total[estimator] += float(chance) * value(ratios(estimator, *rows))
    assert total["ips"] == pytest.approx(truth)
    assert total["dr"] == pytest.approx(truth)


def test_model_equals_the_dense_posterior() -> None:
    """The posterior equals that of the dense engine on single rows."""
    rng = np.random.default_rng(2)
    n, arms, period = 60, 3, 6.0
    seasons = split_seasons(np.arange(n), period)
    arm, reward = rng.integers(0, arms, n), 3.0 + rng.standard_normal(n)
    kernel = Constant(0.7) + 0.4 * Periodic(period, 1.0)
    cells = Cells.of(seasons.phase, arm, reward, 6, arms)
    points = Finite.arms(1).points(np.zeros(6, np.intp))
    prior = kernel.gram(points, seasons.starts(), points, seasons.starts())
    log_evidence, mu, noise_variance = evidence(cells, prior)
    model = posterior(cells, prior, mu, noise_variance)
    dense = Dense(Index() * kernel, Finite.arms(arms), noise_variance=1.0)
    for t in range(n):
        dense.observe(int(arm[t]), float(t), float(reward[t] - mu))
    for phase in range(6):
        mean, variance = dense.predict(float(phase))
        assert model.mean[phase] - mu == pytest.approx(mean)
        own = model.covariance[:, phase, phase] / model.noise_variance
        assert own == pytest.approx(variance)
    # The log density of all rows at the best noise variance, without constants.
    rows, t, off = Finite.arms(arms).points(arm), np.arange(n, dtype=np.float64), reward - mu
    covariance = (Index() * kernel).gram(rows, t, rows, t) + np.eye(n)
    best = off @ np.linalg.solve(covariance, off) / n
    expected = -0.5 * (n * np.log(best) + np.linalg.slogdet(covariance)[1])
    assert log_evidence == pytest.approx(expected)


def test_model_finds_the_season() -> None:
    log = uniform_log(n=3000)
    seasons = split_seasons(log.step, 10.0)
    model = fit_model(seasons.phase, log.arm, log.reward, seasons=seasons, arms=3)
    truth = np.arange(3) + (np.arange(10)[:, None] == np.arange(3))
    assert np.abs(model.mean - truth).max() < 0.4  # four standard errors of a cell of 100 rows
    mean, deviation = model.average(np.eye(3)[np.full(10, 2)] / 10.0)
    assert abs(mean - 2.1) < 5.0 * deviation


def test_cross_fit_ignores_its_own_fold() -> None:
    log = uniform_log()
    seasons = split_seasons(log.step, 10.0)
    before = cross_fit(seasons, log.arm, log.reward, 3)
    shifted = log.reward + 100.0 * (seasons.fold == 2)
    after = cross_fit(seasons, log.arm, shifted, 3)
    assert np.array_equal(before.tables[2], after.tables[2])
    assert not np.allclose(before.tables[1], after.tables[1])
    assert np.array_equal(before.best()[seasons.fold == 2], after.best()[seasons.fold == 2])


# --- unsupported estimates ---------------------------------------------------------------------


def scheduled(n: int = 200, p: float | None = 1.0) -> DecisionLog:
    """Return a log with arm a in the first half of each season, b in the second, never c."""
    arm = np.where(np.arange(n) % 10 < 5, 0, 1)
    return some_log(arm, np.ones(n), None if p is None else np.full(n, p))


@pytest.mark.parametrize("p", [1.0, None])
@pytest.mark.parametrize("estimator", ["dr", "ips", "dm"])
def test_evaluate_refuses_without_overlap(p: float | None, estimator: str) -> None:
    with raises(DecisionLogError, "no-overlap") as caught:
        OffPolicy(log=scheduled(p=p), period=10.0).evaluate(FixedArm("a"), estimator)
    assert all(part in str(caught.value) for part in ("arm:a", "50%", "phase 5"))


def test_evaluate_partial_counts_its_rows() -> None:
    off_policy = OffPolicy(log=scheduled(), period=10.0, partial=True)
    estimate = off_policy.evaluate(FixedArm("a"), "ips")
    assert estimate.value.estimate == pytest.approx(1.0)
    assert (estimate.blind, estimate.rows, len(estimate.notes)) == (0.5, 100, 1)
    with raises(DecisionLogError, "no-overlap"):
        off_policy.evaluate(FixedArm("c"), "ips")


def test_evaluate_allows_absence_by_accident() -> None:
    """Uniform choice among twelve arms misses some of them in some phases."""
    rng = np.random.default_rng(0)
    n = 240
    arm = rng.integers(0, 12, n)
    arm[(arm == 0) & (np.arange(n) % 10 == 3)] = 1  # by chance in one of eight such logs
    log = some_log(arm, rng.standard_normal(n), np.full(n, 1 / 12), "abcdefghijkl")
    assert OffPolicy(log=log, period=10.0).evaluate(FixedArm("a"), "dm").blind == 0.0
    with raises(DecisionLogError, "no-overlap"):
        OffPolicy(log=log, period=10.0, estimated=True).evaluate(FixedArm("a"), "dm")


def test_evaluate_refuses_too_few_rows() -> None:
    arm = np.zeros(200)
    arm[::20] = 1
    log = some_log(arm, np.ones(200), np.where(arm == 1, 0.05, 0.95))
    with raises(DecisionLogError, "too-few-rows"):
        OffPolicy(log=log, period=10.0, phases=1).evaluate(FixedArm("b"), "snips")


def test_evaluate_refuses_the_model_on_its_own_choice() -> None:
    with raises(DecisionLogError, "circular-estimate"):
        OffPolicy(log=uniform_log(), period=10.0).evaluate(BestPerPhase(), "dm")


@pytest.mark.parametrize(
    ("policy", "estimator", "code"),
    [
        (FixedArm("x"), "dr", "unknown-arm"),
        (FixedArm("a"), "magic", "unknown-estimator"),
        (ScheduledArms("plan", "step", {"step 0": "a"}), "dr", "incomplete-schedule"),
        (ScheduledArms("plan", "%a", {"Mon": "a"}), "dr", "not-clock-times"),
    ],
)
def test_evaluate_refuses_unknown_names(policy: Policy, estimator: str, code: str) -> None:
    with raises(DecisionLogError, code):
        OffPolicy(log=uniform_log(), period=10.0).evaluate(policy, estimator)


def test_evaluate_notes_estimates_and_cuts() -> None:
    whole, clipped = (
        OffPolicy(log=uniform_log(), period=10.0, estimated=True, clip=clip).evaluate(
            FixedArm("c"), "ips"
        )
        for clip in (None, 2.0)
    )
    assert whole.notes == (ESTIMATED,) == clipped.notes[:1]
    assert "clipped at 2" in clipped.notes[1]
    assert clipped.value.estimate < 0.8 * whole.value.estimate


# --- agents ----------------------------------------------------------------------------------


def test_replay_agent_learns() -> None:
    """The best arm gives 2.1 per step, chance 1.1; noise of a mean over 600 rows is 0.04."""
    off_policy = OffPolicy(log=uniform_log(n=1800), period=10.0)
    estimate = replay_agent(off_policy, "ucb1", seed=1)
    assert estimate.value.estimate > 1.7
    assert 540 < estimate.rows < 660
    assert estimate == replay_agent(off_policy, "ucb1", seed=1)
    with raises(DecisionLogError, "unknown-agent"):
        replay_agent(off_policy, "unknown")


def test_replay_agent_is_unbiased() -> None:
    """Means of forty logs and forty episodes differ by at most five standard errors."""
    gaps = []
    for seed in range(40):
        log = uniform_log(seed, n=300, period=1000)
        estimate = replay_agent(OffPolicy(log=log, period=10.0), "ucb1", seed=seed)
        rng = np.random.default_rng(1000 + seed)
        horizon = round(len(log) / 3)
        space = spaces.Box(0.0, 300.0, (1,), dtype=np.float64)
        problem = Problem(spaces.Discrete(3), space, horizon=horizon, periods=(10.0,))
        agent = AgentSpec("ucb1").make(problem, rng)
        earned = []
        for t in range(estimate.rows):
            arm = agent.act(np.array([float(t)]))
            earned.append(arm + rng.standard_normal())
            agent.update(np.array([float(t)]), arm, earned[-1])
        gaps.append(estimate.value.estimate - np.mean(earned))
    assert abs(np.mean(gaps)) < 5.0 * np.std(gaps) / np.sqrt(len(gaps))


def test_replay_agent_corrects_skewed_logs() -> None:
    """The value of random choice does not depend on the log's policy."""
    rng = np.random.default_rng(3)
    p = np.array([0.2, 0.2, 0.6])
    arm = rng.choice(3, 3000, p=p)
    log = some_log(arm, arm + rng.standard_normal(3000), p[arm])
    estimate = replay_agent(OffPolicy(log=log, period=10.0), "random")
    assert abs(estimate.value.estimate - 1.0) < 0.25  # 4.5 standard errors of some 600 rows
    assert log.reward.mean() > 1.3
    assert len(estimate.notes) == 2  # the second reports that arms were not logged uniformly


# --- coverage --------------------------------------------------------------------------------


def test_intervals_cover_in_a_small_simulation() -> None:
    """At a true coverage of 93 %, fewer than 31 of 40 happen 3 times in 10,000, for each of 12."""
    judged = judge(Part("seasonal", "uniform", False, 40, seed=7))
    for (target, estimator), errors in judged.items():
        if estimator != "dm":
            assert round(score([errors]).coverage * 40) >= 31, (target, estimator)


def test_intervals_allow_for_dependent_rows() -> None:
    """Rows of one season share a level: intervals over rows would cover about half the time.

    At a true coverage of 93 %, fewer than 49 of 60 happen once in 1,000 times.
    """
    rng = np.random.default_rng(5)
    over_rows, over_days = 0, 0
    for _ in range(60):
        level = np.repeat(rng.standard_normal(40), 10)
        arm = rng.integers(0, 2, 400)
        log = some_log(arm, level + rng.standard_normal(400), np.full(400, 0.5), "ab")
        interval = OffPolicy(log=log, period=10.0).evaluate(FixedArm("a"), "snips").value
        over_days += interval.low <= 0.0 <= interval.high
        rewards = log.reward[arm == 0]
        over_rows += bool(abs(rewards.mean()) <= 1.96 * rewards.std() / np.sqrt(len(rewards)))
    assert over_days >= 49
    assert over_rows < 49
