"""From a structure to a posterior without observations."""

from __future__ import annotations

from agents.auto.structures import NOISE, Candidate
from agents.auto.transform import RewardTransform
from agents.base import Problem
from agents.gp import Actions, Kernel, Posterior
from agents.gp.posteriors.mixture import make_members
from agents.gp.posteriors.period_search import PeriodSearch, usual_range
from agents.zoo.gp.parts.normalisation import LEAST_NOISE_VARIANCE


def make_member(
    problem: Problem, actions: Actions, candidate: Candidate, kernel: Kernel, noise: float
) -> Posterior:
    """A posterior of a candidate with this kernel; a search if its period has yet to be found."""
    horizon = problem.horizon
    if candidate.searched:
        low, high = usual_range(horizon)
        return PeriodSearch(kernel, actions, noise, low=low, high=high, horizon=horizon)
    return make_members([kernel], actions, noise, horizon=horizon)[0]


def noise_variance_of(problem: Problem, scale: RewardTransform) -> float:
    """The variance of the noise on the scale of the rewards, as far as the problem says."""
    if problem.noise_std is None or scale.transform != "identity":
        return NOISE
    return max((problem.noise_std / scale.normaliser.scale) ** 2, LEAST_NOISE_VARIANCE)
