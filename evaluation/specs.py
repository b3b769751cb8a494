"""Parts of a protocol, read from plain data and checked."""

from __future__ import annotations

import difflib
import json
import operator
import os
import sys
import traceback
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from agents.notation import NotationError, parse_settings, written_settings
from agents.registry import AgentSpec, UnknownAgentError, online_names
from evaluation.errors import UnknownNameError, UserError

if TYPE_CHECKING:
    import gymnasium as gym

    from periodic_envs.env import PeriodicBanditEnv


TRACKS = ("online", "pretrained")
"""Tracks of agents: rankings never mix them."""
REFERENCE_ROWS = ("oracle", "best-per-phase", "best-fixed", "uniform-random")
"""Rows of every table that are computed, not run."""
REFERENCES = "references"
"""Agent and track of the run that computes them."""
CHANGES = "changes"
"""Column of that run, in worlds that change: the time of the first step after each change."""
TRAINING = "training"
"""Track of the runs that train agents of the track "pretrained"."""
TRAINING_SEED = 2**31
"""First of the seeds for training: agents are not judged in those worlds."""
MAX_SEEDS = 100_000
ONLINE = "online"
"""Stands, among the agents of a protocol, for all agents of ours but generic RL."""
DELAYS = {"delay": "delay", "delay_random": "random", "delay_lost": "lost"}
"""Arguments of a world that are those of :class:`periodic_envs.DelayedReward`, by its names."""

Table = TypeVar("Table")


class UnknownWorldError(UserError, ValueError):
    """An id that is not registered, or arguments that its world does not take."""


@dataclass(frozen=True)
class WorldSpec:
    """An environment's id with its arguments.

    >>> WorldSpec.parse("PeriodicGP-Madrid-v0:start=2018-11-03,stations=[4,8,50]")
    WorldSpec(env_id='PeriodicGP-Madrid-v0',
              arguments={'start': '2018-11-03', 'stations': [4, 8, 50]})

    A world of another package is named with its module: ``tide_world:Tide-v0:height=2``. Among the
    arguments may be how late rewards come: ``delay``, ``delay_random`` and ``delay_lost`` of
    ``specs.DELAYS``.
    """

    env_id: str
    arguments: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> WorldSpec:
        """Parse the command line's notation."""
        name, _, tail = text.partition(":")
        if "=" not in tail.partition(":")[0] and tail:
            module_id, _, tail = tail.partition(":")
            name = f"{name}:{module_id}"
        try:
            settings = parse_settings(tail)
        except NotationError as error:
            raise UnknownWorldError(str(error)) from error
        return cls(name, settings)

    def __str__(self) -> str:
        return self.env_id + written_settings(self.arguments)

    @property
    def world_arguments(self) -> dict[str, Any]:
        """Arguments of the world itself."""
        return {name: value for name, value in self.arguments.items() if name not in DELAYS}

    @property
    def delay(self) -> dict[str, Any]:
        """Arguments of ``DelayedReward``; empty if rewards come at once."""
        return {DELAYS[name]: value for name, value in self.arguments.items() if name in DELAYS}

    def make(self) -> PeriodicBanditEnv:
        """Return the environment itself, in which rewards come at once."""
        import gymnasium as gym

        import periodic_envs
        from periodic_envs.env import PeriodicBanditEnv

        try:
            env = gym.make(self.env_id, **self.world_arguments).unwrapped
            if not isinstance(env, PeriodicBanditEnv):
                raise UnknownWorldError(f"{self.env_id} is not an environment of this suite")
            self.as_played(env)  # checks the delay
        except (gym.error.Error, ModuleNotFoundError) as error:
            check_known("environment", self.env_id, periodic_envs.ids(), "", UnknownWorldError)
            raise UnknownWorldError(f"{self}: {error}") from error
        except ValueError as error:
            if isinstance(error, UnknownWorldError):
                raise
            raise UnknownWorldError(f"{self}: {error}") from error
        return env

    def as_played(self, env: PeriodicBanditEnv) -> gym.Env[Any, Any]:
        """Return the environment as agents meet it, with rewards that may come late."""
        from periodic_envs.delay import DelayedReward

        return DelayedReward(env, **self.delay) if self.delay else env


