"""Rewards over (action, context, time): exact, and of use."""

from dataclasses import replace

import numpy as np
import pytest
from gymnasium import spaces
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from agents import Experience, Problem, make_agent
from agents.gp import (
    UCB,
    Box,
    Constant,
    ContextSquaredExponential,
    Decay,
    Finite,
    InContext,
    Incremental,
    Index,
    InThisContext,
    Periodic,
    RankError,
    SquaredExponential,
    make_posterior,
)
from agents.saving import load
from tests.dense import Dense
from tests.test_agents.reloading import reloaded

ARMS = InContext(Finite(np.linspace(0.0, 2.0, 3)[:, None]), 2)
PLANE = InContext(Box([-1.0, -1.0], [1.0, 1.0]), 1)
SHADE = ContextSquaredExponential(0.7)
CASES = [
    (SquaredExponential() * Periodic(5.0) * SHADE, ARMS),
    (Index() * Decay(0.1) * ContextSquaredExponential((0.5, 2.0)) + Index() * Constant(), ARMS),
    (SquaredExponential((0.5, 1.0)) * Periodic(5.0) * SHADE, PLANE),
]


def fed(posterior, actions, steps=25):
    rng = np.random.default_rng(0)
    for t in range(steps):
        arm = rng.integers(3) if actions is ARMS else rng.uniform(-1, 1, 2)
        row = actions.joined(arm, rng.uniform(-1, 1, actions.dimension))[0]
        posterior.observe(row, float(t), rng.normal())
    return posterior


@pytest.mark.parametrize(("kernel", "actions"), CASES)
def test_the_engine_is_dense(kernel, actions):
    ours = fed(make_posterior(kernel, actions, 0.1), actions)
    dense = fed(Dense(kernel, actions, 0.1), actions)
    assert isinstance(ours, Incremental)
    context = np.full(actions.dimension, 0.3)
    asked = None if actions is ARMS else np.array([[0.1, 0.2], [-0.9, 0.4]])
    rows = actions.joined(asked, context)
    np.testing.assert_allclose(ours.predict(26.0, rows), dense.predict(26.0, rows), atol=1e-9)
    assert ours.log_evidence == pytest.approx(dense.log_evidence)
    if actions is PLANE:
        for a, b in zip(ours.gradient(26.0, rows), dense.gradient(26.0, rows), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)
    again = reloaded(ours)
    np.testing.assert_array_equal(again.predict(26.0, rows), ours.predict(26.0, rows))


def test_contexts_have_no_state():
    with pytest.raises(RankError, match="over contexts"):
        make_posterior(CASES[0][0], ARMS, 0.1, engine="state-space")


def test_the_kernel_is_scikit_learns():
    kernel = SquaredExponential((0.5, 1.0)) * Constant() * SHADE
    ours = fed(Dense(kernel, PLANE, 0.1), PLANE)
    rng, rows, y = np.random.default_rng(0), [], []
    for _ in range(25):
        rows.append(np.r_[rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 1)])
        y.append(rng.normal())
    theirs = GaussianProcessRegressor(sk.RBF([0.5, 1.0, 0.7]), alpha=0.1, optimizer=None)
    theirs.fit(np.array(rows), np.array(y))
    query = np.array([[0.1, 0.2, 0.3], [-0.9, 0.4, 0.3]])
    mean, deviation = theirs.predict(query, return_std=True)
    np.testing.assert_allclose(ours.predict(0.0, query).mean, mean, atol=1e-9)
    np.testing.assert_allclose(ours.predict(0.0, query).variance, deviation**2, atol=1e-9)


def test_an_acquisition_sees_one_context():
    posterior = fed(make_posterior(CASES[2][0], PLANE, 0.1), PLANE)
    view = InThisContext(posterior)
    with pytest.raises(TypeError, match="InThisContext"):
        UCB(posterior, np.random.default_rng(0)).choose(0.0, 1.0)
    chosen = []
    for shade in (-0.8, 0.8):
        view.context = np.array([shade])
        action = UCB(view, np.random.default_rng(0)).choose(25.0, 1.0)
        grid = np.random.default_rng(1).uniform(-1, 1, (500, 2))
        mean, variance = view.predict(25.0, np.vstack((action, grid)))
        bound = mean + np.sqrt(variance)
        assert bound[0] >= bound.max() - 1e-9
        chosen.append(action)
    assert np.abs(chosen[0] - chosen[1]).max() > 0.01


def problem(kind):
    low, high = np.array([0.0, -1.0, -1.0, -1.0]), np.array([np.inf, 1.0, 1.0, 1.0])
    fields = ("t", "cos_phase", "sin_phase", "context_0")
    common = {"observation_fields": fields, "periods": (6.0,), "noise_std": 0.1, "horizon": 80}
    common["observation_space"] = spaces.Box(low, high, dtype=np.float64)
    if kind == "box":
        return Problem(spaces.Box(-1.0, 1.0, (1,), np.float32), **common, reward_scale=(0.0, 1.0))
    return Problem(spaces.Discrete(3), **common)


