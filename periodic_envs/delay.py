"""Wrapper for delayed and lost rewards."""

from __future__ import annotations

import heapq
import zlib
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from periodic_envs import checks


class DelayedReward(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Wrapper that delays the rewards of an environment, and loses some of them.

    A step returns the sum of the rewards that arrive in this step, or 0.0 if none arrives. The
    return of an episode is therefore the sum of all rewards that have arrived. ``info["arrived"]``
    lists the rewards that arrive in this step as ``(t, action, reward)``, in the order of their
    decisions. Without a delay, the reward of a step arrives in the same step. Rewards that have not
    arrived at the end of the episode are lost. ``info["open"]`` is the number of rewards that are
    still to arrive, and ``info["earned"]`` is the reward of the current decision, whether or not
    this reward has arrived. All other entries of ``info``, such as the regret, are not delayed.

    Delays depend only on the seed, not on the actions. All agents therefore have the same delays,
    and a different ``delay`` shifts all arrivals by the same number of steps.

    >>> env = DelayedReward(gym.make("PeriodicGP-Synthetic-v0"), delay=1)
    >>> _ = env.reset(seed=0)
    >>> action = env.action_space.sample()
    >>> env.step(action)[1], env.step(action)[4]["arrived"][0][0]
    (0.0, 0)

    Args:
        env: Environment of this package.
        delay: Fixed part of the delay, in steps.
        random: Maximum of the random part of the delay, which is uniform on 0, ..., ``random``.
        lost: Probability that a reward is lost.
    """

    def __init__(
        self, env: gym.Env[Any, Any], *, delay: int = 0, random: int = 0, lost: float = 0.0
    ) -> None:
        # Gymnasium recreates the wrapper from the arguments that are recorded here.
        RecordConstructorArgs.__init__(self, delay=delay, random=random, lost=lost)
        gym.Wrapper.__init__(self, env)
        self.delay = checks.whole("delay", delay, 0)
        self.random = checks.whole("random", random, 0)
        self.lost = checks.within("lost", lost, 0.0, 1.0)
        self._rng = np.random.default_rng()
        self._steps = 0
        self._open: list[tuple[int, int, Any, float]] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode without pending rewards."""
        observation, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            # The first number makes this random stream different from that of the world.
            self._rng = np.random.default_rng([zlib.crc32(b"delay"), seed])
        self._steps, self._open = 0, []
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Make a decision and return the sum of the rewards that arrive in this step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        # Both numbers are drawn in every step, so that runs with different actions are paired.
        extra, fate = int(self._rng.integers(0, self.random + 1)), self._rng.random()
        if fate >= self.lost:
            taken = np.array(action) if isinstance(action, np.ndarray) else action
            due = self._steps + self.delay + extra
            # The step number breaks ties, since actions may be arrays, which cannot be ordered.
            heapq.heappush(self._open, (due, self._steps, (info["t"], taken), float(reward)))
        arrived = []
        while self._open and self._open[0][0] <= self._steps:
            _, _, decision, gained = heapq.heappop(self._open)
            arrived.append((*decision, gained))
        self._steps += 1
        total = float(sum(gained for *_, gained in arrived))
        late = {**info, "arrived": arrived, "open": len(self._open), "earned": float(reward)}
        return observation, total, terminated, truncated, late
