"""Rewards that come late, or never."""

from __future__ import annotations

import heapq
import zlib
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from periodic_envs import checks


class DelayedReward(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """The reward of a step arrives some steps later, or is lost.

    A step returns the sum of the rewards that arrive now, 0.0 if none does: so the return of an
    episode is that of all rewards that arrived. Which they are is in ``info["arrived"]``: a list
    of ``(t, action, reward)``, by their time of arrival and, of those that arrive at once, by the
    time of their decision. With no delay the reward of a step arrives in the step itself. What has
    not arrived when the episode ends never does; ``info["open"]`` says how many rewards are under
    way, lost ones left out, and ``info["earned"]`` the reward of the decision just made, whatever
    becomes of it. Everything else, regret among it, is the world's, and not late.

    Delays depend on the seed alone, not on actions: agents meet the same ones, and those of
    another ``delay`` differ by a constant.

    >>> env = DelayedReward(gym.make("PeriodicGP-Synthetic-v0"), delay=1)
    >>> _ = env.reset(seed=0)
    >>> action = env.action_space.sample()
    >>> env.step(action)[1], env.step(action)[4]["arrived"][0][0]
    (0.0, 0)

    Args:
        env: An environment of this suite.
        delay: Steps that every reward takes.
        random: Steps that it takes at most on top of that: uniform from 0 to this number.
        lost: The probability that a reward never arrives.
    """

    def __init__(
        self, env: gym.Env[Any, Any], *, delay: int = 0, random: int = 0, lost: float = 0.0
    ) -> None:
        # So that Gymnasium can make the same again from the specification.
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
        """Start an episode with no reward under way."""
        observation, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            # Through a hash, so that it is not the world's stream over again.
            self._rng = np.random.default_rng([zlib.crc32(b"delay"), seed])
        self._steps, self._open = 0, []
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Make a decision and return the rewards that arrive now."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        # Both are drawn in every step, whatever becomes of them: runs are paired.
        extra, fate = int(self._rng.integers(0, self.random + 1)), self._rng.random()
        if fate >= self.lost:
            taken = np.array(action) if isinstance(action, np.ndarray) else action
            due = self._steps + self.delay + extra
            # The step number decides between equal times of arrival: actions are not compared.
            heapq.heappush(self._open, (due, self._steps, (info["t"], taken), float(reward)))
        arrived = []
        while self._open and self._open[0][0] <= self._steps:
            _, _, decision, gained = heapq.heappop(self._open)
            arrived.append((*decision, gained))
        self._steps += 1
        total = float(sum(gained for *_, gained in arrived))
        late = {**info, "arrived": arrived, "open": len(self._open), "earned": float(reward)}
        return observation, total, terminated, truncated, late
