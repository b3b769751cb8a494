"""Auto-GP-UCB, an agent without required settings."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from agents.arrays import Rng
from agents.auto.belief import Belief
from agents.auto.builders import Builder, KnownScale, LearnedScale, Pretrained
from agents.auto.history import MAX_HISTORY, History, Observation
from agents.auto.transform import RewardTransform
from agents.base import Problem, is_valid_reward, time_of
from agents.gp import (
    Array,
    Harmonics,
    Mixture,
    PeriodSearch,
    TruncatedPeriodic,
    parse_beta,
)
from agents.saving import Saveable
from agents.zoo.gp.prior import actions_of

CALM_BETA = 1.0
"""beta while a prior is in use."""
PRUNE_EVERY = 8
"""Number of rewards between two prunings of improbable structures."""


def builder_for(problem: Problem, transform: str, prior: str | None) -> Builder:
    """Return the builder of beliefs for a problem."""
    if prior is not None:
        return Pretrained(problem, transform, prior)
    if problem.reward_scale is not None:
        return KnownScale(problem, transform)
    return LearnedScale(problem, transform)


class AutoGPUCB(Saveable):
    """Auto-GP-UCB: scale and variances by evidence, and optimism; needs no settings.

    Pseudo-code::

        f = level + smooth season + sharp season + persistence, each per arm and in common
        at 8, 16, 32, ... rewards (or the warm start, and 2, 4, ... times its length):
            scale <- identity, root or log1p, by evidence; sharp season <- in or out, by evidence
            variances of all parts and of the noise <- maximum a posteriori
            belief <- all observations; past choices of an expert imply that no other arm was better
        mu <- mean of f;  sigma <- deviation of the part of f that is still useful later
        a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a); observe y_t

    If the problem states the scale of the rewards and the noise, the candidates are those of the
    paper and its discussion: level, season, drifting season, persistence. Seasons are those of the
    problem, the shortest of which may be sharp. Without known seasons, one smooth season is
    searched for (:meth:`period_belief`) and compared with none. Evidence also decides whether an
    expert chose the warm start: the likelihood that these arms were the best is compared with
    random choices. At most 2,048 observations are stored for refits, which become rarer and have
    bounded cost. With a prior, the prior and two copies with larger variances are weighted by
    evidence; no prior is used if that has clearly more evidence. ``belief`` of a past time is not
    smoothed if a term persists.

    Reference: [@cai2021periodic] for the season, [@hoeting1999bayesian] for the mixture,
    [@minka2001expectation] for learning from an expert's choices.

    Deviations from the paper: Periodic-GP-UCB has one season of a known period, one kernel with
    known hyper-parameters, and a bonus for the total current uncertainty. Here a season is one term
    among several, an unknown period is searched for, and several kernels are weighted by evidence.
    An unknown scale of the rewards is learned together with the variances. Past choices may be
    treated as an expert's. The bonus counts only uncertainty that matters for later steps. Seasons
    have at most eleven harmonics.

    Args:
        prior: "madrid", or a file written by ``periodic-gp learn-prior``, which replaces scale and
            variances. Belongs in the track "pretrained".
        beta: Exploration: "paper", "steady", "printed", "theorem" (that is, "finite" or "box"), a
            number, or one of these as "NAME*FACTOR"; "auto" is "paper" if the scale of the rewards
            is known, "steady" if not, and 1 while a prior is in use.
        transform: "auto", "identity", "sqrt" or "log1p".
    """

    name = "auto-gp-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        prior: str | None = None,
        beta: str | float = "auto",
        transform: str = "auto",
    ) -> None:
        self._builder = builder_for(problem, transform, prior)
        self.coordinates = self._builder.coordinates
        default = "steady" if problem.reward_scale is None else "paper"
        self._beta = parse_beta(default if beta == "auto" else beta, actions_of(problem))
        self._is_calm = beta == "auto"  # beta is CALM_BETA while a prior is in use
        self._kept: deque[Observation] = deque(maxlen=MAX_HISTORY)
        self._count, self._steps = 0, 0
        if not self.coordinates.have_contexts:  # past decisions have no contexts
            for observation, action, reward in problem.past_decisions():
                self._keep(observation, action, reward, from_warm_start=True)
        self._build()

    @property
    def posterior(self) -> Mixture:
        """Current belief, on the scale of the rewards."""
        return self._belief.posterior

    @property
    def scale(self) -> RewardTransform | None:
        """Scale of the rewards, or None until it is known."""
        return self._belief.scale

    @property
    def history(self) -> History:
        """Stored observations."""
        return History.of(self._kept)

    def act(self, observation: Array) -> Any:
        """Maximise mean + sqrt(beta_t) * standard deviation at the time of the observation."""
        t = time_of(observation)
        self.coordinates.enter(observation)
        self._steps += 1
        follows = self._is_calm and self._belief.offset is not None
        beta = CALM_BETA if follows else self._beta(self._steps)
        return self.coordinates.action(self._acquisition.choose(t, beta))

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Learn from a reward, which may be late or out of order; a NaN is ignored."""
        if not self._keep(observation, action, float(reward), from_warm_start=False):
            return
        if self._count >= self._next:
            self._build()
            return
        newest = self._kept[-1]
        self._belief.observe(newest.action, newest.t, newest.reward)
        if self._builder.prunes and self._count % PRUNE_EVERY == 0:
            self._prune()

    def belief(self, t: float, actions: Any = None) -> tuple[Array, Array]:
        """Return the median and spread of the mean reward at time t, in units of the reward.

        The spread is the width of the interval of +- half a standard deviation. Until a scale is
        known, both are in units of the prior.

        Args:
            t: Time.
            actions: Arms, or box actions (q, d) in [-1, 1]; all arms if None.
        """
        points = self.coordinates.to_kernel(actions)
        return self._belief.rewards(self._view.predict(t, points), t, points)

    def period_belief(self) -> tuple[Array, Array]:
        """Return candidate periods in ascending order and their probabilities given a season."""
        for member in self.posterior.members:
            if isinstance(member, PeriodSearch):
                order = np.argsort(member.periods)
                return member.periods[order], member.weights[order]
        clocks = [clock for term in self.posterior.kernel.terms for clock in term.clocks]
        periods = [
            clock.period for clock in clocks if isinstance(clock, TruncatedPeriodic | Harmonics)
        ][:1]
        return np.array(periods), np.ones(len(periods))

    def structures(self) -> dict[str, float]:
        """Return the remaining candidate structures and their probabilities."""
        return dict(zip(self._belief.names, self.posterior.weights.tolist(), strict=True))

    def _keep(
        self, observation: Array, action: Any, reward: float, *, from_warm_start: bool
    ) -> bool:
        """Store an observation; return false if its reward is missing."""
        t = float(observation[0])
        if not is_valid_reward(reward, t):
            return False
        placed = self.coordinates.placed(action, observation)
        self._kept.append(Observation(placed, t, reward, from_warm_start))
        self._count += 1
        return True

    def _build(self) -> None:
        """Rebuild the belief from the stored observations, with a new scale and variances."""
        self._next = self._builder.next_build(self._count)
        self._adopt(self._builder.build(self.history))

    def _adopt(self, belief: Belief) -> None:
        """Use a belief for choices from now on."""
        self._belief = belief
        self._view = self.coordinates.view(belief.simplest)
        self._acquisition = belief.acquisition(self._view, self._rng)

    def _prune(self) -> None:
        """Drop improbable structures, which cost as much as probable ones."""
        pruned = self._belief.pruned()
        if pruned is not self._belief:
            self._adopt(pruned)
