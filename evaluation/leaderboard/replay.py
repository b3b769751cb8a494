"""Replay: what actions earn and lose, asked of the worlds themselves.

The world of a run is drawn once, and all steps of all submissions are asked at once: that is what
lets an edition keep the actions alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.leaderboard.forms import run_names, worlds_of
from evaluation.protocol import Protocol
from evaluation.references import reference_columns
from periodic_envs.arrays import Array
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.process import TabularProcess

Columns = dict[str, NDArray[Any]]
"""One entry per step: t, action, reward, regret, as a store has them."""


class PlayedWorld:
    """The world of one run, and what becomes of actions in it.

    Args:
        env: After ``reset``.
    """

    def __init__(self, env: PeriodicBanditEnv) -> None:
        assert env.episode is not None
        self._env, self._episode = env, env.episode
        self._process = env.episode.process
        self.t = env.episode.first_step + np.arange(env.horizon)
        self._best = np.array([self._process.optimum(t)[1] for t in self.t.tolist()])

    def columns(self, actions: NDArray[Any]) -> Columns:
        """What actions that the world knows give, as if the environment was stepped.

        To the last digits: many steps at once are rounded otherwise than one.
        """
        mean, noise = self._mean(actions), self._episode.noise
        reward = mean + noise if noise.ndim == 1 else noise[np.arange(len(noise)), actions]
        regret = np.maximum(self._best - mean, 0.0)  # negative only by round-off
        return {"t": self.t, "action": actions, "reward": reward, "regret": regret}

    def references(self) -> Columns:
        """What the oracle, the best fixed action and their like lose."""
        return reference_columns(self._env)

    def _mean(self, actions: NDArray[Any]) -> Array:
        if isinstance(self._process, TabularProcess):
            return np.asarray(self._process.mean(actions, self.t), dtype=np.float64)
        # Somebody else's process must understand one step; many at once it may not.
        chosen = actions.tolist() if actions.ndim == 1 else actions
        pairs = zip(chosen, self.t.tolist(), strict=True)
        return np.array([float(self._process.mean(action, t)) for action, t in pairs])


def played_worlds(protocol: Protocol) -> Iterator[PlayedWorld]:
    """The world of every run of the protocol, drawn from its seed."""
    worlds = worlds_of(protocol)
    for env, seed in run_names(protocol):
        worlds[env].reset(seed=seed)
        yield PlayedWorld(worlds[env])


def references(protocol: Protocol) -> dict[tuple[str, int], Columns]:
    """The columns of the reference rows, by world and seed."""
    worlds = zip(run_names(protocol), played_worlds(protocol), strict=True)
    return {name: world.references() for name, world in worlds}
