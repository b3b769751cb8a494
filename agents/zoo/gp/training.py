"""Hyper-parameters by evidence: from a warm start, or from random actions in other worlds."""

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
"""Worlds that are looked at, and steps of each: more would take long and change little."""


def fit_warm_start(agent: GPAgent) -> Fit:
    """Fit an agent's hyper-parameters to the warm start of its problem."""
    problem, coordinates = agent._problem, agent.coordinates
    past = problem.warm_start
    if past is None or coordinates.have_contexts or not np.isfinite(past.reward).any():
        raise ValueError("fit_warm_start needs a problem with a warm start")
    known = np.isfinite(past.reward)
    taken = np.array([coordinates.of(problem.checked(action)) for action in past.action[known]])
    rewards = (taken, past.t[known], past.reward[known])
    return fit(agent.kernel, coordinates.actions, [rewards], agent.noise_variance)


def fit_worlds(
    agent: GPAgent, envs: VectorEnv[Any, Any, Any], steps: int, rng: Rng
) -> dict[str, NDArray[Any]]:
    """Fit hyper-parameters to random actions in some worlds, with a prior around the agent's.

    Args:
        agent: Gives the template.
        envs: Worlds; only the first few copies are looked at, in their first episode.
        steps: Interactions that may be used, all copies together.
        rng: Chooses the actions.

    Returns:
        Plain arrays for ``unpacked``.
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
    """Return the result of ``fit_worlds``, put into the template; its evidence is not known."""
    fitted = put(kernel, free_parameters(kernel), learned["kernel"])
    normaliser = Normaliser(*learned["scale"].tolist())
    return Fit(fitted, float(learned["noise_variance"]), normaliser, math.nan)


def _random_play(envs: VectorEnv[Any, Any, Any], steps: int, rng: Rng) -> list[NDArray[Any]]:
    """Return actions, times and rewards, a row for each step and a column for each copy."""
    rounds = min(steps // envs.num_envs, MAX_STEPS)
    if rounds < 2:
        raise ValueError(f"{steps} steps are too few for {envs.num_envs} copies")
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
