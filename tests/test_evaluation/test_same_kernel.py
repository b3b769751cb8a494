"""A kernel's name means the same in worlds and in agents, which share no code."""

import gymnasium as gym
import numpy as np
import pytest

from agents.zoo.gp.prior import action_kernel_of, actions_of
from evaluation.play import problem_of
from tests.test_envs.test_gaussian import action_covariance

WORLD = "PeriodicGP-Synthetic-v0"


def world_and_problem(**arguments):
    env = gym.make(WORLD, **arguments).unwrapped
    _, info = env.reset(seed=0)
    return env.setup.world, problem_of(env, info)


@pytest.mark.parametrize("kind", ["se", "matern", "linear"])
@pytest.mark.parametrize(("dim", "n_actions"), [(1, None), (2, None), (3, None), (2, 12)])
def test_kernels_of_agents_equal_those_of_worlds(kind, dim, n_actions):
    world, problem = world_and_problem(
        action_kernel=kind, dim=dim, n_actions=n_actions, action_width=7.0
    )
    rng = np.random.default_rng(0)
    unit = rng.uniform(-1, 1, (6, dim)) if n_actions is None else world.points
    stated = [[action_covariance(world, a, b) for b in unit] for a in unit]
    kernel, actions = action_kernel_of(problem, kind, 1.0, 2.5), actions_of(problem)
    points = actions.points(problem.action_half_width * unit if n_actions is None else None)
    np.testing.assert_allclose(kernel(points, points), stated, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.own(points), np.diagonal(stated), rtol=1e-12, atol=1e-14)