def live(agent, steps, seed=0):
    """The best action is where the context says; returns actions and regret."""
    rng, actions, regret = np.random.default_rng(seed), [], 0.0
    for t in range(steps):
        observation = np.array([t, 0.0, 1.0, rng.choice([-0.9, 0.0, 0.9])])
        action = agent.act(observation)
        place = np.sum(action) - (agent._problem.n_actions is not None)
        loss = float((place - observation[3]) ** 2)
        agent.update(observation, action, -loss + 0.1 * rng.normal())
        actions.append(action)
        regret += loss
    return actions, regret


@pytest.mark.parametrize("kind", ["box", "arms"])
@pytest.mark.parametrize("name", ["periodic-gp-ucb", "gp-ucb", "gp-thompson"])
def test_contexts_are_learned(kind, name):
    """At a fixed seed, an agent that looks has half the regret of one that does not."""
    blind, seeing = (
        live(make_agent(name + setting, problem(kind), np.random.default_rng(0)), 60)[1]
        for setting in ("", ":context_length_scale=1")
    )
    assert seeing < 0.5 * blind


@pytest.mark.parametrize("kind", ["box", "arms"])
@pytest.mark.parametrize("steps", [5, 30])
def test_saved_and_loaded_it_goes_on_bit_for_bit(kind, steps, tmp_path):
    text = "periodic-gp-ucb:context_length_scale=1"
    agent = make_agent(text, problem(kind), np.random.default_rng(0))
    live(agent, steps)
    agent.save(tmp_path / "agent")
    again = load(tmp_path / "agent")
    asked = None if kind == "arms" else np.zeros((1, 1))
    np.testing.assert_array_equal(agent.belief(40.0, asked), again.belief(40.0, asked))
    after = [np.array(live(each, 20, seed=1)[0]) for each in (agent, again)]
    np.testing.assert_array_equal(*after)


def test_a_search_for_the_period_may_look_at_contexts():
    text = "periodic-gp-ucb:context_length_scale=1,period=auto:4:12"
    agent = make_agent(text, problem("arms"), np.random.default_rng(0))
    assert len(live(agent, 40)[0]) == 40
    assert agent.period_belief()[1].sum() == pytest.approx(1.0)


def test_what_cannot_be_is_said():
    with pytest.raises(RankError, match="contexts"):
        make_posterior(CASES[0][0], ARMS, 0.1, engine="state-space")
    with pytest.raises(ValueError, match="context_length_scale must be positive"):
        make_agent("gp-ucb:context_length_scale=0", problem("box"), np.random.default_rng(0))
    with pytest.raises(TypeError, match="actions in contexts"):
        Dense(CASES[0][0], ARMS.actions, 0.1).predict(0.0)
    agent = make_agent("gp-ucb:context_length_scale=1", problem("box"), np.random.default_rng(0))
    with pytest.raises(ValueError, match="context must be finite"):
        agent.act(np.array([0.0, 0.0, 1.0, np.nan]))
    with pytest.raises(ValueError, match="context must be finite"):
        agent.update(np.array([0.0, 0.0, 1.0, np.nan]), np.zeros(1), 1.0)


def test_without_contexts_the_setting_changes_nothing():
    plain = replace(problem("box"), observation_fields=("t", "cos_phase", "sin_phase"))
    agent = make_agent("gp-ucb:context_length_scale=1", plain, np.random.default_rng(0))
    assert isinstance(agent.posterior.actions, Box)


def test_a_warm_start_without_contexts_sets_the_scale_only():
    past = Experience(np.arange(4), np.array([0, 1, 2, 0]), np.array([5.0, 7.0, 9.0, 7.0]))
    warm = replace(problem("arms"), warm_start=past)
    agent = make_agent("gp-ucb:context_length_scale=1", warm, np.random.default_rng(0))
    assert agent.posterior.count == 0
    np.testing.assert_allclose(agent.belief(4.0)[0], 7.0)


def test_the_belief_is_of_the_last_context_when_the_scale_has_just_been_set():
    text = "gp-ucb:context_length_scale=1"
    agent = make_agent(text, problem("arms"), np.random.default_rng(0))
    live(agent, 10)  # ten rewards set the scale, and the belief is made anew
    before = agent.belief(10.0)
    agent.act(np.array([10.0, 0.0, 1.0, 0.0]))
    elsewhere = agent.belief(10.0)
    last = np.random.default_rng(0)
    for _ in range(10):
        context = last.choice([-0.9, 0.0, 0.9])
        last.normal()
    agent.act(np.array([10.0, 0.0, 1.0, context]))
    np.testing.assert_array_equal(before, agent.belief(10.0))
    assert context != 0.0
    assert not np.array_equal(before, elsewhere)


@pytest.mark.parametrize("name", ["gp-ucb:context_length_scale=1,", "auto-gp-ucb:"])
def test_the_theorems_exploration_is_that_of_the_actions_alone(name):
    agent = make_agent(f"{name}beta=theorem", problem("box"), np.random.default_rng(0))
    assert len(live(agent, 3)[0]) == 3
