"""Replay: the rewards and regrets of actions, computed from the worlds of a protocol.

The world of a run is drawn once, and all steps of all submissions are evaluated in it. So a bundle
holds actions only, and every number of an edition comes from the worlds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.leaderboard.bundle import RunForm
from evaluation.protocol import Protocol
from evaluation.references import reference_columns
from evaluation.results import UNIFORM
from periodic_envs.arrays import Array
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.process import TabularProcess

Columns = dict[str, NDArray[Any]]  # one entry per step: t, action, reward, regret
Regrets = dict[tuple[str, int], float]  # total regret by world and seed


def run_names(protocol: Protocol) -> list[tuple[str, int]]:
    """Return world and seed of every run of a submission, in order."""
    return [(e.label, seed) for e in protocol.envs for seed in protocol.seeds_of(e)]


def run_forms(protocol: Protocol) -> list[RunForm]:
    """Return the shape of every run of a submission, in order."""
    worlds, forms = _worlds(protocol), []
    for env, seed in run_names(protocol):
        steps, public = worlds[env].horizon, worlds[env].public
        forms.append(RunForm(env, seed, public.first_step, steps, public.n_actions, public.dim))
    return forms


def _worlds(protocol: Protocol) -> dict[str, PeriodicBanditEnv]:
    return {entry.label: protocol.world(entry).make() for entry in protocol.envs}


class PlayedWorld:
    """The world of one run.

    Args:
        env: After ``reset``.

    Attributes:
        env: The environment.
        t: Times of the steps.
    """

    def __init__(self, env: PeriodicBanditEnv) -> None:
        assert env.episode is not None
        self.env, self._episode = env, env.episode
        self._process = env.episode.process
        self.t = env.episode.first_step + np.arange(env.horizon)
        self._best = np.array([self._process.optimum(t)[1] for t in self.t.tolist()])

    def columns(self, actions: NDArray[Any]) -> Columns:
        """Return the columns of valid actions, equal to stepping up to round-off."""
        mean, noise = self._mean(actions), self._episode.noise
        reward = mean + noise if noise.ndim == 1 else noise[np.arange(len(noise)), actions]
        regret = np.maximum(self._best - mean, 0.0)  # negative only by round-off
        return {"t": self.t, "action": actions, "reward": reward, "regret": regret}

    def _mean(self, actions: NDArray[Any]) -> Array:
        if isinstance(self._process, TabularProcess):
            return np.asarray(self._process.mean(actions, self.t), dtype=np.float64)
        # Another package's process must take one step, but not many at once.
        chosen = actions.tolist() if actions.ndim == 1 else actions
        pairs = zip(chosen, self.t.tolist(), strict=True)
        return np.array([float(self._process.mean(action, t)) for action, t in pairs])


def played_worlds(protocol: Protocol) -> Iterator[PlayedWorld]:
    """Yield the world of every run of the protocol, drawn from its seed."""
    worlds = _worlds(protocol)
    for env, seed in run_names(protocol):
        worlds[env].reset(seed=seed)
        yield PlayedWorld(worlds[env])


def uniform_regrets(protocol: Protocol) -> Regrets:
    """Return the expected regret of choosing at random in each run."""
    worlds = zip(run_names(protocol), played_worlds(protocol), strict=True)
    return {name: float(reference_columns(world.env)[UNIFORM].sum()) for name, world in worlds}
