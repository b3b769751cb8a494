"""auto-gp-ucb learns what is not known: scale, structure, variances, and whose choices it saw."""

from typing import Any

import numpy as np
import pytest

from agents import Experience, Problem
from agents.auto import refit
from agents.auto.builders import (
    GROWTH,
    MIN_REWARDS,
    LearnedScale,
    choose_scale,
)
from agents.auto.history import MAX_HISTORY, History, replay_all
from agents.auto.structures import level, structure
from agents.auto.transform import RewardTransform
from agents.gp import (
    Constant,
    Decay,
    Finite,
    Harmonics,
    Index,
    StateSpace,
)
from agents.gp.posteriors.state_space import at_most
from tests.dense import Dense
from tests.test_agents.playing import arms, clock, fresh, played
from tests.test_agents.strategies import assert_predicts_as

PERIOD = 6.0
ARMS = Finite.arms(4)


def problem_of(n: int = 4, **known: Any) -> Problem:
    return arms(n, **{"periods": (PERIOD,), **known})


def past_of(rewards: np.ndarray, rng: Any, from_warm_start: bool = False) -> History:
    """Random arms of a table (steps, arms)."""
    t, arm = np.arange(len(rewards)), rng.integers(rewards.shape[1], size=len(rewards))
    return History(arm, t.astype(float), rewards[t, arm], np.full(len(t), from_warm_start))


def built(past: History, problem: Problem | None = None) -> Any:
    """The belief of an agent that knows no scale."""
    return LearnedScale(problem or problem_of(), "identity").build(past).posterior


def draw(kernel: Any, rng: Any, steps: int = 60, n: int = 4) -> np.ndarray:
    """A table (steps, arms) from a kernel."""
    points = Finite.arms(n).points(np.tile(np.arange(n), steps))
    t = np.repeat(np.arange(steps, dtype=float), n)
    K = kernel.gram(points, t, points, t) + 1e-8 * np.eye(len(t))
    return (np.linalg.cholesky(K) @ rng.normal(size=len(t))).reshape(steps, n)


def warmed(past: History) -> Problem:
    return problem_of(warm_start=Experience(past.t, past.action, past.reward))


def waves(steps: int, period: float = 11.0) -> np.ndarray:
    angle = np.arange(steps)[:, None] / period + np.arange(4) / 4
    return 3.0 * np.sin(2 * np.pi * angle)


def test_structure_has_engines_that_agree() -> None:
    rng, kernel = np.random.default_rng(0), structure(problem_of(periods=(12.0, 30.5)), sharp=True)
    # mean, level, two smooth, a sharp and a bent season and persistence, each also in common
    assert len(kernel.kernel.terms) == 2 + 2 * 5
    ours, dense = (engine(kernel.kernel, ARMS, 0.05) for engine in (StateSpace, Dense))
    for t in np.sort(rng.uniform(0, 60, 30)):
        arm, y = int(rng.integers(4)), rng.normal()
        for engine in (ours, dense):
            engine.observe(arm, float(t), y)
    assert_predicts_as(ours, dense, 61.0)


@pytest.mark.parametrize("seed", range(3))
def test_transform_is_chosen_by_evidence(seed: int) -> None:
    """None of 120 other draws of each kind was taken for the other."""
    rng = np.random.default_rng(seed)
    y = draw(Index() + Decay(0.2), rng)
    for sign in (1.0, -1.0):
        for table, expected in ((4.0 + 4.0 * y, "identity"), (np.expm1(3.0 + y), "log1p")):
            past = past_of(sign * table, rng)
            scale = choose_scale(structure(problem_of()), refit.Grams(ARMS, past), past, "auto")
            assert scale.transform == expected


