"""What an agent takes from its problem before it has seen anything: actions, kernel, season."""

from __future__ import annotations

import math

import numpy as np

from agents.base import Problem
from agents.checks import one_of, positive
from agents.gp import ActionKernel, Box, Finite, Index, Linear, Matern, SquaredExponential


def memory_of(problem: Problem, variation: float) -> float:
    """sqrt(T / P): steps to remember where rewards change by P in all over T steps."""
    return math.sqrt(problem.likely_horizon / positive("variation", variation))


FINDERS = "periodic-gp-ucb:period=auto or auto-gp-ucb, which find it themselves"
"""What to choose where nobody knows the period."""


def main_period(problem: Problem, period: float | None, *, setting: str = "period=24") -> float:
    """The given period, or the problem's; an error if nobody knows, with the setting to give."""
    known = period if period is not None else problem.period
    if known is None:
        raise ValueError(
            "this agent needs a period and the problem tells none: give one by writing "
            f":{setting} behind its name, or choose {FINDERS}"
        )
    return positive("period", known)


def longest_period(problem: Problem, given: int | None, *, most: int) -> int:
    """The setting, or the problem's main season rounded up, or 24; at most ``most``."""
    if given is not None and (not isinstance(given, int) or not 1 <= given <= most):
        raise ValueError(f"max_period must be a whole number in [1, {most}], got {given!r}")
    known = math.ceil(problem.period) if problem.period is not None else 24
    return given if given is not None else min(known, most)


def actions_of(problem: Problem) -> Finite | Box:
    """The actions in the coordinates of the kernel."""
    if problem.n_actions is None:
        half_width = np.full(problem.dim, problem.action_half_width)
        return Box(-half_width, half_width)
    if problem.action_features is None:
        return Finite.arms(problem.n_actions)
    return Finite(problem.action_features)


def action_kernel_of(problem: Problem, kind: str, length_scale: float, nu: float) -> ActionKernel:
    """The kernel on the actions; arms without coordinates are independent.

    "linear" is a . b / d in units of the box, as in the worlds: variance 1 in its corners.
    """
    features = problem.action_features
    dim = problem.dim if features is None else features.shape[1]
    kinds: dict[str, ActionKernel] = {
        "se": SquaredExponential(length_scale),
        "matern": Matern(nu, length_scale),
        "linear": Linear(problem.action_half_width * math.sqrt(dim)),
    }
    one_of("action_kernel", kind, tuple(kinds))
    without_coordinates = problem.n_actions is not None and problem.action_features is None
    return Index() if without_coordinates else kinds[kind]
