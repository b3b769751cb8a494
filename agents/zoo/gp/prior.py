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
"""Value of sigma^2 in the paper for rewards of unit scale, used if the noise is unknown."""
MIN_NOISE_VARIANCE = 1e-6
"""Lower bound on the noise variance, so that covariances of noiseless worlds are invertible."""


def memory_of(problem: Problem, variation: float) -> float:
    """Return sqrt(T / P), an agent's memory in steps, for a total variation P over T steps."""
    return math.sqrt(problem.likely_horizon / positive("variation", variation))


FINDERS = "periodic-gp-ucb:period=auto or auto-gp-ucb, which find the period automatically"
"""Names of the agents that find an unknown period, as text for error messages."""


def main_period(problem: Problem, period: float | None, *, setting: str = "period=24") -> float:
    """Return the given period, or the problem's main period; raise an error if neither is known.

    Args:
        problem: Problem, which may have a main period.
        period: Value of the setting; None if it is not given.
        setting: Example of the setting, for the error message.
    """
    known = period if period is not None else problem.period
    if known is None:
        raise ValueError(
            "this agent needs a period, but the problem has none: add "
            f":{setting} to the name of the agent, or choose {FINDERS}"
        )
    return positive("period", known)


def longest_period(problem: Problem, max_period: int | None, *, most: int) -> int:
    """Return the setting ``max_period``, or a default if it is None.

    The default is the problem's main period, rounded up, or 24 if this period is unknown. A setting
    above ``most`` is an error; a default above ``most`` is reduced to ``most``.
    """
    if max_period is not None and (not isinstance(max_period, int) or not 1 <= max_period <= most):
        raise ValueError(f"max_period must be a whole number in [1, {most}], got {max_period!r}")
    known = math.ceil(problem.period) if problem.period is not None else 24
    return max_period if max_period is not None else min(known, most)


def actions_of(problem: Problem) -> Finite | Box:
    """Return the actions in the coordinates of the kernel."""
    if problem.n_actions is None:
        half_width = np.full(problem.dim, problem.action_half_width)
        return Box(-half_width, half_width)
    if problem.action_features is None:
        return Finite.arms(problem.n_actions)
    return Finite(problem.action_features)


def action_kernel_of(problem: Problem, kind: str, length_scale: float, nu: float) -> ActionKernel:
    """Return the kernel over the actions; arms without coordinates are independent.

    The kernel "linear" is a . b / d in units of the box, as in the worlds, so its variance is 1 in
    the corners of the box.
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
    """Return the scale of the rewards from settings, warm start or problem; None if unknown."""
    if (mean is None) != (scale is None):
        raise ValueError(
            f"prior_mean and prior_scale must be given together, got {mean} and {scale}"
        )
    if mean is not None and scale is not None:
        return Normaliser(number("prior_mean", mean), number("prior_scale", scale))
    past = problem.warm_start
    if past is not None and np.isfinite(past.reward).any():
        return Normaliser.of(past.reward[np.isfinite(past.reward)])
    return None if problem.reward_scale is None else Normaliser(*problem.reward_scale)


def noise_variance_of(
    problem: Problem, scale: Normaliser | None, setting: float | None = None
) -> float:
    """Return the noise variance on the scale of the prior: the setting, or the problem's value.

    The result is ``PAPER_NOISE_VARIANCE`` if the noise or the scale of the rewards is unknown.
    """
    if setting is not None:
        return number("noise_variance", setting)
    if problem.noise_std is None or scale is None:
        return PAPER_NOISE_VARIANCE
    return max((problem.noise_std / scale.scale) ** 2, MIN_NOISE_VARIANCE)
