"""Fine-tuning in other worlds of the same kind, only from rewards of the agent's own choices.

Fine-tuning starts from the shipped weights. The agent first runs episodes as in an evaluation.
Gradient descent then increases the likelihood of each reward given the earlier decisions. The noise
of the rewards is known, or is fitted along with the weights. A quarter of the episodes is held out.
The result is the set of weights that predicts the rewards of these episodes best; it may be the
initial set.
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
"""Maximum number of rewards of an episode that are predicted in one gradient step."""
HELD_OUT = 4
"""One in HELD_OUT episodes is held out."""
FIRST_NOISE = 0.3
"""Initial standard deviation of an unknown noise, in standard deviations of the rewards."""
MIN_STEPS = 4 * FIRST_SCALE
"""Minimum length of an episode; shorter episodes are not used."""

Maker = Callable[[Problem, Rng], Agent]


def tune(
    problem: Problem,
    envs: VectorEnv[Any, Any, Any],
    steps: int,
    rng: Rng,
    make: Maker,
    weights: Weights,
) -> dict[str, NDArray[np.float32]]:
    """Return weights that are fine-tuned for worlds of one kind.

    Args:
        problem: Information about these worlds.
        envs: Vector environment of these worlds.
        steps: Maximum number of interactions, summed over all copies.
        rng: Random generator, which is the only source of randomness.
        make: Function that creates an agent, which runs the episodes.
        weights: Initial weights.

    Raises:
        ValueError: If the steps are too few for two episodes.
    """
    lives = list(_lives(replace(problem, warm_start=None), envs, steps, rng, make))
    if len(lives) < 2:
        raise ValueError(
            f"training needs at least {MIN_STEPS} steps in each of two worlds, got {steps} in total"
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
    """Yield episodes in all copies, with as many steps as the horizon and ``steps`` allow."""
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
    """Return the negative log-likelihood of the rewards in a batch, up to a constant.

    If the noise is known, its standard deviation is read from the tokens; otherwise, ``noise`` is
    the logarithm of the standard deviation.
    """
    mean, log_deviation = model(batch)
    known = torch.from_numpy(known_noise(batch.content[:, :1]))
    noise = torch.where(known.isnan(), torch.exp(noise), known)
    variance = torch.exp(2.0 * log_deviation) + noise**2
    gap = torch.from_numpy(batch.targets) - mean
    loss: Tensor = 0.5 * (torch.log(variance) + gap**2 / variance).mean()
    return loss


def _batch(problem: Problem, rng: Rng, lives: list[Life]) -> Batch:
    """Return a batch of episodes with queries about the rewards of their decisions."""
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
