"""Replay of submitted actions, from which rewards and regrets are recomputed.

``steps.bin`` has the format of packed records (``evaluation.record``). It contains one array for
each run of the protocol; the arrays are named "0", "1", ... in the order of ``replays``. Arms are
stored in the smallest unsigned integer type that can represent all of them, and actions in a box as
float64 of shape (steps, dim). Rewards and regrets are not stored: they are recomputed by taking the
actions in the worlds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium.error import InvalidAction
from numpy.typing import NDArray

from evaluation.leaderboard.bundle import STEPS, BundleError
from evaluation.protocol import Protocol
from evaluation.record import RecordError, pack, unpack
from evaluation.references import reference_columns
from evaluation.results import UNIFORM
from evaluation.runs import Run, runs_of
from evaluation.specs import REFERENCES, AgentEntry
from periodic_envs.env import PeriodicBanditEnv

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class RunReplay:
    """Run of a protocol, to be replayed with the actions of any agent.

    Attributes:
        env: Label of the world.
        seed: Seed of the world.
        world: Environment, which is shared by all runs in the same world.
    """

    env: str
    seed: int
    world: PeriodicBanditEnv

    def blank(self) -> NDArray[Any]:
        """Return an array of zeros with the type and shape of the actions."""
        public, steps = self.world.public, self.world.horizon
        if public.n_actions is None:
            return np.zeros((steps, public.dim))
        return np.zeros(steps, np.min_scalar_type(public.n_actions - 1))

    def columns(self, actions: NDArray[Any]) -> Columns:
        """Take the actions in the world; return t, action, reward and regret of every step.

        Raises:
            BundleError: If an action is invalid.
        """
        self.world.reset(seed=self.seed)
        rows: list[tuple[int, float, float]] = []
        for action in actions:
            try:
                _, reward, _, _, info = self.world.step(action)
            except InvalidAction as error:
                raise BundleError(
                    "invalid-action", f"step {len(rows)} in {self.env}, seed {self.seed}: {error}"
                ) from None
            rows.append((info["t"], reward, info["regret"]))
        columns = map(np.array, zip(*rows, strict=True))
        return {"action": actions, **dict(zip(("t", "reward", "regret"), columns, strict=True))}

    def references(self) -> Columns:
        """Return the columns of the reference rows for this run."""
        self.world.reset(seed=self.seed)
        return reference_columns(self.world)


def replays(protocol: Protocol) -> list[RunReplay]:
    """Return the runs of a submission, ordered by seed as in ``runs_of``."""
    worlds = {entry.label: protocol.world(entry).make() for entry in protocol.envs}
    return [
        RunReplay(entry.label, seed, worlds[entry.label])
        for seed in protocol.seeds
        for entry in protocol.envs
        if seed in protocol.seeds_of(entry)
    ]


def runs_of_agents(protocol: Protocol, agents: Sequence[AgentEntry]) -> list[Run]:
    """Return the runs of agents, without references, for each agent in the order of ``replays``."""
    runs = runs_of(replace(protocol, agents=tuple(agents)))
    return [run for run in runs if run.track != REFERENCES]


def uniform_regrets(protocol: Protocol, seeds: Sequence[int] = ()) -> dict[tuple[str, int], float]:
    """Return the expected regret of choosing at random, by label of the world and by seed.

    Args:
        protocol: Protocol with the worlds and seeds.
        seeds: Seeds in addition to those of the protocol.
    """
    runs = replays(replace(protocol, seeds=(*protocol.seeds, *seeds)))
    return {(run.env, run.seed): float(run.references()[UNIFORM].sum()) for run in runs}


def write_steps(runs: Sequence[RunReplay], actions: Sequence[NDArray[Any]]) -> bytes:
    """Return the packed actions of runs."""
    blanks = [run.blank() for run in runs]
    return pack(
        {
            str(place): np.reshape(own, blank.shape).astype(blank.dtype)
            for place, (own, blank) in enumerate(zip(actions, blanks, strict=True))
        }
    )


def max_step_bytes(runs: Sequence[RunReplay]) -> int:
    """Return an upper bound on the size of the steps, packed or unpacked."""
    # An array has at most 200 bytes of header, and compression adds at most 1 %.
    return int(1.01 * sum(run.blank().nbytes + 200 for run in runs)) + 200


def read_steps(data: bytes, runs: Sequence[RunReplay]) -> list[NDArray[Any]]:
    """Return the actions of every run, read from untrusted bytes.

    Raises:
        BundleError: If the bytes are damaged or do not match the runs.
    """
    try:
        arrays = unpack(data, max_bytes=max_step_bytes(runs))
    except RecordError as error:
        raise BundleError("damaged-file", f"{STEPS}: {error}") from None
    if arrays.keys() != set(map(str, range(len(runs)))):
        raise BundleError(
            "wrong-runs", f"{STEPS} must have exactly one array for each of the {len(runs):,} runs"
        )
    actions = [arrays[str(place)] for place in range(len(runs))]
    for run, own in zip(runs, actions, strict=True):
        blank = run.blank()
        if (own.dtype, own.shape) != (blank.dtype, blank.shape):
            raise BundleError(
                "wrong-shape",
                f"{STEPS}: the actions in {run.env}, seed {run.seed}, must be {blank.dtype} of "
                f"shape {blank.shape}, got {own.dtype} of shape {own.shape}",
            )
    return [own if own.dtype.kind == "f" else own.astype(np.int64) for own in actions]
