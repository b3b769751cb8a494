"""Decisions that others made before the start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from agents.base import Problem
from agents.gp import Array


def past_decisions(problem: Problem) -> Iterator[tuple[Array, Any, float]]:
    """The warm start as observations (of the time alone), actions and rewards; nothing if none."""
    past = problem.warm_start
    if past is not None:
        for t, action, reward in zip(past.t, past.action, past.reward, strict=True):
            yield np.array([t]), action, float(reward)
