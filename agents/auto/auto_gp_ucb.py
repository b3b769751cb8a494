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
"""Value of beta_t while a prior is in use, if the setting ``beta`` is "auto"."""
PRUNE_EVERY = 8
"""Number of rewards between two removals of improbable structures."""


def builder_for(problem: Problem, transform: str, prior: str | None) -> Builder:
    """Return the builder of beliefs for a problem."""
    if prior is not None:
        return Pretrained(problem, transform, prior)
    if problem.reward_scale is not None:
        return KnownScale(problem, transform)
    return LearnedScale(problem, transform)


class AutoGPUCB(Saveable):
    """Auto-GP-UCB: GP-UCB without required settings, which learns its kernel and the reward scale.

    Pseudo-code::

        f = level + smooth season + sharp season + persistence, each per arm and in common
        at 8, 16, 32, ... rewards (or the warm start, and 2, 4, ... times its length):
            scale <- identity, root or log1p, by evidence; sharp season <- in or out, by evidence
            variances of all parts and of the noise <- maximum a posteriori
            belief <- all observations; past choices of an expert imply that no other arm was better
        mu <- mean of f;  sigma <- deviation of the part of f that is still useful later
        a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a); observe y_t

    If the problem states the scale of the rewards, the belief is a mixture of several kernels,
    which are called *structures*: level, season, drifting season and persistence, as in the paper
    and its discussion. With contexts, the structures are level and season, each with and without an
    effect of the context. If the scale is unknown, all parts are terms of one kernel, as in the
    pseudo-code.

    The periods of the seasons are those that the problem states. If the scale is unknown, the
    shortest season may also have a sharp part, which consists of higher harmonics. If the problem
    states no period, the agent searches for the period of one smooth season
    (:meth:`period_belief`). The structure with this season and the structures without a season are
    weighted by evidence.

    Evidence also decides whether the warm start is treated as the choices of an expert: the
    probability that the chosen arms were the best is compared with the probability of choosing
    these arms at random. At most 2,048 observations are stored for refits. Refits become rarer with
    time, and the cost of each refit is bounded.

    With the setting ``prior``, the belief is a mixture of the prior and two copies with larger
    variances, weighted by evidence. While the log evidence of the belief without a prior exceeds
    that of this mixture by more than 20, the agent uses the belief without a prior. If the kernel
    has a persistence term, :meth:`belief` at a past time is an approximation, which is computed
    from the belief at the time of the newest reward.

    Reference: [@cai2021periodic] for the season, [@hoeting1999bayesian] for the mixture, and
    [@minka2001expectation] for learning from the choices of an expert.

    Deviations from the paper: Periodic-GP-UCB has one season of a known period, one kernel with
    known hyper-parameters, and a bonus for all uncertainty about the current reward. In Auto-GP-UCB
    a season is one term among several, an unknown period is searched for, and several kernels are
    weighted by evidence. An unknown scale of the rewards is learned together with the variances.
    Past choices may be treated as the choices of an expert. If the scale of the rewards is unknown,
    the bonus of an arm weights the uncertainty about each term of the kernel by how useful
    knowledge of this term is in later steps. A season has at most eleven harmonics.

    Args:
        prior: Prior that replaces the learned scale and variances: "madrid", or a file written by
            ``periodic-gp learn-prior``. An agent with a prior is in the track "pretrained".
        beta: Exploration schedule: "paper", "steady", "printed", "theorem" (which means "finite" or
            "box", depending on the actions), a number, or one of these with a factor, as
            "NAME*FACTOR". The default, "auto", means 1 while a prior is in use, otherwise "paper"
            if the scale of the rewards is known, and "steady" if the scale is unknown.
        transform: Transform of the rewards if their scale is unknown: "identity", "sqrt", "log1p",
            or "auto" for the transform with the highest evidence.
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
        if not self.coordinates.have_contexts:  # decisions of a warm start have no contexts
            for observation, action, reward in problem.past_decisions():
                self._keep(observation, action, reward, from_warm_start=True)
        self._build()

    @property
    def posterior(self) -> Mixture:
        """Belief about the transformed rewards.

        While a prior is in use, the belief is about their deviations from the profile of the prior.
        """
        return self._belief.posterior

    @property
    def scale(self) -> RewardTransform | None:
        """Transform from rewards to the scale of the posterior; None until it is learned."""
        return self._belief.scale

    @property
    def history(self) -> History:
        """Stored observations."""
        return History.of(self._kept)

    def act(self, observation: Array) -> Any:
        """Return the action that maximises mean + sqrt(beta_t) * standard deviation at time t."""
        t = time_of(observation)
        self.coordinates.enter(observation)
        self._steps += 1
        follows = self._is_calm and self._belief.offset is not None
        beta = CALM_BETA if follows else self._beta(self._steps)
        return self.coordinates.action(self._acquisition.choose(t, beta))

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Learn from a reward, which may be late or out of order; a reward of NaN is ignored."""
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
        """Return the median and the spread of the mean reward at time t, in the unit of rewards.

        The belief is normal on the scale of the posterior. The spread is the difference between the
        rewards at half a standard deviation above and below the mean on that scale. Until the scale
        is known, median and spread are in units of the standard deviation of the rewards.

        Args:
            t: Time.
            actions: Arms, or box actions (q, d) in [-1, 1]; all arms if None.
        """
        points = self.coordinates.to_kernel(actions)
        return self._belief.rewards(self._view.predict(t, points), t, points)

    def period_belief(self) -> tuple[Array, Array]:
        """Return the candidate periods in ascending order, and their probabilities.

        The probabilities assume that a season exists. If the agent does not search for a period,
        the only candidate is the first period of the kernel, with probability 1. If the kernel has
        no season, the arrays are empty.
        """
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
        """Return the probability of each remaining candidate structure, by name."""
        return dict(zip(self._belief.names, self.posterior.weights.tolist(), strict=True))

    def _keep(
        self, observation: Array, action: Any, reward: float, *, from_warm_start: bool
    ) -> bool:
        """Store an observation and return True; return False if its reward is missing."""
        t = float(observation[0])
        if not is_valid_reward(reward, t):
            return False
        placed = self.coordinates.placed(action, observation)
        self._kept.append(Observation(placed, t, reward, from_warm_start))
        self._count += 1
        return True

    def _build(self) -> None:
        """Build a belief from all stored observations, and use this belief for later choices."""
        self._next = self._builder.next_build(self._count)
        self._adopt(self._builder.build(self.history))

    def _adopt(self, belief: Belief) -> None:
        """Use a belief for all later choices."""
        self._belief = belief
        self._view = self.coordinates.view(belief.simplest)
        self._acquisition = belief.acquisition(self._view, self._rng)

    def _prune(self) -> None:
        """Drop improbable structures, whose updates cost as much as those of probable ones."""
        pruned = self._belief.pruned()
        if pruned is not self._belief:
            self._adopt(pruned)
