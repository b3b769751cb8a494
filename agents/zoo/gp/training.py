"""Hyper-parameters by evidence: from a warm start, or from random actions in other worlds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from agents.arrays import Rng
from agents.gp import Actions, Fit, InContext, Kernel, Normaliser, fit
from agents.gp.parameters import free_parameters, get, put
from agents.zoo.gp.parts import ActionSpaceMap

Stretch = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]

MAX_WORLDS, MAX_STEPS = 8, 200
"""Worlds that are looked at, and steps of each: more would take long and change little."""


def fit_warm_start(
    kernel: Kernel, actions: Actions, space: ActionSpaceMap, noise_variance: float
) -> Fit:
    """Hyper-parameters of the problem's own warm start, from those of a template."""
    past = space.problem.warm_start
    if past is None or isinstance(actions, InContext) or not np.isfinite(past.reward).any():
        raise ValueError("fit_warm_start needs a problem with a warm start")
    known = np.isfinite(past.reward)
    taken = [space.from_space(space.problem.checked(action)) for action in past.action[known]]
    stretch = (np.array(taken), past.t[known], past.reward[known])
    return fit(kernel, actions, [stretch], noise_variance)


def fit_stretches(
    kernel: Kernel, actions: Actions, stretches: list[Stretch], noise_variance: float
) -> dict[str, NDArray[Any]]:
    """Hyper-parameters of some worlds, with a prior around the template, in plain arrays."""
    found = fit(kernel, actions, stretches, noise_variance, spread=1.0, starts=3, scan=30)
    return {
        "kernel": get(found.kernel, free_parameters(found.kernel)),
        "scale": np.array([found.normaliser.mean, found.normaliser.scale]),
        "noise_variance": np.array(found.noise_variance),
    }


def unpacked(kernel: Kernel, learned: Mapping[str, NDArray[Any]]) -> Fit:
    """What ``fit_stretches`` has learned, put into the template; its evidence is not known."""
    fitted = put(kernel, free_parameters(kernel), learned["kernel"])
    normaliser = Normaliser(*learned["scale"].tolist())
    return Fit(fitted, float(learned["noise_variance"]), normaliser, math.nan)


def random_stretches(
    space: ActionSpaceMap, envs: VectorEnv[Any, Any, Any], steps: int, rng: Rng
) -> list[Stretch]:
    """Actions in the kernel's coordinates, times and rewards of some worlds.

    Args:
        space: From the action space to the coordinates of the kernel.
        envs: Worlds; only the first few copies are looked at, in their first episode.
        steps: Interactions that may be used, all copies together.
        rng: Chooses the actions.
    """
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
    chosen, times, gained = (np.array(column) for column in zip(*rows, strict=True))
    copies = range(min(envs.num_envs, MAX_WORLDS))
    return [(space.from_space(chosen[:, i]), times[:, i], gained[:, i]) for i in copies]