@pytest.mark.parametrize("name", ["identity", "sqrt", "log1p"])
def test_transform_is_invertible_and_counts_its_slope(name: str) -> None:
    rewards, h = np.array([-30.0, -0.2, 0.0, 2.0, 500.0]), 1e-6
    scale = RewardTransform.of(rewards, name)
    np.testing.assert_allclose(scale.backward(scale.forward(rewards)), rewards, atol=1e-9)
    slope = (scale.forward(rewards + h) - scale.forward(rewards - h)) / (2 * h)
    keep = rewards != 0.0  # the second derivative jumps there
    assert np.log(slope[keep]).sum() == pytest.approx(scale.log_slope(rewards[keep]), abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_variances_of_missing_parts_are_learned_to_be_small(seed: int) -> None:
    """An arm's own season is found to be large or small, on every seed; likewise persistence."""
    rng, variances = np.random.default_rng(seed), []
    for part in (Index() * Harmonics(PERIOD, 1, 2), Index(), Index() * Decay(0.2)):
        y = draw(part + Constant(1.0), rng)
        terms = built(past_of(y + rng.normal(0, 0.3, y.shape), rng)).kernel.terms
        own = [(tuple(map(type, term.clocks)), term.variance) for term in terms if term.actions]
        variances.append([sum(v for c, v in own if c == (kind,)) for kind in (Harmonics, Decay)])
    seasons, shocks = np.transpose(variances)
    assert seasons[0] > 2 * max(seasons[1:])
    assert shocks[2] > 2 * max(shocks[:2])


@pytest.mark.parametrize("seed", range(2))
def test_seasons_are_as_sharp_as_they_look(seed: int) -> None:
    """One step of twelve at which an arm is good, or a wave: told apart on every seed."""
    phase, rng = np.arange(120)[:, None] % 12, np.random.default_rng(seed)
    sharp = 4.0 * (phase == 3 * np.arange(4))
    smooth = 3.0 * np.sin(np.pi * phase / 6 + np.arange(4))
    for table, expected in ((sharp, True), (smooth, False)):
        past = past_of(table + rng.normal(0, 0.4, table.shape), rng)
        terms = built(past, problem_of(periods=(12.0,))).kernel.terms
        harmonics = [c for term in terms for c in term.clocks if isinstance(c, Harmonics)]
        assert any(clock.lowest > 3 for clock in harmonics) is expected


def test_refit_has_the_gradient_of_its_loss() -> None:
    rng, kernel = np.random.default_rng(0), structure(problem_of()).kernel
    past = past_of(rng.normal(size=(20, 4)), rng)
    grams = np.concatenate([refit.Grams(ARMS, past).of(kernel), 0.1 * np.eye(20)[None]])
    theta, known = (
        rng.normal(0, 0.3, len(grams)),
        (grams, past.reward, np.linspace(0.5, 1, len(grams))),
    )
    steps = 1e-6 * np.eye(len(theta))
    ends = [[refit._loss(theta + side * s, *known)[0] for s in steps] for side in (1, -1)]
    slope = np.subtract(*ends) / 2e-6
    np.testing.assert_allclose(refit._loss(theta, *known)[1], slope, atol=1e-5)


def test_refits_are_bounded_and_ever_rarer(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come at 8, 16, 32, ... rewards, and replay at most 2,048."""
    agent, rng, real = (
        fresh("auto-gp-ucb", problem_of()),
        np.random.default_rng(1),
        LearnedScale.build,
    )
    seen: list[tuple[int, int]] = []

    def build(scale: LearnedScale, past: History) -> Any:
        seen.append((agent._count, len(past)))
        return real(scale, past)

    monkeypatch.setattr(LearnedScale, "build", build)
    for t in range(2_500):
        agent.update(clock(t), t % 4, float(rng.normal()))
    counts = [MIN_REWARDS * GROWTH**k for k in range(9)]
    assert seen == [(count, min(count, MAX_HISTORY)) for count in counts]
    assert len(agent.history) == MAX_HISTORY


def test_at_most_has_the_moments_of_the_cut_normal() -> None:
    """And leaves some variance however far below the bound is."""
    x = np.linspace(-15.0, 15.0, 300_001)
    density = np.exp(-0.5 * (x - 0.3) ** 2 / 2.0) / np.sqrt(4.0 * np.pi)
    for bound in (-2.0, 0.0, 3.0):
        y, variance, log_scale = at_most(0.3, 2.0, bound)
        factor = np.exp(log_scale - 0.5 * (x - y) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
        for power in range(3):
            exact = np.trapezoid(density * (x <= bound) * x**power, x)
            assert np.trapezoid(density * factor * x**power, x) == pytest.approx(exact, abs=2e-4)
    shares = [v / (1 + v) for v in (at_most(0.0, 1.0, b).variance for b in (2, 0, -3, -30, -300))]
    assert shares == sorted(shares, reverse=True)
    assert (shares[1], shares[-1]) == pytest.approx((1.0 - 2.0 / np.pi, 1e-3))


@pytest.mark.parametrize("lasting", [structure, level])
def test_factors_are_weighed_at_once_as_one_by_one(lasting: Any) -> None:
    rng, kernel = np.random.default_rng(0), lasting(problem_of()).kernel
    together, one_by_one = (StateSpace(kernel, ARMS, 0.05) for _ in range(2))
    for t in range(20):  # enough to pass several marks of the history
        factors = np.column_stack((rng.normal(size=3), rng.uniform(0.1, 2, 3), rng.normal(size=3)))
        for engine in (together, one_by_one):
            engine.observe(0, float(t), 0.1 * t)
        together.weigh_all([1, 2, 3], float(t), factors)
        for arm, factor in zip((1, 2, 3), factors.tolist(), strict=True):
            one_by_one.weigh(arm, float(t), *factor)
    for engine in (together, one_by_one):
        engine.observe(2, 15.5, 1.0)  # late: the history replays the factors
    assert_predicts_as(together, one_by_one, 21.0)


@pytest.mark.parametrize("offset", [None, lambda t: np.arange(4.0)], ids=["none", "offset"])
@pytest.mark.parametrize("expert", [True, False])
def test_evidence_counts_who_chose(offset: Any, expert: bool) -> None:
    """An expert's choices are in the posterior's; of others the probability by chance is added."""
    levels, rng = np.array([3.0, 1.0, 0.0, -2.0]), np.random.default_rng(0)
    chosen = np.zeros(30, dtype=int) if expert else rng.integers(4, size=30)
    rewards = levels[chosen] + 0.1 * rng.normal(size=30)
    past, member = History(chosen, np.arange(30.0), rewards, np.full(30, True)), 9.0 * Index()
    transform, posterior = RewardTransform(), StateSpace(member, ARMS, 0.01)
    evidence = replay_all([posterior], warmed(past), past, transform, offset)
    assert evidence == pytest.approx(0.0 if expert else -30 * np.log(4))


@pytest.mark.parametrize("count", [0, 48, 5_000])
def test_auto_gp_ucb_takes_any_amount_of_past(count: int) -> None:
    rng, table = np.random.default_rng(0), 10.0 + waves(count + 60, PERIOD)
    problem = warmed(past_of(table[:count], rng)) if count else problem_of()
    agent, lost = fresh("auto-gp-ucb", problem), []
    for t in range(count, count + 60):
        arm = agent.act(clock(t))
        agent.update(clock(t), arm, table[t, arm])
        lost.append(table[t].max() - table[t, arm])
    assert np.mean(lost[30:]) < (0.3 if count else 1.0)  # by chance: 3


def test_auto_gp_ucb_uses_the_papers_structures_with_a_known_scale() -> None:
    agent = fresh("auto-gp-ucb", "box")
    assert set(agent.structures()) == {"level", "season", "persistence", "drifting season"}
    assert agent.scale.transform == "identity"
    assert [part.tolist() for part in agent.period_belief()] == [[PERIOD], [1.0]]


UNKNOWN = {"noise_std": None, "reward_scale": None}


@pytest.mark.parametrize(("known", "seed"), [(UNKNOWN, 111), ({"reward_scale": (0.0, 2.0)}, 0)])
def test_auto_gp_ucb_finds_a_season_of_unknown_length(known: dict[str, Any], seed: int) -> None:
    """30 of 30 other seeds do where the scale is not known; by chance the regret is 3."""
    lost, agent = played("auto-gp-ucb", waves(300), seed, 1.0, **known)
    periods, weights = agent.period_belief()
    assert weights @ periods == pytest.approx(11.0, rel=0.01)
    assert np.mean(lost[-100:]) < 0.3
    assert set(agent.structures()) <= {"season", "both", "persistence"}


def test_auto_gp_ucb_believes_no_season_where_none_is() -> None:
    """Levels 0 to 3 and noise 1: a level that may persist, and no season."""
    table = np.tile(np.arange(4.0), (150, 1))
    lost, agent = played("auto-gp-ucb", table, 0, 1.0, horizon=None, **UNKNOWN)
    assert agent.structures()["persistence"] > 0.8
    assert np.mean(lost[-100:]) < 0.3
