"""The agent that needs no settings."""

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
"""Exploration while a prior is followed."""
PRUNE_EVERY = 8
"""Rewards after which improbable structures are dropped, until the belief is built again."""


def builder_for(problem: Problem, transform: str, prior: str | None) -> Builder:
    """The builder of beliefs for the situation."""
    if prior is not None:
        return Pretrained(problem, transform, prior)
    if problem.reward_scale is not None:
        return KnownScale(problem, transform)
    return LearnedScale(problem, transform)


class AutoGPUCB(Saveable):
    """Auto-GP-UCB: scale and variances by evidence, and optimism; needs no settings.

    Pseudo-code::

        f = level + smooth season + sharp season + persistence, each arm's own and common to all
        at 8, 16, 32, ... rewards (or the warm start, and 2, 4, ... times as many):
            scale <- identity, root or log1p, by evidence; sharp season <- in or out, by evidence
            variances of all parts and of the noise <- maximum a posteriori
            belief <- all that was seen; past choices of an expert: no other arm was better
        mu <- mean of f;  sigma <- deviation of what a choice can teach of f for later steps
        a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a); observe y_t

    Where the problem gives the scale of the rewards and the noise, the candidates are those of the
    paper and its discussion: level, season, drifting season, persistence. Seasons are those of the
    problem, the shortest of which may be sharp; if it has none, one smooth season is searched for
    (:meth:`period_belief`) and weighed against none. Whether the warm start was an expert's is
    decided by evidence, too: by how likely it is that these arms were the best, against choices at
    random. At most 2,048 observations are kept for refits, whose work is bounded and ever rarer.
    With a prior, it and two copies that doubt it are weighed by evidence, and left for no prior at
    all where that has clearly more. ``belief`` of a past time is not smoothed where something
    persists.

    Reference: [@cai2021periodic] for the season, [@hoeting1999bayesian] for the mixture,
    [@minka2001expectation] for what an expert's choices tell.

    Deviations from the paper: Periodic-GP-UCB has one season of a known period, one kernel with
    hyper-parameters that are given, and a bonus for all that is uncertain now. Here a season is one
    part among several, an unknown period is searched for, and several kernels are weighed by
    evidence. Where the scale of the rewards is not known, it and the variances are learned. Past
    choices may be taken for an expert's. The bonus is for what a choice teaches about later steps.
    Seasons have at most eleven harmonics.

    Args:
        prior: "madrid", or a file with what was learned elsewhere, as ``periodic-gp learn-prior``
            writes it: it takes the place of scale and variances. Belongs in the track "pretrained".
        beta: Exploration: "paper", "steady", "printed", "theorem" (that is, "finite" or "box"), a
            number, or one of these as "NAME*FACTOR"; "auto" is "paper" where the scale of the
            rewards is known, "steady" where it is not, and 1 while a prior is followed.
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
        self._is_calm = beta == "auto"  # while it follows a prior, which knows enough
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
        """The scale of the rewards, once there is one."""
        return self._belief.scale

    @property
    def history(self) -> History:
        """The observations that are kept."""
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
        """Learn from a reward, late and out of order if need be; a NaN is ignored."""
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
        """Median and spread of the reward at time t, in units of the reward.

        The spread is that of one standard deviation, half of it above and half below. Before a
        scale is known, both are in units of the prior.

        Args:
            t: When.
            actions: Arms, or box actions (q, d) in [-1, 1]; all arms if None.
        """
        asked = self.coordinates.asked(actions)
        return self._belief.rewards(self._view.predict(t, asked), t, asked)

    def period_belief(self) -> tuple[Array, Array]:
        """Periods that are considered, ascending, and their probabilities if there is a season."""
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
        """The candidates that are left, and their probabilities."""
        return dict(zip(self._belief.names, self.posterior.weights.tolist(), strict=True))

    def _keep(
        self, observation: Array, action: Any, reward: float, *, from_warm_start: bool
    ) -> bool:
        """Keep an observation; whether there was any news."""
        t = float(observation[0])
        if not is_valid_reward(reward, t):
            return False
        placed = self.coordinates.placed(action, observation)
        self._kept.append(Observation(placed, t, reward, from_warm_start))
        self._count += 1
        return True

    def _build(self) -> None:
        """A belief from all that is kept, with a scale and variances chosen again."""
        self._next = self._builder.next_build(self._count)
        self._adopt(self._builder.build(self.history))

    def _adopt(self, belief: Belief) -> None:
        """Choose by this belief from now on."""
        self._belief = belief
        self._view = self.coordinates.view(belief.simplest)
        self._acquisition = belief.acquisition(self._view, self._rng)

    def _prune(self) -> None:
        """Drop what is improbable: it costs as much as the rest."""
        pruned = self._belief.pruned()
        if pruned is not self._belief:
            self._adopt(pruned)
