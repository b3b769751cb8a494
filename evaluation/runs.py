"""Runs: one agent in one world on one seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from agents.registry import AgentSpec, UnknownAgentError
from evaluation.keys import code_of, digest
from evaluation.limits import Limits
from evaluation.notebook import MAIN, pickled
from evaluation.specs import (
    REFERENCES,
    TRAINING,
    TRAINING_SEED,
    AgentEntry,
    EnvEntry,
    ProtocolError,
    WorldSpec,
    module_of,
)

if TYPE_CHECKING:  # workers do not import protocols
    from evaluation.protocol import Protocol


@dataclass(frozen=True)
class Run:
    """Definition of a run, as plain data that can be sent to workers.

    Attributes:
        key: SHA-256 of everything that the result depends on. The hash identifies the run in
            the store.
        env: Label of the world.
        agent: Label of the agent, or ``REFERENCES``.
        track: Track of the agent.
        seed: Seed of the world and, independently, of the agent.
        world: World with its arguments.
        agent_spec: Agent with its settings, or None for the references.
        limits: Resource limits.
        data: Fingerprint of the world's data, or None for a world without data.
        sources: Hashes of the code that the result depends on.
        world_module: Module of a third-party world, which workers import; otherwise empty.
        made_here: Pickled agent, if it is defined in a notebook or script; otherwise empty.
        training_steps: Number of interactions if the run trains an agent (track ``TRAINING``);
            otherwise 0.
        training: Key of the training run that the agent depends on, or None.
        learned: Packed record of the training run, once the record is available; otherwise None.
        agent_seed: Separate seed of the agent, which does not reveal the seed of the world; None
            to use ``seed``.
        isolation: "sandbox", or "none" for an agent in the same process as the world.
        horizon: Number of steps, or None if unknown.
    """

    key: str
    env: str
    agent: str
    track: str
    seed: int
    world: WorldSpec
    agent_spec: AgentSpec | None
    limits: Limits
    data: str | None
    sources: str
    world_module: str = ""
    made_here: bytes = b""
    training_steps: int = 0
    training: str | None = None
    learned: bytes | None = None
    agent_seed: int | None = None
    isolation: str = "none"
    horizon: int | None = None


def runs_of(protocol: Protocol) -> list[Run]:
    """Return all runs of a protocol: first the training runs, then the others, ordered by seed."""
    references = AgentEntry(REFERENCES, AgentSpec(REFERENCES), REFERENCES)
    trainings: list[Run] = []
    runs: list[tuple[int, Run]] = []
    for entry in protocol.envs:
        for agent in (references, *protocol.agents):
            if not agent.takes_part(entry.label):
                continue
            run = _first_run(protocol, entry, agent)
            if agent.training_steps:
                trainings.append(_training(protocol, run, agent.training_steps))
                run = replace(run, training=trainings[-1].key)
            runs += [(s, replace(run, seed=s)) for s in protocol.seeds_of(entry)]
    rank = {seed: number for number, seed in enumerate(protocol.seeds)}
    ordered = [run for _, run in sorted(runs, key=lambda pair: rank[pair[0]])]
    return [*trainings, *map(with_key, ordered)]


def _first_run(protocol: Protocol, entry: EnvEntry, agent: AgentEntry) -> Run:
    agent_spec = None if agent.label == REFERENCES else agent.spec
    world = protocol.world(entry)
    return Run(
        key="",
        env=entry.label,
        agent=agent.label,
        track=agent.track,
        seed=0,
        world=world,
        agent_spec=agent_spec,
        limits=protocol.limits,
        data=protocol.data_fingerprints[entry.label],
        sources=_sources(protocol, entry, agent_spec),
        world_module=module_of(world),
        made_here=pickled(agent.spec.name) if agent.spec.name.startswith(MAIN) else b"",
        horizon=world.arguments.get("horizon") or protocol.setups[entry.label].horizon,
    )


def _sources(protocol: Protocol, entry: EnvEntry, agent_spec: AgentSpec | None) -> str:
    try:
        return code_of(protocol.setups[entry.label], agent_spec)
    except UnknownAgentError as error:
        raise ProtocolError(error.code, f"agents: {error}") from error


def _training(protocol: Protocol, run: Run, steps: int) -> Run:
    """Return the training run of an agent for a world, on seeds reserved for training."""
    origin = protocol.origins[run.env]
    if origin is not None and origin.replay:
        raise ProtocolError(
            "untrainable-environment",
            f"{run.agent!r} cannot be trained in {run.env!r}: this world replays data, so no "
            "other worlds of the same kind exist",
        )
    if run.world.delay:
        raise ProtocolError(
            "untrainable-environment",
            f"{run.agent!r} cannot be trained in {run.env!r}: training does not support "
            "delayed rewards",
        )
    limits = msgspec.structs.replace(run.limits, seconds=run.limits.training_seconds)
    training = replace(run, track=TRAINING, training_steps=steps, limits=limits)
    return with_key(training)


def with_key(run: Run) -> Run:
    """Return a copy of a run with its key, which does not depend on labels or limits."""
    content: dict[str, Any] = {
        "world": [run.world.env_id, run.world.arguments, run.data],
        "agent": [run.agent_spec.name, run.agent_spec.settings] if run.agent_spec else REFERENCES,
        "code": run.sources,
        "track": run.track,
        "seed": run.seed,
    }
    if run.training_steps:
        content["training"] = [run.training_steps, TRAINING_SEED]
    if run.training:
        content["after training"] = run.training
    if run.agent_seed is not None:
        content["agent seed"] = run.agent_seed
    return replace(run, key=digest(content))
