"""Rewards over (action, context, time): exact, and of use."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from agents import Problem
from agents.gp import (
    Box,
    Constant,
    ContextSquaredExponential,
    Decay,
    Finite,
    InContext,
    Incremental,
    Index,
    Periodic,
    SquaredExponential,
    make_posterior,
)
from tests.dense import Dense
from tests.test_agents.playing import fresh, reloaded_agent
from tests.test_agents.reloading import reloaded
from tests.test_agents.strategies import assert_predicts_as

ARMS = InContext(Finite(np.linspace(0.0, 2.0, 3)[:, None]), 2)
PLANE = InContext(Box([-1.0, -1.0], [1.0, 1.0]), 1)
SHADE = ContextSquaredExponential(0.7)
SEASON = SquaredExponential((0.5, 1.0)) * Periodic(5.0) * SHADE


def fed(posterior: Any, actions: InContext) -> Any:
    rng = np.random.default_rng(0)
    for t in range(25):
        arm = rng.integers(3) if actions is ARMS else rng.uniform(-1, 1, 2)
        row = actions.joined(arm, rng.uniform(-1, 1, actions.dimension))[0]
        posterior.observe(row, float(t), rng.normal())
    return posterior


@pytest.mark.parametrize(
    ("kernel", "actions"),
    [
        (SquaredExponential() * Periodic(5.0) * SHADE, ARMS),
        (Index() * Decay(0.1) * ContextSquaredExponential((0.5, 2.0)) + Index() * Constant(), ARMS),
        (SEASON, PLANE),
    ],
)
def test_engine_over_contexts_equals_the_dense_solve(kernel: Any, actions: InContext) -> None:
    ours, dense = (fed(make(kernel, actions, 0.1), actions) for make in (make_posterior, Dense))
    assert isinstance(ours, Incremental)
    points = None if actions is ARMS else np.array([[0.1, 0.2], [-0.9, 0.4]])
    rows = actions.joined(points, np.full(actions.dimension, 0.3))
    for one in (ours, reloaded(ours)):
        np.testing.assert_allclose(one.predict(26.0, rows), dense.predict(26.0, rows), atol=1e-9)
    assert ours.log_evidence == pytest.approx(dense.log_evidence)
    if actions is PLANE:
        assert_predicts_as(ours, dense, 26.0, rows)


def test_context_kernel_is_that_of_scikit_learn() -> None:
    kernel = SquaredExponential((0.5, 1.0)) * Constant() * SHADE
    rng, rows, y = np.random.default_rng(0), [], []
    for _ in range(25):
        rows.append(np.r_[rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 1)])
        y.append(rng.normal())
    theirs = GaussianProcessRegressor(sk.RBF([0.5, 1.0, 0.7]), alpha=0.1, optimizer=None)
    query = np.array([[0.1, 0.2, 0.3], [-0.9, 0.4, 0.3]])
    mean, deviation = theirs.fit(np.array(rows), np.array(y)).predict(query, return_std=True)
    ours = fed(Dense(kernel, PLANE, 0.1), PLANE).predict(0.0, query)
    np.testing.assert_allclose(ours, (mean, deviation**2), atol=1e-9)


def problem(kind: str) -> Problem:
    low, high = np.array([0.0, -1.0, -1.0, -1.0]), np.array([np.inf, 1.0, 1.0, 1.0])
    fields = ("t", "cos_phase", "sin_phase", "context_0")
    common = {"observation_fields": fields, "periods": (6.0,), "noise_std": 0.1, "horizon": 80}
    common["observation_space"] = spaces.Box(low, high, dtype=np.float64)
    if kind == "box":
        return Problem(spaces.Box(-1.0, 1.0, (1,), np.float32), **common, reward_scale=(0.0, 1.0))
    return Problem(spaces.Discrete(3), **common)


def made(text: str, kind: str) -> Any:
    return fresh(f"{text}:context_length_scale=1", problem(kind))


def live(agent: Any, steps: int, seed: int = 0) -> tuple[list[Any], float]:
    """The best action is where the context says; returns actions and regret."""
    rng, actions, regret = np.random.default_rng(seed), [], 0.0
    for t in range(steps):
        observation = np.array([t, 0.0, 1.0, rng.choice([-0.9, 0.0, 0.9])])
        actions.append(agent.act(observation))
        place = np.sum(actions[-1]) - (agent._problem.n_actions is not None)
        loss = float((place - observation[3]) ** 2)
        agent.update(observation, actions[-1], -loss + 0.1 * rng.normal())
        regret += loss
    return actions, regret


@pytest.mark.parametrize("kind", ["box", "arms"])
@pytest.mark.parametrize("name", ["periodic-gp-ucb", "gp-ucb", "gp-thompson"])
def test_gp_agents_learn_contexts(kind: str, name: str, tmp_path) -> None:
    """At a fixed seed, an agent that looks has half the regret of one that does not."""
    seeing = made(name, kind)
    assert live(seeing, 60)[1] < 0.5 * live(fresh(name, problem(kind)), 60)[1]
    again = reloaded_agent(seeing, tmp_path)
    np.testing.assert_array_equal(*(np.array(live(a, 10, seed=1)[0]) for a in (seeing, again)))


def test_gp_agents_reject_contexts_that_are_not_finite() -> None:
    agent, nowhere = made("gp-ucb", "box"), np.array([0.0, 0.0, 1.0, np.nan])
    for call in (lambda: agent.act(nowhere), lambda: agent.update(nowhere, np.zeros(1), 1.0)):
        with pytest.raises(ValueError, match="context"):
            call()


def test_context_setting_needs_contexts() -> None:
    plain = replace(problem("box"), observation_fields=("t", "cos_phase", "sin_phase"))
    assert isinstance(fresh("gp-ucb:context_length_scale=1", plain).posterior.actions, Box)
