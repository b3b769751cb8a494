"""Fits of hyper-parameters to a warm start, or to rewards of random actions in other worlds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from agents.arrays import Rng
from agents.gp import Fit, Kernel, Normaliser, fit
from agents.gp.evidence import free_parameters, get, put

if TYPE_CHECKING:
    from agents.zoo.gp.gp_agent import GPAgent

MAX_WORLDS, MAX_STEPS = 8, 200
"""Maximum numbers of worlds and of steps per world; more would take long and change little."""


def fit_warm_start(agent: GPAgent) -> Fit:
    """Fit an agent's hyper-parameters to the warm start of its problem."""
    problem, coordinates = agent._problem, agent.coordinates
    past = problem.warm_start
    if past is None or coordinates.have_contexts or not np.isfinite(past.reward).any():
        raise ValueError(
            "fit_warm_start=true requires a warm start with at least one finite reward, and cannot "
            "be combined with context_length_scale"
        )
    known = np.isfinite(past.reward)
    taken = np.array([coordinates.of(problem.checked(action)) for action in past.action[known]])
    rewards = (taken, past.t[known], past.reward[known])
    return fit(agent.kernel, coordinates.actions, [rewards], agent.noise_variance)


def fit_worlds(
    agent: GPAgent, envs: VectorEnv[Any, Any, Any], steps: int, rng: Rng
) -> dict[str, NDArray[Any]]:
    """Fit an agent's hyper-parameters to rewards of random actions in other worlds.

    The prior of the hyper-parameters is centred on their values in the agent.

    Args:
        agent: Agent whose kernel, actions and noise variance are the template of the fit.
        envs: Vector environment of worlds. Only the first episode of the first ``MAX_WORLDS``
            copies is used.
        steps: Maximum number of interactions, summed over all copies.
        rng: Generator of the random actions.

    Returns:
        The fitted values as plain arrays, which ``unpacked`` reads.
    """
    chosen, times, rewards = _random_play(envs, steps, rng)
    of, copies = agent.coordinates.of, range(min(envs.num_envs, MAX_WORLDS))
    stretches = [(of(chosen[:, i]), times[:, i], rewards[:, i]) for i in copies]
    template = (agent.kernel, agent.coordinates.actions, stretches, agent.noise_variance)
    fitted = fit(*template, spread=1.0, starts=3, scan=30)
    return {
        "kernel": get(fitted.kernel, free_parameters(fitted.kernel)),
        "scale": np.array([fitted.normaliser.mean, fitted.normaliser.scale]),
        "noise_variance": np.array(fitted.noise_variance),
    }


def unpacked(kernel: Kernel, learned: Mapping[str, NDArray[Any]]) -> Fit:
    """Return a fit of the kernel with the values from ``fit_worlds``; its evidence is NaN."""
    fitted = put(kernel, free_parameters(kernel), learned["kernel"])
    normaliser = Normaliser(*learned["scale"].tolist())
    return Fit(fitted, float(learned["noise_variance"]), normaliser, math.nan)


def _random_play(envs: VectorEnv[Any, Any, Any], steps: int, rng: Rng) -> list[NDArray[Any]]:
    """Return actions, times and rewards as arrays, with a row per step and a column per copy."""
    rounds = min(steps // envs.num_envs, MAX_STEPS)
    if rounds < 2:
        raise ValueError(
            f"training needs at least {2 * envs.num_envs} steps, two in each of {envs.num_envs} "
            f"copies of the world, got {steps}"
        )
    envs.action_space.seed(int(rng.integers(2**31)))
    observations, _ = envs.reset()
    rows: list[tuple[Any, Any, Any]] = []
    for _ in range(rounds):
        actions = envs.action_space.sample()
        after, rewards, _, truncated, _ = envs.step(actions)
        rows.append((actions, observations[:, 0], rewards))
        if truncated.any():
            break
        observations = after
    return [np.array(column) for column in zip(*rows, strict=True)]
