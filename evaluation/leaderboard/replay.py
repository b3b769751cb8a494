"""Playing logged actions again: needs no agent, so it is safe on anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import InvalidAction
from numpy.typing import NDArray

from evaluation.leaderboard.bundle import BundleError, RunRecord
from evaluation.leaderboard.steps import Columns
from evaluation.protocol.entries import EnvEntry
from evaluation.protocol.protocol import Protocol
from evaluation.protocol.world_spec import WorldSpec
from periodic_envs.arrays import Array
from periodic_envs.env import PeriodicBanditEnv

TOLERANCE = 1e-9
"""Of rewards and regrets, relative: machines differ in the last digits."""


def world_of(protocol: Protocol, entry: EnvEntry) -> PeriodicBanditEnv:
    """The world that the protocol means, never one that a bundle names."""
    return WorldSpec(entry.spec.env_id, protocol.arguments(entry)).make()


def action_width(protocol: Protocol) -> int:
    """Coordinates of an action, the largest number of any world of the protocol."""
    spaces_ = [world_of(protocol, entry).action_space for entry in protocol.envs]
    return max(int(np.prod(space.shape or (1,))) for space in spaces_)


def expected_times(protocol: Protocol) -> list[NDArray[np.int64]]:
    """What t is in every run of a submission."""
    times = []
    for entry in protocol.envs:
        env = world_of(protocol, entry)
        t = np.arange(env.public.first_step, env.public.first_step + env.horizon)
        times += [t] * len(protocol.seeds_of(entry))
    return times


def replay(protocol: Protocol, runs: Sequence[RunRecord], steps: Sequence[Columns]) -> list[Array]:
    """The regret of every step, from the worlds themselves.

    Raises:
        BundleError: Where an action is none, or a reward or regret is not what the world gives.
    """
    worlds = {entry.label: world_of(protocol, entry) for entry in protocol.envs}
    return [_replay(worlds[run.env], run, own) for run, own in zip(runs, steps, strict=True)]


def _replay(env: PeriodicBanditEnv, run: RunRecord, steps: Columns) -> Array:
    where = f"{run.env}, seed {run.seed}"
    env.reset(seed=run.seed)
    rewards, regrets = np.empty(run.steps), np.empty(run.steps)
    for i, logged in enumerate(steps["action"]):
        try:
            _, reward, _, _, info = env.step(_action(env.action_space, logged))
        except (InvalidAction, ValueError) as error:
            raise BundleError(f"the action at t = {steps['t'][i]} of {where}: {error}") from None
        rewards[i], regrets[i] = float(reward), info["regret"]
    wrong = np.flatnonzero(~_equal(rewards, steps["reward"]))
    if len(wrong):
        i = int(wrong[0])
        raise BundleError(
            f"the reward at t = {steps['t'][i]} of {where} is {steps['reward'][i]:.9g}, but the "
            f"logged action gives {rewards[i]:.9g}: the action or the reward was changed"
        )
    if not _equal(regrets.sum(), run.regret):
        raise BundleError(
            f"the regret of {where} is claimed as {run.regret:.9g}, but the logged actions have "
            f"{regrets.sum():.9g}"
        )
    return regrets


def _action(space: spaces.Space[Any], logged: Array) -> Any:
    if isinstance(space, spaces.Discrete):
        if np.isfinite(logged[1:]).any() or not float(logged[0]).is_integer():
            raise ValueError(f"an arm is one whole number, got {logged.tolist()}")
        return int(logged[0])
    (width,) = space.shape or (1,)
    if np.isfinite(logged[width:]).any():
        raise ValueError(f"it has more than {width} coordinates: {logged.tolist()}")
    return logged[:width].copy()


def _equal(a: Any, b: Any) -> Any:
    return np.abs(a - b) <= TOLERANCE * (1.0 + np.abs(b))
