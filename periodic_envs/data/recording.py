"""A table of measurements as a world."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.process import FiniteProcess, Origin, PublicInfo, WarmStart

OBJECTIVES = ("max", "min")


def rewards_of(values: Array, objective: str) -> Array:
    """Measurements as rewards: themselves to seek the most, their negatives to seek the least."""
    checks.one_of("objective", objective, OBJECTIVES)
    return values.copy() if objective == "max" else 0.0 - values


def replay(rewards: Array, public: PublicInfo, horizon: int) -> FiniteProcess:
    """The process that gives these rewards (steps, arms) and no noise.

    The best action-reward pair of each step before the first decision is prior information.
    """
    steps = public.first_step + horizon
    past = np.arange(public.first_step)
    best = rewards[: public.first_step].argmax(1)
    warm_start = WarmStart(past, best, rewards[past, best]) if len(past) else None
    return FiniteProcess(
        values=rewards,
        rows=np.arange(steps),
        period=public.periods[0],
        warm_start=warm_start,
    )


def fingerprint(rewards: Array, names: Sequence[str]) -> str:
    """SHA-256 of rewards and of what they are called."""
    digest = hashlib.sha256(repr([[str(name) for name in names], rewards.shape]).encode())
    digest.update((rewards + 0.0).astype("<f8").tobytes())  # + 0.0: there is one zero
    return digest.hexdigest()


@dataclass(frozen=True)
class Recording:
    """A world that always gives the same rewards (steps, arms)."""

    rewards: Array
    public: PublicInfo
    origin: Origin

    def draw(self, rng: np.random.Generator, horizon: int) -> FiniteProcess:
        """What was recorded."""
        return replay(self.rewards, self.public, horizon)
