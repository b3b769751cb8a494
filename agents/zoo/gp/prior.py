"""Parts of a prior that follow from the problem: actions, kernel, season, scale and noise."""

from __future__ import annotations

import math

import numpy as np

from agents.base import Problem
from agents.checks import number, one_of, positive
from agents.gp import (
    ActionKernel,
    Box,
    Finite,
    Index,
    Linear,
    Matern,
    Normaliser,
    SquaredExponential,
)

PAPER_NOISE_VARIANCE = 0.5
"""The paper's sigma^2 on rewards of unit scale, for problems whose noise is not known."""
MIN_NOISE_VARIANCE = 1e-6
"""A noiseless world still needs a positive variance to invert."""


def memory_of(problem: Problem, variation: float) -> float:
    """sqrt(T / P): steps to remember where rewards change by P in all over T steps."""
    return math.sqrt(problem.likely_horizon / positive("variation", variation))


FINDERS = "periodic-gp-ucb:period=auto or auto-gp-ucb, which find it themselves"
"""Agents for problems without a known period."""


def main_period(problem: Problem, period: float | None, *, setting: str = "period=24") -> float:
    """The given period, or the problem's; if neither is known, an error names the setting."""
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


def scale_of(
    problem: Problem, mean: float | None = None, scale: float | None = None
) -> Normaliser | None:
    """The scale of the rewards: as given, or by the warm start, or as the problem says."""
    if (mean is None) != (scale is None):
        raise ValueError("prior_mean and prior_scale are given together or not at all")
    if mean is not None and scale is not None:
        return Normaliser(number("prior_mean", mean), number("prior_scale", scale))
    past = problem.warm_start
    if past is not None and np.isfinite(past.reward).any():
        return Normaliser.of(past.reward[np.isfinite(past.reward)])
    return None if problem.reward_scale is None else Normaliser(*problem.reward_scale)


def noise_variance_of(
    problem: Problem, scale: Normaliser | None, given: float | None = None
) -> float:
    """The variance of the noise on a scale of rewards: as given, or as the problem says."""
    if given is not None:
        return number("noise_variance", given)
    if problem.noise_std is None or scale is None:
        return PAPER_NOISE_VARIANCE
    return max((problem.noise_std / scale.scale) ** 2, MIN_NOISE_VARIANCE)
