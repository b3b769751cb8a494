"""Observations to learn hyper-parameters from: random actions in other worlds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

Stretch = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]

MOST_WORLDS, MOST_STEPS = 8, 200
"""Worlds that are looked at, and steps of each."""


def random_stretches(
    from_space: Callable[[Any], Any],
    envs: VectorEnv[Any, Any, Any],
    steps: int,
    rng: np.random.Generator,
) -> list[Stretch]:
    """Actions in the kernel's coordinates, times and rewards of some worlds.

    Args:
        from_space: From the action space to the coordinates of the kernel.
        envs: Worlds; only the first few copies are looked at, in their first episode.
        steps: Interactions that may be used, all copies together.
        rng: Chooses the actions.
    """
    rounds = min(steps // envs.num_envs, MOST_STEPS)
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
    copies = range(min(envs.num_envs, MOST_WORLDS))
    return [(from_space(chosen[:, i]), times[:, i], gained[:, i]) for i in copies]
