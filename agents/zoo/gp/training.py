"""Hyper-parameters by evidence: from a warm start, or from random actions in other worlds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from agents.gp import Actions, InContext, Kernel, Normaliser, fit
from agents.gp.parameters import free_parameters, get, put
from agents.zoo.gp.parts import ActionSpaceMap

Stretch = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]

MAX_WORLDS, MAX_STEPS = 8, 200
"""Worlds that are looked at, and steps of each: more would take long and change little."""


class Hyperparameters(NamedTuple):
    """A kernel, and the scale and the noise of the rewards that go with it."""

    kernel: Kernel
    normaliser: Normaliser
    noise_variance: float


def fit_warm_start(
    kernel: Kernel, actions: Actions, space: ActionSpaceMap, noise_variance: float
) -> Hyperparameters:
    """Hyper-parameters of the problem's own warm start.

    Args:
        kernel: The template.
        actions: Where the actions come from.
        space: Knows the problem.
        noise_variance: Start for the variance of the noise.
    """
    past = space.problem.warm_start
    if past is None or isinstance(actions, InContext) or not np.isfinite(past.reward).any():
        raise ValueError("fit_warm_start needs a problem with a warm start")
    known = np.isfinite(past.reward)
    taken = [space.from_space(space.problem.checked(action)) for action in past.action[known]]
    stretch = (np.array(taken), past.t[known], past.reward[known])
    found = fit(kernel, actions, [stretch], noise_variance)
    return Hyperparameters(found.kernel, found.normaliser, found.noise_variance)


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


def unpacked(kernel: Kernel, learned: Mapping[str, NDArray[Any]]) -> Hyperparameters:
    """What ``fit_stretches`` has learned, put into the template."""
    fitted = put(kernel, free_parameters(kernel), learned["kernel"])
    normaliser = Normaliser(*learned["scale"].tolist())
    return Hyperparameters(fitted, normaliser, float(learned["noise_variance"]))


def random_stretches(
    space: ActionSpaceMap, envs: VectorEnv[Any, Any, Any], steps: int, rng: np.random.Generator
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
