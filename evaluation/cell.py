"""A cell: one agent in one world on one seed, and what came of it."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.registry import AgentSpec
from evaluation.entries import Limits
from evaluation.protocol import YARDSTICKS, Protocol, canonical_json
from evaluation.provenance import agent_source, harness_source, worlds_source
from evaluation.worlds import WorldSpec

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """What to run: plain data that can be sent anywhere.

    Attributes:
        key: SHA-256 of all that fixes the result: the address in the store.
        env: Label of the world.
        agent: Label of the agent, or ``YARDSTICKS``.
        track: Track of the agent.
        seed: Of the world and, apart from it, of the agent.
        world: The world.
        mind: The agent, None for the references.
        limits: What it may use.
        data: Fingerprint of the world's data, None if it has none.
        sources: SHA-256 of the code that the result depends on.
    """

    key: str
    env: str
    agent: str
    track: str
    seed: int
    world: WorldSpec
    mind: AgentSpec | None
    limits: Limits
    data: str | None
    sources: str


@dataclass(frozen=True)
class Outcome:
    """What came of a cell.

    Attributes:
        key: Which.
        reason: Why it failed, or None.
        columns: One entry per step: t, action, reward, regret, seconds (of the agent); of the
            references: t, and the regret of each.
        seconds: Of the whole cell.
        machine: Where it ran.
        sources: The cell's, for the record.
    """

    key: str
    reason: str | None = None
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    seconds: float = 0.0
    machine: dict[str, Any] = field(default_factory=dict)
    sources: str = ""


def cells_of(protocol: Protocol) -> list[Cell]:
    """All cells of a protocol: seed by seed, so that a part of a sweep compares all agents."""
    worlds = [
        (e.label, WorldSpec(e.spec.env_id, protocol.arguments(e)), set(protocol.seeds_of(e)))
        for e in protocol.envs
    ]
    minds: list[tuple[str, str, AgentSpec | None]] = [(YARDSTICKS, YARDSTICKS, None)]
    minds += [(entry.label, entry.track, entry.spec) for entry in protocol.agents]
    sources = {
        (env, agent): sources_of(setup.world, mind)
        for env, setup in protocol.setups.items()
        for agent, _, mind in minds
    }
    cells = []
    for seed in protocol.seeds:
        for env, world, seeds in worlds:
            if seed not in seeds:
                continue
            data = protocol.data_fingerprints[env]
            for agent, track, mind in minds:
                code = sources[env, agent]
                key = _key(world, data, mind, track, seed, code)
                limits = protocol.limits
                cells.append(Cell(key, env, agent, track, seed, world, mind, limits, data, code))
    return cells


def sources_of(world: object, mind: AgentSpec | None) -> str:
    """The code that a result depends on: that of the world, the harness and the agent."""
    parts = [worlds_source(world), harness_source(), agent_source(mind.name) if mind else "-"]
    return " ".join(part[:16] for part in parts)


def _key(
    world: WorldSpec,
    data: str | None,
    mind: AgentSpec | None,
    track: str,
    seed: int,
    code: str,
) -> str:
    """Labels and limits are not part of it: the same run under another name is the same run."""
    content = {
        "world": [world.env_id, world.arguments, data],
        "agent": [mind.name, mind.settings] if mind else YARDSTICKS,
        "code": code,
        "track": track,
        "seed": seed,
    }
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def pack(columns: dict[str, NDArray[Any]]) -> bytes:
    """Columns as bytes of plain numbers."""
    for name, column in columns.items():
        if column.dtype.kind not in "biuf":
            raise ValueError(f"{name} is not a column of numbers")
    file = io.BytesIO()
    np.savez_compressed(file, **columns)  # type: ignore[arg-type]
    return file.getvalue()


def unpack(data: bytes) -> dict[str, NDArray[Any]]:
    """The inverse of ``pack``; never runs code from the data."""
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
