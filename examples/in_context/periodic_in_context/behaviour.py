"""Policies that generate the training histories; they observe only rewards.

Each policy uses upper confidence bounds on kernel-weighted means, with random kernels, a random
width and a random share of random choices. The policies range from uniform choices to fairly good
agents. No policy observes a mean reward: otherwise its choices would reveal the good arms to the
network, and the trained network would take the choices of its agent as evidence. The only exception
is a warm start, whose arms may be the best arms, as in Madrid. The tokens mark the decisions of the
warm start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.arrays import Array, Rng
from periodic_in_context.prior import Draw
from periodic_in_context.relations import arm_relations

MAX_WARM = 60
"""Maximum number of warm-start decisions."""


@dataclass(frozen=True)
class Life:
    """Episode of a policy in a world: decisions and rewards.

    Attributes:
        arms: Chosen arm of every step, shape (steps,).
        rewards: Reward of every step, shape (steps,).
        warm: Number of steps at the beginning that are a warm start.
    """

    arms: NDArray[np.intp]
    rewards: Array
    warm: int


def live(rng: Rng, draws: list[Draw]) -> list[Life]:
    """Return one episode in each of several worlds with equal numbers of steps and arms."""
    steps, n_arms = draws[0].mean.shape
    noise = rng.standard_normal((len(draws), steps))
    warm = np.array([_warm_steps(rng, draw) for draw in draws])
    policies = [_Policy(rng, draw, steps) for draw in draws]
    near = np.stack([policy.near for policy in policies])
    fading = np.stack([policy.fading for policy in policies])
    width, doubt, random = (
        np.array([getattr(policy, name) for policy in policies])
        for name in ("width", "doubt", "random")
    )
    given = [_warm_arms(rng, draw, int(count)) for draw, count in zip(draws, warm, strict=True)]
    rows = np.arange(len(draws))
    seen = np.zeros((len(draws), n_arms, steps))
    arms, rewards = np.zeros((len(draws), steps), np.intp), np.zeros((len(draws), steps))
    for t in range(steps):
        weights = fading[:, t:0:-1]
        gained = rewards[:, :t]
        centre = gained.mean(axis=1, keepdims=True) if t else np.zeros((len(draws), 1))
        spread = gained.std(axis=1) + 0.1 if t else np.ones(len(draws))
        count = np.einsum("bnt,bt->bn", seen[:, :, :t], weights) + doubt[:, None]
        total = np.einsum("bnt,bt->bn", seen[:, :, :t], weights * (gained - centre))
        bound = total / count + (width * spread)[:, None] / np.sqrt(count)
        bound += 1e-6 * rng.standard_normal(bound.shape)
        chosen = bound.argmax(axis=1)
        at_random = rng.random(len(draws)) < random
        chosen = np.where(at_random, rng.integers(n_arms, size=len(draws)), chosen)
        for i in np.flatnonzero(t < warm):
            chosen[i] = given[i][t]
        arms[:, t] = chosen
        for i in rows:
            mean, deviation = draws[i].mean[t, chosen[i]], draws[i].noise[t, chosen[i]]
            rewards[i, t] = mean + deviation * noise[i, t]
        seen[:, :, t] = near[rows, chosen]
    return [Life(arms[i], rewards[i], int(warm[i])) for i in rows]


class _Policy:
    """Random kernels and parameters of the policy of one episode."""

    def __init__(self, rng: Rng, draw: Draw, steps: int) -> None:
        n_arms = draw.mean.shape[1]
        relations = arm_relations(n_arms, draw.features).astype(np.float64)
        if draw.features is None or rng.random() < 0.2:
            self.near = np.eye(n_arms)
        else:
            self.near = np.exp(relations[..., int(rng.integers(2, 5))])
        lags = np.arange(steps + 1)
        memory = float(np.exp(rng.uniform(np.log(10.0), np.log(2000.0))))
        self.fading = np.exp(-lags / memory)
        if draw.period is not None and rng.random() < 0.8:
            sharpness = float(np.exp(rng.uniform(np.log(0.5), np.log(6.0))))
            angle = 2.0 * np.pi * lags / draw.period
            self.fading *= np.exp(sharpness * (np.cos(angle) - 1.0))
        self.width = float(np.exp(rng.uniform(np.log(0.05), np.log(2.0))))
        self.doubt = float(np.exp(rng.uniform(np.log(0.05), np.log(0.5))))
        self.random = 1.0 if rng.random() < 0.1 else float(rng.choice([0.0, 0.05, 0.3]))


def _warm_steps(rng: Rng, draw: Draw) -> int:
    """Return the number of warm-start steps: about two seasons in a quarter of the worlds, or 0."""
    if rng.random() > 0.25:
        return 0
    steps = len(draw.mean)
    seasons = 2.0 * draw.period if draw.period is not None else rng.integers(5, 50)
    return int(min(seasons, MAX_WARM, steps // 2))


def _warm_arms(rng: Rng, draw: Draw, count: int) -> NDArray[np.intp]:
    """Return the arms of the warm start: the best arms, as in Madrid, or random arms."""
    if rng.random() < 0.6:
        best: NDArray[np.intp] = draw.mean[:count].argmax(axis=1)
        return best
    return rng.integers(draw.mean.shape[1], size=count)
