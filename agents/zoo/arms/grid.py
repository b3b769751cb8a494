"""Agents that think in arms: a box is cut into a few points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from agents.base import Agent, Experience, Problem

MAX_BOX_ARMS = 100_000
MAX_TABLE_CELLS = 10_000_000
"""Most (phase, arm) pairs for which a table is kept."""


def arms_of(problem: Problem, count: int) -> NDArray[Any]:
    """All actions of a finite set, or ``count`` evenly spread points of a box, shape (n, d)."""
    if problem.n_actions is not None:
        return np.arange(problem.n_actions)
    if not isinstance(count, int) or not 1 <= count <= MAX_BOX_ARMS:
        raise ValueError(f"box_arms must be a whole number in [1, {MAX_BOX_ARMS}], got {count!r}")
    dim = problem.dim
    if dim == 1:
        return np.linspace(-1.0, 1.0, count, dtype=np.float32)[:, None]
    spread = np.asarray(qmc.Halton(dim, scramble=False).random(count), dtype=np.float32)
    return 2.0 * spread - 1.0


def nearest_arm(arms: NDArray[Any], action: Any) -> int:
    """The arm that an action is, or is closest to."""
    if arms.ndim == 1:
        return int(action)
    distance = np.square(arms - np.asarray(action, dtype=np.float64)).sum(axis=1)
    return int(distance.argmin())


def learn_from(agent: Agent, past: Experience | None) -> None:
    """Let an agent learn from the warm start."""
    if past is not None:
        for t, action, reward in zip(past.t, past.action, past.reward, strict=True):
            agent.update(np.array([t], dtype=np.float64), action, float(reward))


def as_action(arms: NDArray[Any], arm: int) -> Any:
    """The arm in the action space."""
    return int(arm) if arms.ndim == 1 else arms[arm].copy()
