"""The agent that needs to be told nothing."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np

from agents.auto.history import MOST, History
from agents.auto.knowledge import Knowledge, load_knowledge
from agents.auto.model import Model, Options, build, first, informed, told_scale
from agents.auto.reward_level import RewardLevel
from agents.auto.transform import Scale
from agents.base import Problem, is_news, time_of
from agents.gp import (
    UCB,
    Actions,
    Array,
    Finite,
    InContext,
    InThisContext,
    Mixture,
    Normaliser,
    PeriodSearch,
    Predictive,
    TruncatedPeriodic,
    argmax,
    from_state,
    parse_beta,
    to_state,
    upper_bound,
)
from agents.saving import Saveable
from agents.zoo.gp.prior import actions_of, context_columns, finite_context, same_actions

FIRST_REWARDS = 8
"""Rewards seen before a scale is set, where none is told."""
GROWTH, SEARCHING = 3, 2
"""A refit comes when this many times as many rewards have been seen; while no season is told."""
PRUNE, PRUNE_EVERY = 1e-3, 8
"""Structures less probable than this are dropped, until the next refit."""
SETTLED_BY_PRIOR = ("transform", "season", "persistence", "shared", "reward_level", "refit")
"""Settings that mean nothing beside a prior."""


class AutoGPUCB(Saveable):
    """Auto-GP-UCB: structure, scale and variances by evidence, and optimism; needs no settings.

    Pseudo-code::

        candidates: level, + season, + persistence, + both; each arm's own and common to all;
            where the season is told, of each arm a slope against the running mean of rewards
        at 8, 24, 72, ... rewards (or the warm start, and 3, 9, ... times as many):
            scale <- identity or log1p, by evidence; variances <- maximum a posteriori
            belief <- all that was seen; past choices of an expert: no other arm was better
        w_i <- probability of candidate i;  mu, sigma <- moments of the mixture
        a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a); observe y_t

    Where the problem tells the scale of the rewards and the noise, the candidates are those of the
    paper and its discussion: level, season, drifting season, persistence. Seasons are those that
    the problem tells; if it tells none, one season is searched for (:meth:`period_belief`), with
    variances learned at 8, 16, 32, ... rewards. Whether the warm start was an expert's is decided
    by evidence, too: by how likely it is that these arms were the best, against choices at random.
    At most 2,048 observations are kept for refits, whose work is bounded and ever rarer.

    Reference: [@cai2021periodic] for the season, [@hoeting1999bayesian] for the mixture,
    [@minka2001expectation] for what an expert's choices tell.

    Deviations from the paper: all of the above; seasons have few harmonics.

    Args:
        problem: What is known.
        rng: Breaks ties.
        prior: "madrid", or a file with what was learned elsewhere (``agents/auto/knowledge.py``):
            it takes the place of structures, scale and variances. Belongs in the track
            "pretrained".
        beta: Exploration, see ``parse_beta``; "auto" is "paper" where the scale of the rewards is
            told and "calm" where it is not.
        transform: "auto", "identity" or "log1p".
        season: Whether there may be a season.
        persistence: Whether what is good now may stay so for a while.
        shared: Whether all actions may rise and fall together.
        reward_level: Whether some may gain more than others when all are high; where the
            season is told and the scale of the rewards is not.
        expert: Whether past decisions may have been the best ones.
        refit: Whether variances are learned.
    """

    name = "auto-gp-ucb"
    family = "GP, periodic"
    pretrained_by = ("prior",)
    posterior: Mixture
    _view: Predictive

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        prior: str | None = None,
        beta: str | float = "auto",
        transform: str = "auto",
        season: bool = True,
        persistence: bool = True,
        shared: bool = True,
        reward_level: bool = True,
        expert: bool = True,
        refit: bool = True,
    ) -> None:
        mine = actions_of(problem)
        told = told_scale(problem) is not None and prior is None
        self._columns = list(context_columns(problem)) if told else []
        known = "paper" if problem.reward_scale is not None else "calm"
        self._options = Options(transform, season, persistence, shared, reward_level, expert, refit)
        self._knowledge = None if prior is None else self._informed(prior)
        # Where the season has still to be found, that is enough to find out.
        guesses = not told and prior is None and bool(problem.periods)
        self._reward_level = RewardLevel() if reward_level and guesses else None
        contexts = len(self._columns) if self._reward_level is None else 1
        self._actions: Actions = InContext(mine, contexts) if contexts else mine
        self._beta = parse_beta(known if beta == "auto" else beta, self._actions if told else mine)
        self._rows: deque[tuple[Any, float, float, bool]] = deque(maxlen=MOST)
        self._count, self._steps, self._next = 0, 0, math.inf
        past = problem.warm_start
        if past is not None and not self._columns:  # past decisions have no contexts
            for t, action, reward in zip(past.t, past.action, past.reward, strict=True):
                self._keep(action, np.array([t]), float(reward), told=True)
        self._rebuild()

    def _informed(self, prior: str) -> Knowledge:
        """What was learned elsewhere, in the place of all that could be set instead."""
        idle = [name for name in SETTLED_BY_PRIOR if name in self._settings]
        if idle:
            raise ValueError(f"a prior takes the place of {idle[0]}: leave out one of the two")
        return load_knowledge(prior, self._problem)

    def act(self, observation: Array) -> Any:
        """Maximise mean + sqrt(beta_t) * standard deviation at the time of the observation."""
        t = time_of(observation)
        if isinstance(self._view, InThisContext):
            told = finite_context(np.array(observation, dtype=np.float64)[self._columns])
            self._view.context = (
                told if self._reward_level is None else self._reward_level.decide(t)
            )
        self._steps += 1
        beta = self._beta(self._steps)
        if self._knowledge is not None:
            bounds = upper_bound(self._view.predict(t), beta) + self._knowledge.offset(t)
            return argmax(bounds, self._rng)
        chosen = self._ucb.choose(t, beta)
        if self._problem.n_actions is not None:
            return int(chosen)
        return np.clip(chosen / self._problem.action_half_width, -1.0, 1.0).astype(np.float32)

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Learn from a reward, late and out of order if need be; a NaN is ignored."""
        if not self._keep(action, observation, float(reward), told=False):
            return
        if self._count >= self._next:
            self._rebuild()
            return
        where, t, reward, _ = self._rows[-1]
        self.posterior.observe(where, t, self._forward(where, t, reward))
        if self._reward_level is not None and isinstance(self._view, InThisContext):
            self._view.context = self._reward_level.now
        if self._count % PRUNE_EVERY == 0:
            self._prune()

    def belief(self, t: float, actions: Any = None) -> tuple[Array, Array]:
        """Median and spread of the reward at time t, in units of the reward.

        The spread is that of one standard deviation, half of it above and half below. Before a
        scale is known, both are in units of the prior.

        Args:
            t: When.
            actions: Arms, or box actions (q, d) in [-1, 1]; all arms if None.
        """
        if self._problem.n_actions is None:
            if actions is None:
                raise ValueError("actions must be given for a box: an array (q, d) in [-1, 1]")
            actions = np.asarray(actions, dtype=np.float64) * self._problem.action_half_width
        mean, variance = self._view.predict(t, actions)
        if self._knowledge is not None:
            offset = self._knowledge.offset(t)
            mean = mean + (offset if actions is None else offset[np.atleast_1d(actions)])
        scale, half = self._scale or Scale(), 0.5 * np.sqrt(variance)
        return scale.backward(mean), scale.backward(mean + half) - scale.backward(mean - half)

    def period_belief(self) -> tuple[Array, Array]:
        """Periods that are considered, ascending, and their probabilities if there is a season."""
        for member in self.posterior.members:
            if isinstance(member, PeriodSearch):
                order = np.argsort(member.periods)
                return member.periods[order], member.weights[order]
        clocks = [clock for term in self.posterior.kernel.terms for clock in term.clocks]
        periods = [clock.period for clock in clocks if isinstance(clock, TruncatedPeriodic)][:1]
        return np.array(periods), np.ones(len(periods))

    def structures(self) -> dict[str, float]:
        """The candidates that are left, and their probabilities."""
        return dict(zip(self._names, self.posterior.weights.tolist(), strict=True))

    @property
    def scale(self) -> Scale | None:
        """The scale of the rewards, once there is one."""
        return self._scale

    def _keep(self, action: Any, observation: Array, reward: float, *, told: bool) -> bool:
        """Whether there was any news."""
        t, context = float(observation[0]), np.array(observation)[self._columns]
        if not is_news(reward, t):
            return False
        finite_context(context)
        where = self._problem.checked(action)
        if self._reward_level is not None:
            context = self._reward_level.rise(t, reward)
        if self._problem.n_actions is None:
            where = where * self._problem.action_half_width
        if isinstance(self._actions, InContext):
            where = self._actions.joined(where, context)[0]
        self._rows.append((where, t, reward, told))
        self._count += 1
        return True

    def _forward(self, arm: Any, t: float, reward: float) -> float:
        """The reward on the scale of the belief; 0 while there is none."""
        if self._scale is None:
            return 0.0
        prior = 0.0 if self._knowledge is None else float(self._knowledge.offset(t)[arm])
        return float(self._scale.forward(reward)) - prior

    def _rebuild(self) -> None:
        """A belief from all that is kept, with a scale and variances chosen anew."""
        past, self._next = History.of(self._rows), math.inf
        everything = (self._problem, self._actions, past, self._options)
        if self._knowledge is not None:
            self._adopt(informed(*everything, self._knowledge))
        elif told_scale(self._problem) is not None:
            self._adopt(build(*everything))
        elif len(past) < FIRST_REWARDS:
            self._next = FIRST_REWARDS
            self._adopt(first(*everything))
        else:
            growth = GROWTH if self._problem.periods else SEARCHING
            self._next = growth * self._count
            self._adopt(build(*everything))

    def _adopt(self, model: Model) -> None:
        self._scale, self.posterior, self._names = model.scale, model.posterior, model.names
        members = self.posterior.members
        before = getattr(self, "_view", None)
        self._view = self.posterior if len(members) > 1 else members[0]
        if isinstance(self._actions, InContext):
            self._view = InThisContext(self.posterior if len(members) > 1 else members[0])
            if self._reward_level is not None:
                self._view.context = self._reward_level.now
            elif isinstance(before, InThisContext):
                self._view.context = before.context
        self._ucb = UCB(self._view, self._rng)

    def _prune(self) -> None:
        """Drop what is improbable: it costs as much as the rest."""
        keep = np.flatnonzero(self.posterior.weights > PRUNE).tolist()
        if len(keep) < len(self.posterior.members):
            members = [self.posterior.members[i] for i in keep]
            mixture = Mixture.revived(members, self.posterior.log_prior[keep])
            self._adopt(Model(self._scale, mixture, tuple(self._names[i] for i in keep)))

    def state(self) -> dict[str, Any]:
        """What was seen, the belief, the scale of the rewards, and the number of decisions."""
        past, scale = History.of(self._rows), self._scale
        return {
            "posterior": to_state(self.posterior),
            "scale": None
            if scale is None
            else [scale.transform, scale.normaliser.mean, scale.normaliser.scale],
            "names": list(self._names),
            "action": past.action,
            "t": past.t,
            "reward": past.reward,
            "told": past.told.astype(np.int64),
            "context": self._view.context if isinstance(self._view, InThisContext) else None,
            "reward_level": None if self._reward_level is None else self._reward_level.mean,
            "decided": None
            if self._reward_level is None
            else list(self._reward_level.decided.items()),
            "numbers": [self._count, self._steps, None if math.isinf(self._next) else self._next],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        posterior = from_state(state["posterior"])
        if not isinstance(posterior, Mixture) or not same_actions(posterior.actions, self._actions):
            raise ValueError("the belief is about other actions than the problem has")
        columns = (state["action"], state["t"].tolist(), state["reward"].tolist(), state["told"])
        rows = zip(*columns, strict=True)
        finite = isinstance(self._actions, Finite)
        self._rows.clear()
        self._rows.extend((int(a) if finite else a, t, r, bool(told)) for a, t, r, told in rows)
        count, steps, following = state["numbers"]
        self._count, self._steps = int(count), int(steps)
        self._next = math.inf if following is None else int(following)
        scale = state["scale"]
        known = None if scale is None else Scale(scale[0], Normaliser(*scale[1:]))
        self._adopt(Model(known, posterior, tuple(state["names"])))
        if self._reward_level is not None:
            self._reward_level.mean = (
                None if state["reward_level"] is None else float(state["reward_level"])
            )
            self._reward_level.decided = {float(t): float(mean) for t, mean in state["decided"]}
        if isinstance(self._view, InThisContext):
            self._view.context = np.array(state["context"])
