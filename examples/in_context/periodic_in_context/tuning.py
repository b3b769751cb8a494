"""Fine-tuning in other worlds of the same kind: from rewards of the agent's own choices only.

The network goes on from the weights that are shipped. It plays lives as it would be judged, and
then raises the likelihood of each reward given what was seen before it. The noise in rewards is
known, or learned beside. A quarter of the lives is held out, and the weights are kept that tell
their rewards best: those it began with, if no others do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from torch import Tensor

from agents.arrays import Rng
from agents.base import Agent, Problem
from periodic_in_context.batches import Batch, Questions, packed, scale_of, together
from periodic_in_context.behaviour import Life
from periodic_in_context.model import Model
from periodic_in_context.relations import arm_relations
from periodic_in_context.sizes import sizes_of
from periodic_in_context.tokens import FIRST_SCALE, Situation, known_noise
from periodic_in_context.train import arrays_of
from periodic_in_context.weights import Weights

EPOCHS, LIVES, LEARNING_RATE = 8, 8, 3e-4
QUESTIONS = 160
"""Rewards of a life that are asked about in one step, at most."""
HELD_OUT = 4
"""One of so many lives is not trained on."""
FIRST_NOISE = 0.3
"""Deviation of the noise to begin with, in deviations of rewards, where none is known."""
MIN_STEPS = 4 * FIRST_SCALE
"""Of a life: from shorter ones nothing is learned."""

Maker = Callable[[Problem, Rng], Agent]


def tune(
    problem: Problem,
    envs: VectorEnv[Any, Any, Any],
    steps: int,
    rng: Rng,
    make: Maker,
    weights: Weights,
) -> dict[str, NDArray[np.float32]]:
    """Better weights for worlds of this kind.

    Args:
        problem: What is known of them.
        envs: Many of them.
        steps: Interactions that may be used.
        rng: The only source of randomness.
        make: An agent to play with.
        weights: To begin with.

    Raises:
        ValueError: If the steps are too few for two lives to learn from.
    """
    lives = list(_lives(replace(problem, warm_start=None), envs, steps, rng, make))
    if len(lives) < 2:
        raise ValueError(
            f"{steps} steps are too few: they must be {MIN_STEPS} in each of two worlds at least"
        )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _descend(problem, lives, rng, weights)
    finally:
        torch.set_num_threads(threads)


def _lives(
    problem: Problem, envs: VectorEnv[Any, Any, Any], steps: int, rng: Rng, make: Maker
) -> Iterator[Life]:
    """Yield the decisions of agents in all copies, cut to the shortest episode."""
    rounds, copies = steps // envs.num_envs, envs.num_envs
    length = min(problem.horizon or rounds, rounds)
    observations, _ = envs.reset()
    for _ in range(rounds // length if length >= MIN_STEPS else 0):
        agents = [make(problem, np.random.default_rng(rng.integers(2**63))) for _ in range(copies)]
        arms, rewards = np.zeros((copies, length), np.intp), np.zeros((copies, length))
        for t in range(length):
            pairs = zip(agents, observations, strict=True)
            arms[:, t] = [agent.act(seen) for agent, seen in pairs]
            after, rewards[:, t], *_ = envs.step(arms[:, t])
            for i, agent in enumerate(agents):
                agent.update(observations[i], int(arms[i, t]), float(rewards[i, t]))
            observations = after
        yield from (Life(arms[i], rewards[i], 0) for i in range(copies))


def _descend(
    problem: Problem, lives: list[Life], rng: Rng, weights: Weights
) -> dict[str, NDArray[np.float32]]:
    model = Model(sizes_of(weights))
    model.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
    noise = torch.nn.Parameter(torch.tensor(np.log(FIRST_NOISE), dtype=torch.float32))
    descent = torch.optim.AdamW([*model.parameters(), noise], lr=LEARNING_RATE, weight_decay=0.0)
    held = lives[::HELD_OUT]
    kept = [life for i, life in enumerate(lives) if i % HELD_OUT]
    judged = [_batch(problem, rng, part) for part in _parts(held)]
    best, found = _held_out_loss(model, noise, judged), arrays_of(model)
    for _ in range(EPOCHS):
        order = [kept[i] for i in rng.permutation(len(kept))]
        for part in _parts(order):
            loss = _loss(model, noise, _batch(problem, rng, part))
            descent.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            descent.step()
        loss_now = _held_out_loss(model, noise, judged)
        if loss_now < best:
            best, found = loss_now, arrays_of(model)
    return found


def _parts(lives: list[Life]) -> list[list[Life]]:
    return [lives[i : i + LIVES] for i in range(0, len(lives), LIVES)]


def _held_out_loss(model: Model, noise: Tensor, batches: list[Batch]) -> float:
    with torch.no_grad():
        return sum(float(_loss(model, noise, batch)) for batch in batches)


def _loss(model: Model, noise: Tensor, batch: Batch) -> Tensor:
    """Negative log-likelihood of the rewards; a known noise stands in the content of tokens."""
    mean, log_deviation = model(batch)
    known = torch.from_numpy(known_noise(batch.content[:, :1]))
    noise = torch.where(known.isnan(), torch.exp(noise), known)
    variance = torch.exp(2.0 * log_deviation) + noise**2
    gap = torch.from_numpy(batch.targets) - mean
    loss: Tensor = 0.5 * (torch.log(variance) + gap**2 / variance).mean()
    return loss


def _batch(problem: Problem, rng: Rng, lives: list[Life]) -> Batch:
    """Lives with questions about the rewards of what was chosen in them."""
    assert problem.n_actions is not None
    table = arm_relations(problem.n_actions, problem.action_features)
    rows, has_features = [], problem.action_features is not None
    steps = len(lives[0].rewards)
    count = min(QUESTIONS, steps // 2)
    for life in lives:
        known = problem.reward_scale
        first, mean, deviation = scale_of(rng, life) if known is None else (0, *known)
        noise = problem.noise_std / deviation if problem.noise_std else None
        situation = Situation(problem.n_actions, has_features, problem.period, noise)
        when = np.sort(rng.choice(np.arange(first, steps), count, replace=False))
        questions = Questions(when, life.arms[when], life.rewards[when])
        rows.append(packed(situation, table, life, (mean, deviation), questions))
    return together(rows)
