"""Protocols, which define the worlds, agents and seeds of sweeps.

A protocol is a TOML file::

    description = "Two agents in two worlds."
    envs = ["PeriodicGP-Synthetic-v0", "PeriodicGP-Madrid-v0:start=2018-11-03"]
    agents = ["gp-ucb", "periodic-gp-ucb:time_length_scale=1"]
    seeds = "0:20"

    [limits]
    seconds = 60
    memory_mb = 2048

An item of ``envs`` or ``agents`` may also be a table. In ``envs``, the table has the form
``{ id = "...", arguments = {...}, label = "...", group = "..." }``; in ``agents``, it has the form
``{ name = "...", settings = {...}, label = "...", track = "online" }``. Worlds with the same group,
such as twelve windows of data from one year, form one task in the tables of results. The arguments
of a world may also delay its rewards, for example ``delay = 20`` (see ``specs.DELAYS``).
``agents = "online"``, or ``"online"`` as an item of the list, stands for all agents of this package
except the generic RL agents. If the agents require an additional package, set
``install = "pip install ..."``. If that package is missing, the error message contains this
command.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from agents.registry import UnknownAgentError
from evaluation.limits import Limits
from evaluation.specs import (
    REFERENCE_ROWS,
    REFERENCES,
    TRAINING_SEED,
    AgentEntry,
    EnvEntry,
    MissingPackageError,
    ProtocolError,
    UnknownWorldError,
    WorldSpec,
    agent_entries,
    canonical_json,
    check_known,
    env_entry,
    parse_seeds,
    read_table,
)

if TYPE_CHECKING:  # worlds are imported only when an environment is created
    from periodic_envs.episode import Setup
    from periodic_envs.process import Origin

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Entry = TypeVar("Entry", EnvEntry, AgentEntry)
_FOLDER = resources.files("evaluation") / "protocols"


class ProtocolTable(msgspec.Struct, forbid_unknown_fields=True):
    """Schema of a protocol file."""

    name: str = "protocol"
    description: str = ""
    envs: list[Any] = []
    agents: str | list[Any] = []
    seeds: Any = "0:10"
    horizon: Annotated[int, msgspec.Meta(ge=1)] | None = None
    limits: Limits = Limits()
    install: str = ""


@dataclass(frozen=True)
class Protocol:
    """Worlds, agents and seeds of a sweep, with the resource limits of its runs.

    Attributes:
        name: Name of the protocol.
        description: One sentence on the purpose.
        envs: Worlds with their labels.
        agents: Agents with their labels.
        seeds: Seeds on which every agent is run in every world. Worlds that replay data are run on
            the first seed only.
        horizon: Number of steps of every run, reduced to the length of the data if the data are
            shorter; None for the default of each world.
        limits: Resource limits of a run.
    """

    name: str
    envs: tuple[EnvEntry, ...]
    agents: tuple[AgentEntry, ...]
    seeds: tuple[int, ...]
    description: str = ""
    horizon: int | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        _check_labels("envs", [entry.label for entry in self.envs])
        _check_labels("agents", [entry.label for entry in self.agents])
        _check_labels("seeds", [str(seed) for seed in self.seeds])
        worlds = {entry.label for entry in self.envs}
        for agent in self.agents:
            for env in agent.envs:
                if env not in worlds:
                    raise ProtocolError(
                        "unknown-environment",
                        f"agents: the envs of {agent.label!r} contain the unknown world {env!r}; "
                        f"expected labels from envs: {', '.join(sorted(worlds))}",
                    )
            if agent.training_steps and max(self.seeds) >= TRAINING_SEED:
                raise ProtocolError(
                    "reserved-seeds",
                    f"seeds must be less than {TRAINING_SEED:,} if an agent has training_steps, "
                    f"got {max(self.seeds):,}: seeds from {TRAINING_SEED:,} on are reserved "
                    "for training",
                )
            if agent.label in (*REFERENCE_ROWS, REFERENCES):
                raise ProtocolError(
                    "reserved-label",
                    f"agents: {agent.label!r} is the label of a reference row; choose a different "
                    "label",
                )

    @classmethod
    def load(cls, name: str | os.PathLike[str]) -> Protocol:
        """Load a built-in protocol by name, or a protocol from a TOML file."""
        path = Path(name)
        own = path.suffix == ".toml" or path.is_file()
        place = path if own else _FOLDER / f"{name}.toml"
        if not own:
            check_known("protocol", str(name), names(), "", ProtocolError)
        try:
            table = {"name": path.stem if own else str(name)}
            table |= tomllib.loads(place.read_bytes().decode())
            return cls.from_dict(table)
        except FileNotFoundError:
            raise ProtocolError(
                "file-not-found", f"the protocol file {str(name)!r} does not exist"
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ProtocolError(
                "invalid-toml", f"{name} is not a valid TOML file: {error}"
            ) from error
        except ProtocolError as error:
            if table.get("install") and isinstance(error.__cause__, UnknownAgentError):
                raise MissingPackageError(str(name), error.__cause__, table["install"]) from error
            raise ProtocolError(error.code, f"{name}: {error}") from error

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Protocol:
        """Create a protocol from plain data, as in a TOML or JSON file."""
        table = read_table(plain, ProtocolTable, "a protocol")
        agents = [table.agents] if isinstance(table.agents, str) else table.agents
        return cls(
            name=table.name,
            description=table.description,
            envs=tuple(map(env_entry, table.envs)),
            agents=tuple(agent_entries(agents)),
            seeds=parse_seeds(table.seeds),
            horizon=table.horizon,
            limits=table.limits,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which ``from_dict`` creates an equal protocol."""
        return {
            "name": self.name,
            "description": self.description,
            "envs": [
                {
                    "label": e.label,
                    "id": e.spec.env_id,
                    "arguments": e.spec.arguments,
                    "group": e.group,
                }
                for e in self.envs
            ],
            "agents": [
                {
                    "label": a.label,
                    "name": a.spec.name,
                    "settings": a.spec.settings,
                    "track": a.track,
                    "training_steps": a.training_steps,
                    "envs": list(a.envs),
                }
                for a in self.agents
            ],
            "seeds": list(self.seeds),
            "horizon": self.horizon,
            "limits": msgspec.structs.asdict(self.limits),
        }

    def restricted(
        self,
        *,
        envs: Collection[str] | None = None,
        agents: Collection[str | Mapping[str, Any]] | None = None,
        seeds: Sequence[int] | None = None,
    ) -> Protocol:
        """Return a copy with different agents, worlds or seeds.

        An item of ``envs`` or ``agents`` is a label from this protocol or a string in command-line
        notation. An item of ``agents`` may also be a table.
        """
        worlds = (
            self.envs if envs is None else tuple(_pick(envs, self.envs, partial(map, env_entry)))
        )
        chosen = self.agents if agents is None else tuple(_pick(agents, self.agents, agent_entries))
        return replace(
            self,
            envs=worlds,
            agents=chosen if envs is None else tuple(_within(chosen, worlds)),
            seeds=self.seeds if seeds is None else tuple(seeds),
        )

    def arguments(self, entry: EnvEntry) -> dict[str, Any]:
        """Return the arguments of an environment, including its horizon.

        The horizon of the protocol is used if the entry does not set a horizon. It is reduced to
        the length of the data if the data are shorter.
        """
        if self.horizon is None or "horizon" in entry.spec.arguments:
            return entry.spec.arguments
        origin = self.origins[entry.label]
        steps = self.horizon if origin is None else min(self.horizon, origin.steps)
        return {**entry.spec.arguments, "horizon": steps}

    def world(self, entry: EnvEntry) -> WorldSpec:
        """Return the world of an entry, with the arguments that ``arguments`` returns."""
        return WorldSpec(entry.spec.env_id, self.arguments(entry))

    def seeds_of(self, entry: EnvEntry) -> tuple[int, ...]:
        """Return the seeds for a world: only the first seed if the world replays data."""
        origin = self.origins[entry.label]
        return self.seeds[:1] if origin is not None and origin.replay else self.seeds

    @cached_property
    def setups(self) -> dict[str, Setup]:
        """Setups of the environments, by label of the world."""
        try:
            return {entry.label: entry.spec.make().setup for entry in self.envs}
        except UnknownWorldError as error:
            raise ProtocolError(error.code, f"envs: {error}") from error

    @property
    def origins(self) -> dict[str, Origin | None]:
        """Origins of the data, by label of the world; None for worlds without data."""
        return {label: setup.origin for label, setup in self.setups.items()}

    @cached_property
    def data_fingerprints(self) -> dict[str, str | None]:
        """Fingerprints of the data, by label of the world; None for worlds without data."""
        origins = self.origins.items()
        return {label: origin.fingerprint if origin else None for label, origin in origins}

    @cached_property
    def hash(self) -> str:
        """SHA-256 of everything that comparable results must share.

        The hash excludes the name and the description of the protocol. It includes the version of
        the worlds and the fingerprints of their data.
        """
        return self._hash_without("name", "description")

    @cached_property
    def challenge(self) -> str:
        """SHA-256 as in ``hash``, but without the agents.

        Submissions are comparable if their protocols have the same challenge.
        """
        return self._hash_without("name", "description", "agents")

    def _hash_without(self, *names: str) -> str:
        from periodic_envs import WORLDS_VERSION

        content = {key: value for key, value in self.to_dict().items() if key not in names}
        content["worlds"] = WORLDS_VERSION
        content["data"] = self.data_fingerprints
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def names() -> list[str]:
    """Return the names of the built-in protocols."""
    files = (entry.name for entry in _FOLDER.iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def _check_labels(what: str, labels: list[str]) -> None:
    """Raise an error for an empty list or a duplicate label."""
    if not labels:
        raise ProtocolError("empty-list", f"{what} must not be empty")
    label, count = Counter(labels).most_common(1)[0]
    if count > 1:
        raise ProtocolError(
            "repeated-label", f"{what} contains {label!r} {count} times; entries must be unique"
        )


def _pick(
    wanted: Collection[Any], entries: Sequence[Entry], make: Callable[[list[Any]], Iterable[Entry]]
) -> Iterator[Entry]:
    """Yield an entry for each wanted label, string or table.

    For a label, this is the existing entry with the label. Other items are converted by ``make``.
    """
    by_label = {entry.label: entry for entry in entries}
    for each in wanted:
        known = by_label.get(each) if isinstance(each, str) else None
        yield from make([each]) if known is None else [known]


def _within(agents: Iterable[AgentEntry], envs: Iterable[EnvEntry]) -> Iterator[AgentEntry]:
    """Yield the agents that run in at least one of the worlds, restricted to these worlds."""
    labels = {entry.label for entry in envs}
    for agent in agents:
        left = tuple(env for env in agent.envs if env in labels)
        if left or not agent.envs:
            yield replace(agent, envs=left)
