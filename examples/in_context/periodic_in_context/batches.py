"""Batches: episodes and queries about them, as arrays for training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.arrays import Array, Rng
from periodic_in_context.behaviour import Life, live
from periodic_in_context.prior import NOISES, Draw, draw_world
from periodic_in_context.relations import Floats, arm_relations, time_relations
from periodic_in_context.tokens import FIRST_SCALE, MAX_SCALED_REWARD, Situation

LIVES = 8
"""Number of episodes in a batch; all have the same numbers of arms and steps."""
MOMENTS, ARMS_ASKED = 48, 5
"""Number of queried steps of an episode, and number of queried arms per step."""


class Kind(NamedTuple):
    """Kind of the worlds in a batch.

    Attributes:
        arms: Minimum and maximum number of arms.
        steps: Lengths of episodes with their probabilities.
        noises: Bounds of the standard deviation of the noise.
    """

    arms: tuple[int, int]
    steps: tuple[tuple[int, float], ...]
    noises: tuple[float, float]


ANY = Kind((5, 60), ((72, 0.4), (144, 0.35), (272, 0.25)), NOISES)
HARD = Kind((20, 60), ((144, 0.5), (272, 0.5)), (0.3, 2.0))


class Batch(NamedTuple):
    """Arrays of B episodes with T steps, Q queries and n arms.

    Attributes:
        content: Tokens of past decisions, followed by those of queries, shape (B, T + Q, 10).
        rewards: Scaled rewards, shape (B, T).
        arms: Arms of past decisions, followed by those of queries, shape (B, T + Q).
        times: Times of past decisions, followed by those of queries, shape (B, T + Q).
        arm_table: Relations between arms, shape (B, n, n, 5).
        lag_table: Relations between times, by their distance in steps, shape (B, T + 1, 7).
        counts: Number of past decisions that each query may use, shape (B, Q).
        targets: Scaled values to predict, shape (B, Q): mean rewards, or rewards in fine-tuning.
    """

    content: Floats
    rewards: Floats
    arms: NDArray[np.int64]
    times: NDArray[np.int64]
    arm_table: Floats
    lag_table: Floats
    counts: NDArray[np.int64]
    targets: Floats


def draw_batch(rng: Rng, lives: int = LIVES, kind: Kind = ANY) -> Batch:
    """Draw new worlds and return a batch of episodes in them."""
    n_arms = round(float(np.exp(rng.uniform(*np.log(kind.arms)))))
    lengths, shares = zip(*kind.steps, strict=True)
    steps = int(rng.choice(lengths, p=shares))
    draws = [draw_world(rng, n_arms, steps, kind.noises) for _ in range(lives)]
    pairs = zip(draws, live(rng, draws), strict=True)
    return together([_arrays(rng, draw, life) for draw, life in pairs])


def together(rows: Sequence[Batch]) -> Batch:
    """Return a batch of episodes with equal numbers of arms, steps and queries."""
    return Batch(*(np.stack(column) for column in zip(*rows, strict=True)))


def _arrays(rng: Rng, draw: Draw, life: Life) -> Batch:
    """Return one episode with queries, as a batch without its first axis."""
    steps, n_arms = draw.mean.shape
    first, mean, deviation = (life.warm, 0.0, 1.0) if draw.known_scale else scale_of(rng, life)
    noise = None if draw.known_noise is None else draw.known_noise / deviation
    situation = Situation(n_arms, draw.features is not None, draw.period, noise)
    moments = _moments(rng, first, steps)
    asked = np.stack([rng.integers(n_arms, size=len(moments)) for _ in range(ARMS_ASKED)], axis=1)
    asked[:, 0] = life.arms[moments]  # the chosen arm is always queried, since it matters most
    when = np.repeat(moments, ARMS_ASKED)
    table = arm_relations(n_arms, draw.features)
    questions = Questions(when, asked.ravel(), draw.mean[when, asked.ravel()])
    return packed(situation, table, life, (mean, deviation), questions)


class Questions(NamedTuple):
    """Queries, each with the number of earlier decisions, the arm, and the value to predict."""

    when: NDArray[np.int64]
    arms: NDArray[np.int64]
    answers: Array


def packed(
    situation: Situation,
    table: Floats,
    life: Life,
    scale: tuple[float, float],
    questions: Questions,
) -> Batch:
    """Return an episode and queries about it, as a batch without its first axis.

    Args:
        situation: Known features of the world.
        table: Relations between arms.
        life: Episode with one decision per step.
        scale: Mean and standard deviation by which rewards and targets are standardised.
        questions: Queries about the episode.
    """
    mean, deviation = scale
    steps, when = len(life.rewards), questions.when
    rewards = _cut((life.rewards - mean) / deviation)
    times = np.concatenate((np.arange(steps), when)).astype(np.int64)
    content = np.tile(situation.content(), (len(times), 1))
    content[:steps, 0], content[:steps, 1] = rewards, 1.0
    content[: life.warm, 2] = 1.0
    content[:, 9] = np.log1p(times) / 6.0
    return Batch(
        content=content,
        rewards=rewards,
        arms=np.concatenate((life.arms, questions.arms)).astype(np.int64),
        times=times,
        arm_table=table,
        lag_table=time_relations(np.arange(steps + 1), situation.period),
        counts=when.astype(np.int64),
        targets=_cut((questions.answers - mean) / deviation),
    )


def scale_of(rng: Rng, life: Life) -> tuple[int, float, float]:
    """Return a random step, and the mean and the deviation of the rewards before this step.

    From this step, the reward scale is assumed to be known. Like this function, the agent
    computes the scale from its first rewards.
    """
    steps = len(life.rewards)
    least = max(FIRST_SCALE, life.warm)
    first = int(np.exp(rng.uniform(np.log(least), np.log(max(steps // 2, least + 1)))))
    past = life.rewards[:first]
    return first, float(past.mean()), float(past.std()) or 1.0


def _moments(rng: Rng, first: int, steps: int) -> NDArray[np.int64]:
    """Return random steps for queries; half of them are early, when most can be learned."""
    early = np.exp(rng.uniform(0.0, np.log(steps - first), MOMENTS // 2)) - 1.0
    late = rng.uniform(0.0, steps - first, MOMENTS - len(early))
    return first + np.concatenate((early, late)).astype(np.int64)


def _cut(values: Array) -> Floats:
    return np.clip(values, -MAX_SCALED_REWARD, MAX_SCALED_REWARD).astype(np.float32)
