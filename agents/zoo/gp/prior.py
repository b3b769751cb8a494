"""What a GP agent believes before it has seen anything: actions, kernel, scale, noise, season."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from agents.base import Problem
from agents.checks import number, positive
from agents.gp import (
    ActionKernel,
    Actions,
    Box,
    Finite,
    InContext,
    Index,
    Linear,
    Matern,
    Normaliser,
    SquaredExponential,
)

PAPER_NOISE_VARIANCE = 0.5
"""The paper's sigma^2 on rewards of unit scale, for problems that do not tell their noise."""


UNKNOWN_HORIZON = 1000
"""What is taken for the number of steps, where a rule needs one and nobody knows it."""


def memory_of(problem: Problem, variation: float) -> float:
    """sqrt(T / P): steps to remember where rewards change by P in all over T steps."""
    return math.sqrt((problem.horizon or UNKNOWN_HORIZON) / positive("variation", variation))


def same_actions(one: Actions, other: Actions) -> bool:
    """Whether two sets of actions are the same."""
    if isinstance(one, Finite) and isinstance(other, Finite):
        return np.array_equal(one.x, other.x)
    if isinstance(one, Box) and isinstance(other, Box):
        return np.array_equal(one.low, other.low) and np.array_equal(one.high, other.high)
    if isinstance(one, InContext) and isinstance(other, InContext):
        return one.dimension == other.dimension and same_actions(one.actions, other.actions)
    return False


def context_columns(problem: Problem) -> tuple[int, ...]:
    """Which entries of an observation are a context: neither time nor phase."""
    known = ("t", "cos_phase", "sin_phase")
    return tuple(i for i, name in enumerate(problem.observation_fields) if name not in known)


def finite_context(context: NDArray[np.float64]) -> NDArray[np.float64]:
    """The context, or an error if nothing can be known in it."""
    if not np.isfinite(context).all():
        raise ValueError(f"a context must be finite, got {context}")
    return context


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
    told = math.ceil(problem.period) if problem.period is not None else 24
    return given if given is not None else min(told, most)


def actions_of(problem: Problem) -> Finite | Box:
    """The actions in the coordinates of the kernel."""
    if problem.n_actions is None:
        half_width = np.full(problem.dim, problem.action_half_width)
        return Box(-half_width, half_width)
    if problem.action_features is None:
        return Finite.arms(problem.n_actions)
    return Finite(problem.action_features)


def action_kernel_of(problem: Problem, kind: str, length_scale: float, nu: float) -> ActionKernel:
    """The kernel on the actions; arms without coordinates are independent."""
    kinds: dict[str, ActionKernel] = {
        "se": SquaredExponential(length_scale),
        "matern": Matern(nu, length_scale),
        "linear": Linear(),
    }
    if kind not in kinds:
        raise ValueError(f"action_kernel must be one of {', '.join(kinds)}, got {kind!r}")
    without_coordinates = problem.n_actions is not None and problem.action_features is None
    return Index() if without_coordinates else kinds[kind]


def first_normaliser(
    problem: Problem, mean: float | None = None, scale: float | None = None
) -> Normaliser | None:
    """The scale of the rewards, if it is given or known beforehand."""
    if (mean is None) != (scale is None):
        raise ValueError("prior_mean and prior_scale are given together or not at all")
    if mean is not None and scale is not None:
        return Normaliser(number("prior_mean", mean), number("prior_scale", scale))
    past = problem.warm_start
    if past is not None and np.isfinite(past.reward).any():
        return Normaliser.of(past.reward[np.isfinite(past.reward)])
    return None if problem.reward_scale is None else Normaliser(*problem.reward_scale)


def noise_variance_of(problem: Problem, scale: Normaliser | None, given: float | None) -> float:
    """The variance of the noise on the scale of the prior."""
    if given is not None:
        return number("noise_variance", given)
    if problem.noise_std is None or scale is None:
        return PAPER_NOISE_VARIANCE
    # A noiseless world still needs a positive variance to invert.
    return max((problem.noise_std / scale.scale) ** 2, 1e-6)
