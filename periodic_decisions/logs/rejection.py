"""Replay of learning agents on a log by rejection [@li2011unbiased].

The agent steps through the log. If the agent chooses the logged arm, it receives the reward, and
the row is accepted; all other rows are skipped. If all K arms were logged with equal probability,
the accepted rows have the same distribution as in the world itself, and the estimate is the mean
reward of an agent that decides at only one step in K.

If probabilities differ, a row with probability p is offered to the agent with probability
min(1, c / p), where c is a low quantile of all p. Rows with p < c have the weight c / p, so that
rows with a rare arm do not limit the number of accepted rows.
"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from agents.base import Problem
from agents.registry import AgentSpec
from periodic_decisions.logs.evaluate import (
    ESTIMATED,
    Estimate,
    OffPolicy,
    block_interval,
    effective_size,
    require_size,
)
from periodic_decisions.logs.log import DecisionLogError
from periodic_envs.arrays import Array

LOW = 0.05  # share of the rows whose probability is below c
UNIFORM = 1.5  # largest ratio of probabilities for which logging counts as uniform


def replay_agent(off_policy: OffPolicy, agent: str, *, seed: int = 0) -> Estimate:
    """Estimate the mean reward per decision of an agent while it learns from the log.

    Args:
        off_policy: Log and its season.
        agent: Agent in the command line's notation.
        seed: Seed of the agent and of the rejections.

    Raises:
        DecisionLogError: If too few rows are accepted, or if the agent is unknown or does not
            support the problem.
    """
    log, p = off_policy.log, off_policy.probability
    common = float(np.quantile(p, LOW, method="lower"))
    draws, agent_rng = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(2))
    offered = draws.random(len(log)) < common / p
    observations = _observations(off_policy)
    problem = _problem(off_policy, observations, decisions=common * len(log))
    try:
        player = AgentSpec.parse(agent).make(problem, agent_rng)
    except ValueError as error:  # unknown agent, or an agent that does not support this problem
        raise DecisionLogError(getattr(error, "code", "agent-failed"), str(error)) from error
    accepted = np.zeros(len(log), dtype=bool)
    for row in np.flatnonzero(offered).tolist():
        observation = observations[row]
        if problem.checked(player.act(observation.copy())) == log.arm[row]:
            accepted[row] = True
            player.update(observation.copy(), int(log.arm[row]), float(log.reward[row]))
    weight = np.maximum(1.0, common / p[accepted])
    size, count = effective_size(weight), int(accepted.sum())
    require_size(f"agent:{agent}", size)
    parts = ((weight * log.reward[accepted], weight),)
    value = block_interval(parts, off_policy.seasons.block[accepted])
    notes = [
        f"the agent was replayed by rejection: {count:,} of {len(log):,} rows were accepted, so it "
        f"learned from one decision in {len(log) / count:.1f}"
    ]
    if float(p.max()) > UNIFORM * float(p.min()):
        notes.append(
            "arms were not logged uniformly: rows with a probable arm were accepted less often"
        )
    if off_policy.known is None:
        notes.append(ESTIMATED)
    return Estimate(f"agent:{agent}", "replay", value, size, 0.0, count, tuple(notes))


def _observations(off_policy: OffPolicy) -> Array:
    """Return the observation of each row.

    An observation consists of the time, the cosine and sine of its phase, and the contexts scaled
    to [-1, 1].
    """
    log, period = off_policy.log, off_policy.period
    # Whole seasons are subtracted, so that the agent's time starts near 0.
    t = log.step - np.floor(log.step[0] / period) * period
    angle = 2.0 * np.pi * t / period
    contexts = np.zeros((len(log), 0)) if log.contexts is None else log.contexts
    low, high = contexts.min(0), contexts.max(0)
    scaled = 2.0 * (contexts - low) / np.maximum(high - low, 1e-300) - 1.0
    return np.column_stack([t, np.cos(angle), np.sin(angle), scaled])


def _problem(off_policy: OffPolicy, observations: Array, decisions: float) -> Problem:
    size = observations.shape[1]
    low, high = np.full(size, -1.0), np.ones(size)
    low[0], high[0] = observations[0, 0], observations[-1, 0] + 1.0
    contexts = (f"context_{i}" for i in range(size - 3))
    return Problem(
        action_space=spaces.Discrete(len(off_policy.log.names)),
        observation_space=spaces.Box(low, high, dtype=np.float64),
        observation_fields=("t", "cos_phase", "sin_phase", *contexts),
        horizon=max(1, round(decisions)),
        periods=(float(off_policy.period),),
    )