class ProtocolError(UserError, ValueError):
    """A protocol that cannot be run: one sentence that names the entry."""


class MissingPackageError(ProtocolError):
    """A protocol with agents of a package that is not installed: a sentence with the remedy."""

    def __init__(self, name: str, cause: Exception, install: str) -> None:
        self.install = install
        missing = str(cause).partition(";")[0]
        super().__init__(
            f"{name} has agents of a package that is not installed ({missing}); "
            f"in the project: {install}"
        )


class EnvTable(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of ``envs`` that is written as a table."""

    id: str
    arguments: dict[str, Any] = {}
    label: str | None = None
    group: str | None = None


class AgentTable(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of ``agents`` that is written as a table."""

    name: str
    settings: dict[str, Any] = {}
    label: str | None = None
    track: str | None = None
    training_steps: Annotated[int, Meta(ge=0, le=10**9)] = 0
    envs: tuple[str, ...] = ()


@dataclass(frozen=True)
class EnvEntry:
    """A world under a name of its own, in a group: alone, or one of several windows."""

    label: str
    spec: WorldSpec
    group: str


@dataclass(frozen=True)
class AgentEntry:
    """An agent under a name of its own, in a track: rankings never mix tracks.

    Attributes:
        label: The name.
        spec: The agent.
        track: "online", or "pretrained" with other worlds of the same kind (``track_of``).
        training_steps: Interactions with those, all together; 0 if it was trained elsewhere.
        envs: Labels of the worlds it takes part in; empty for all.
    """

    label: str
    spec: AgentSpec
    track: str = "online"
    training_steps: int = 0
    envs: tuple[str, ...] = ()

    def takes_part(self, env: str) -> bool:
        """Return whether it is run in a world."""
        return not self.envs or env in self.envs


def parse_seeds(value: Any) -> tuple[int, ...]:
    """Return the seeds of ``"0:20"``, ``"3"``, ``"1,4,9"`` or a list of whole numbers."""
    rule = f'seeds must be a text ("0:20", "1,4,9") or a list ([1, 4, 9]) of 1 to {MAX_SEEDS:,}'
    error = ProtocolError(f"{rule} whole numbers from 0 on, got {value!r}")
    listed = value
    try:
        if isinstance(value, str):
            first, colon, end = value.partition(":")
            listed = range(int(first), int(end)) if colon else map(int, value.split(","))
        seeds = tuple(int(operator.index(seed)) for seed in islice(listed, MAX_SEEDS + 1))
    except (TypeError, ValueError):
        raise error from None
    if not 0 < len(seeds) <= MAX_SEEDS or min(seeds) < 0:
        raise error
    return seeds


def env_entry(value: Any) -> EnvEntry:
    """Return a world from the command line's notation or a table."""
    if isinstance(value, str):
        try:
            return EnvEntry(value, WorldSpec.parse(value), value)
        except UnknownWorldError as error:
            raise ProtocolError(f"envs: {error}") from error
    table = read_table(value, EnvTable, "an entry of envs")
    spec = WorldSpec(table.id, table.arguments)
    label = str(spec) if table.label is None else table.label
    return EnvEntry(label, spec, label if table.group is None else table.group)


def agent_entry(value: Any) -> AgentEntry:
    """Return an agent from the command line's notation or a table."""
    table = AgentTable(value, label=value) if isinstance(value, str) else value
    if not isinstance(table, AgentTable):
        table = read_table(value, AgentTable, "an entry of agents")
    try:
        spec = AgentSpec.parse(table.name)
    except UnknownAgentError as error:
        raise ProtocolError(f"agents: {error}") from error
    spec = AgentSpec(spec.name, {**spec.settings, **table.settings})
    track = track_of(spec, table.track)
    if table.training_steps and track != "pretrained":
        raise ProtocolError('training_steps are for agents of the track "pretrained"')
    label = str(spec) if table.label is None else table.label
    return AgentEntry(label, spec, track, table.training_steps, table.envs)


def agent_entries(values: Iterable[Any]) -> Iterator[AgentEntry]:
    """Yield agents one by one; ``"online"`` stands for all of ours but generic RL."""
    for value in values:
        yield from map(agent_entry, online_names() if value == ONLINE else (value,))


def track_of(spec: AgentSpec, track: Any = None) -> str:
    """Return the requested track, by default "pretrained" with a learned prior, else "online".

    Raises:
        ProtocolError: If there is no such track, or the agent cannot be in it.
    """
    default = "pretrained" if spec.pretrained else "online"
    if track not in (None, *TRACKS):
        raise ProtocolError(f"track must be one of {', '.join(TRACKS)}, got {track!r}")
    if track == "online" != default:
        raise ProtocolError(
            f"{spec.name} with these settings starts from what was learned elsewhere: "
            'its track is "pretrained"'
        )
    return track or default


def read_table(value: Any, kind: type[Table], what: str) -> Table:
    """Return plain data as a checked table, or raise an error that names the field."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{what}: {error}") from error


def canonical_json(content: Any) -> str:
    """Return plain data as JSON, written in one way only."""
    try:
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ProtocolError(f"only plain data can be part of a protocol: {error}") from error


def check_known(
    what: str,
    name: Any,
    known: Collection[str],
    where: str = "here",
    error: type[Exception] = UnknownNameError,
) -> None:
    """Refuse an unknown name, with those that may have been meant.

    Args:
        what: The kind of name: "agent".
        name: The name.
        known: All names of that kind.
        where: Where they are looked up, for the message.
        error: The error to raise if the name is unknown.
    """
    if isinstance(name, str) and name in known:
        return
    close = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    mean = " or ".join(repr(each) for each in close)
    hint = f"did you mean {mean}?" if close else f"there are {', '.join(known) or 'none'}"
    place = f" {where}" if where else ""
    raise error(f"there is no {what} {name!r}{place}; {hint}")


def require_list(argument: str, value: Any, error: type[ValueError] = ValueError) -> list[Any]:
    """Return an iterable as a list; refuse a single text, which is one of letters."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise error(f"{argument} must be a list, got {value!r}: write {argument}=[...]")
    return list(value)


def look_for(spec: WorldSpec) -> None:
    """Import the module of a world that the user asks for by name.

    ``harbour:Harbour-v0`` names the module ``harbour``, which is installed or in the current
    folder: that folder is searched last, and only if such a world is asked for. This is not for
    worlds that a file of results names: looking at results runs no code of the folder.

    Raises:
        UnknownWorldError: If there is no such module or no such world.
    """
    import gymnasium as gym

    module, _, env_id = spec.env_id.rpartition(":")
    if module.endswith(".py"):
        name = f"{Path(module).stem}:{env_id}"
        raise UnknownWorldError(f"a world is named with its module, not with its file: {name}")
    if module and all(part.isidentifier() for part in module.split(".")):
        _import_world(module, env_id)
    elif env_id not in gym.registry:
        try:
            spec.make()
        except UnknownWorldError as error:
            if module:
                raise
            hint = f"a world of your own is named with its module: my_module:{env_id}"
            raise UnknownWorldError(f"{error} ({hint})") from error


def module_of(spec: WorldSpec) -> str:
    """Return the module that registers a third party's world; nothing for a world of ours."""
    import gymnasium as gym

    known = gym.registry.get(spec.env_id.rpartition(":")[2])
    module = str(known.kwargs.get("world", "")).partition(":")[0] if known else ""
    return "" if module.startswith("periodic_envs.") else module


def _import_world(module: str, env_id: str) -> None:
    """Import a module; the current folder is from now on the last place to look in."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise UnknownWorldError(f"cannot import {module!r}: {error}") from error
        raise UnknownWorldError(
            f"cannot find the world {env_id!r}: no module {error.name!r} is installed, and none is "
            "in the current folder"
        ) from error
    except Exception as error:  # a third party's file can fail in any way
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise UnknownWorldError(
            f"cannot import {module!r}: {type(error).__name__}: {error} "
            f"({where.filename}, line {where.lineno})"
        ) from error
