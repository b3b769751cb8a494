"""Agents that learn, replayed on a log by rejection [@li2011unbiased].

The agent walks through the log. Where it chooses the arm that was logged, it is shown the reward
and the row counts; all other rows are passed over as if they had never been. Where all arms were
logged with equal probability, what counts is what the agent would have met in the world itself,
only less often: its value is that of an agent that decides at one step in as many as there are
arms.

Where probabilities differ, likely rows are accepted less often: a row of probability p with
probability c / p, c being a low quantile of all p. The few rows below c count with the weight
c / p, so that no rare row bounds how many are accepted.
"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from agents.base import Problem
from agents.registry import AgentSpec
from periodic_decisions.logs.estimators import block_interval, effective_size
from periodic_decisions.logs.evaluate import Estimate, OffPolicy, require_size
from periodic_decisions.logs.log import LogError
from periodic_envs.arrays import Array

LOW = 0.05
"""Share of the rows whose probability is below the one that acceptance goes by."""
UNIFORM = 1.5
"""Logging is nearly uniform if no probability is more than so many times another."""


def replay_agent(off_policy: OffPolicy, agent: str, *, seed: int = 0) -> Estimate:
    """What an agent earns per decision while it learns from the log.

    Args:
        off_policy: The log, with its season.
        agent: The agent, as the command line names it.
        seed: Of the agent and of the rejections.

    Raises:
        LogError: If too few rows are accepted, or there is no such agent.
    """
    log, seasons, probability = off_policy.log, off_policy.seasons, off_policy.probability
    common = float(np.quantile(probability, LOW, method="lower"))
    draws, agent_rng = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(2))
    offered = draws.random(len(log)) < common / probability
    observations, fields = _observations(off_policy)
    problem = _problem(off_policy, observations, fields, decisions=common * len(log))
    try:
        player = AgentSpec.parse(agent).make(problem, agent_rng)
    except ValueError as error:  # no such agent, or one that this problem does not suit
        raise LogError(str(error)) from error
    accepted = np.zeros(len(log), dtype=bool)
    for row in np.flatnonzero(offered).tolist():
        observation = observations[row]
        if problem.checked(player.act(observation.copy())) == log.arm[row]:
            accepted[row] = True
            player.update(observation.copy(), int(log.arm[row]), float(log.reward[row]))
    weight = np.maximum(1.0, common / probability[accepted])
    size = effective_size(weight)
    require_size(f"agent:{agent}", size)
    block = np.unique(seasons.block[accepted], return_inverse=True)[1]
    parts = ((weight * log.reward[accepted], weight),)
    value = block_interval(parts, block, level=off_policy.level)
    notes = _notes(off_policy, int(accepted.sum()))
    return Estimate(f"agent:{agent}", "replay", value, size, 0.0, int(accepted.sum()), notes)


def _observations(off_policy: OffPolicy) -> tuple[Array, tuple[str, ...]]:
    """What the agent sees at each row: the time, its phase, and the contexts brought to [-1, 1]."""
    log, period = off_policy.log, off_policy.period
    # Whole seasons are taken off, so that the agent's clock starts near 0.
    t = log.step - np.floor(log.step[0] / period) * period
    angle = 2.0 * np.pi * t / period
    columns = [t, np.cos(angle), np.sin(angle)]
    contexts = np.zeros((len(log), 0)) if log.contexts is None else log.contexts
    for column in contexts.T:
        low, high = float(column.min()), float(column.max())
        columns.append(2.0 * (column - low) / max(high - low, 1e-300) - 1.0)
    named = tuple(f"context_{i}" for i in range(contexts.shape[1]))
    return np.stack(columns, axis=1), ("t", "cos_phase", "sin_phase", *named)


def _problem(
    off_policy: OffPolicy, observations: Array, fields: tuple[str, ...], decisions: float
) -> Problem:
    low, high = np.full(len(fields), -1.0), np.ones(len(fields))
    low[0], high[0] = observations[0, 0], observations[-1, 0] + 1.0
    return Problem(
        action_space=spaces.Discrete(len(off_policy.log.names)),
        observation_space=spaces.Box(low, high, dtype=np.float64),
        observation_fields=fields,
        horizon=max(1, round(decisions)),
        periods=(float(off_policy.period),),
    )


def _notes(off_policy: OffPolicy, accepted: int) -> tuple[str, ...]:
    log, p = off_policy.log, off_policy.probability
    notes = [
        f"replayed by rejection: {accepted:,} of {len(log):,} rows were accepted, so that the "
        f"agent learned from one decision in {len(log) / accepted:.1f}"
    ]
    if float(p.max()) > UNIFORM * float(p.min()):
        notes.append("arms were not logged uniformly: likely rows were accepted less often")
    if off_policy.known is None:
        notes.append("probabilities were estimated, by the share of each arm in each phase")
    return tuple(notes)
