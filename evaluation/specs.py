"""Entries of protocols, parsed from plain data and validated."""

from __future__ import annotations

import difflib
import json
import operator
import os
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from agents.errors import CodedError
from agents.notation import NotationError, parse_settings, written_settings
from agents.registry import AgentSpec, UnknownAgentError, online_names
from evaluation.errors import UnknownNameError, UserError

if TYPE_CHECKING:
    import gymnasium as gym

    from periodic_envs.env import PeriodicBanditEnv


TRACKS = ("online", "pretrained")
"""Tracks of agents, which are ranked separately."""
REFERENCE_ROWS = ("oracle", "best-per-phase", "best-fixed", "uniform-random")
"""Labels of the reference rows, which are computed from the worlds without agents."""
REFERENCES = "references"
"""Agent label and track of the run that computes the reference rows."""
CHANGES = "changes"
"""Column of the reference run that contains the first time after each change of the world."""
TRAINING = "training"
"""Track of the runs that train agents of the track "pretrained"."""
TRAINING_SEED = 2**31
"""First of the seeds that are reserved for training."""
MAX_SEEDS = 100_000
ONLINE = "online"
"""Placeholder in protocols for all built-in agents except generic RL."""
DELAYS = {"delay": "delay", "delay_random": "random", "delay_lost": "lost"}
"""Arguments of worlds that delay rewards, with the argument names of
:class:`periodic_envs.DelayedReward`."""

Table = TypeVar("Table")


class UnknownWorldError(UserError, ValueError):
    """Raised if an environment id is unknown, or an argument of an environment is invalid."""


@dataclass(frozen=True)
class WorldSpec:
    """Environment id with arguments.

    >>> WorldSpec.parse("PeriodicGP-Madrid-v0:start=2018-11-03,stations=[4,8,50]")
    WorldSpec(env_id='PeriodicGP-Madrid-v0',
              arguments={'start': '2018-11-03', 'stations': [4, 8, 50]})

    The id of a third-party world includes its module: ``tide_world:Tide-v0:height=2``. The
    arguments ``delay``, ``delay_random`` and ``delay_lost`` delay rewards (see ``specs.DELAYS``).
    """

    env_id: str
    arguments: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> WorldSpec:
        """Parse a world in the notation of the command line."""
        name, _, tail = text.partition(":")
        if "=" not in tail.partition(":")[0] and tail:
            module_id, _, tail = tail.partition(":")
            name = f"{name}:{module_id}"
        try:
            settings = parse_settings(tail)
        except NotationError as error:
            raise UnknownWorldError("invalid-settings", str(error)) from error
        return cls(name, settings)

    def __str__(self) -> str:
        return self.env_id + written_settings(self.arguments)

    @property
    def world_arguments(self) -> dict[str, Any]:
        """Arguments of the world, without those that delay rewards."""
        return {name: value for name, value in self.arguments.items() if name not in DELAYS}

    @property
    def delay(self) -> dict[str, Any]:
        """Arguments of ``DelayedReward``; empty if rewards are not delayed."""
        return {DELAYS[name]: value for name, value in self.arguments.items() if name in DELAYS}

    def make(self) -> PeriodicBanditEnv:
        """Return the environment, without the wrapper that delays rewards."""
        import gymnasium as gym

        import periodic_envs
        from periodic_envs.env import PeriodicBanditEnv

        try:
            env = gym.make(self.env_id, **self.world_arguments).unwrapped
            if not isinstance(env, PeriodicBanditEnv):
                raise UnknownWorldError(
                    "foreign-environment",
                    f"{self.env_id} must be a PeriodicBanditEnv, got {type(env).__name__}",
                )
            self.as_played(env)  # raises an error if a delay is invalid
        except (gym.error.Error, ModuleNotFoundError) as error:
            check_known("environment", self.env_id, periodic_envs.ids(), "", UnknownWorldError)
            raise UnknownWorldError("cannot-create", f"{self}: {error}") from error
        except ValueError as error:
            if isinstance(error, UnknownWorldError):
                raise
            raise UnknownWorldError(
                getattr(error, "code", "invalid-argument"), f"{self}: {error}"
            ) from error
        return env

    def as_played(self, env: PeriodicBanditEnv) -> gym.Env[Any, Any]:
        """Return the environment, wrapped in ``DelayedReward`` if rewards are delayed."""
        from periodic_envs.delay import DelayedReward

        return DelayedReward(env, **self.delay) if self.delay else env


class ProtocolError(UserError, ValueError):
    """Raised if a protocol is invalid; the message names the invalid entry."""


class MissingPackageError(ProtocolError):
    """Raised if a protocol has agents of a package that is not installed.

    The message contains the command that installs the package.
    """

    def __init__(self, name: str, cause: Exception, install: str) -> None:
        self.install = install
        missing = str(cause).partition(";")[0]
        super().__init__(
            "missing-package",
            f"the protocol {name} has agents of a package that is not installed ({missing}); to "
            f"install the package, run in the folder of the project: {install}",
        )


class EnvTable(msgspec.Struct, forbid_unknown_fields=True):
    """Schema of an entry of ``envs`` in table form."""

    id: str
    arguments: dict[str, Any] = {}
    label: str | None = None
    group: str | None = None


class AgentTable(msgspec.Struct, forbid_unknown_fields=True):
    """Schema of an entry of ``agents`` in table form."""

    name: str
    settings: dict[str, Any] = {}
    label: str | None = None
    track: str | None = None
    training_steps: Annotated[int, Meta(ge=0, le=10**9)] = 0
    envs: tuple[str, ...] = ()


@dataclass(frozen=True)
class EnvEntry:
    """World with a unique label and a group. Each group is one task in the tables."""

    label: str
    spec: WorldSpec
    group: str


@dataclass(frozen=True)
class AgentEntry:
    """Agent with a unique label and a track.

    Attributes:
        label: Unique label.
        spec: Agent with its settings.
        track: "online", or "pretrained" for an agent that has learned from other worlds or data.
        training_steps: Total number of training interactions; 0 if the harness does not train the
            agent.
        envs: Labels of the worlds in which the agent runs; empty for all worlds.
    """

    label: str
    spec: AgentSpec
    track: str = "online"
    training_steps: int = 0
    envs: tuple[str, ...] = ()

    def takes_part(self, env: str) -> bool:
        """Return True if the agent runs in a world."""
        return not self.envs or env in self.envs


def parse_seeds(value: Any) -> tuple[int, ...]:
    """Parse seeds from ``"0:20"``, ``"3"``, ``"1,4,9"`` or a list of integers."""
    rule = f'seeds must be a string ("0:20", "1,4,9") or a list ([1, 4, 9]) of 1 to {MAX_SEEDS:,}'
    error = ProtocolError("invalid-seeds", f"{rule} non-negative integers, got {value!r}")
    listed = value
    try:
        if isinstance(value, str):
            first, colon, end = value.partition(":")
            listed = range(int(first), int(end)) if colon else map(int, value.split(","))
        # Reading one seed more than allowed is enough to detect a list that is too long.
        seeds = tuple(int(operator.index(seed)) for seed in islice(listed, MAX_SEEDS + 1))
    except (TypeError, ValueError):
        raise error from None
    if not 0 < len(seeds) <= MAX_SEEDS or min(seeds) < 0:
        raise error
    return seeds


def env_entry(value: Any) -> EnvEntry:
    """Parse a world from a string in command-line notation or from a table."""
    if isinstance(value, str):
        try:
            return EnvEntry(value, WorldSpec.parse(value), value)
        except UnknownWorldError as error:
            raise ProtocolError(error.code, f"envs: {error}") from error
    table = read_table(value, EnvTable, "an entry of envs")
    spec = WorldSpec(table.id, table.arguments)
    label = str(spec) if table.label is None else table.label
    return EnvEntry(label, spec, label if table.group is None else table.group)


def agent_entry(value: Any) -> AgentEntry:
    """Parse an agent from a string in command-line notation or from a table."""
    table = AgentTable(value, label=value) if isinstance(value, str) else value
    if not isinstance(table, AgentTable):
        table = read_table(value, AgentTable, "an entry of agents")
    try:
        spec = AgentSpec.parse(table.name)
    except UnknownAgentError as error:
        raise ProtocolError(error.code, f"agents: {error}") from error
    spec = AgentSpec(spec.name, {**spec.settings, **table.settings})
    track = track_of(spec, table.track)
    if table.training_steps and track != "pretrained":
        raise ProtocolError(
            "wrong-track", f'training_steps requires the track "pretrained", got {track!r}'
        )
    label = str(spec) if table.label is None else table.label
    return AgentEntry(label, spec, track, table.training_steps, table.envs)


def agent_entries(values: Iterable[Any]) -> Iterator[AgentEntry]:
    """Yield parsed agents; ``"online"`` expands to all built-in agents except generic RL."""
    for value in values:
        yield from map(agent_entry, online_names() if value == ONLINE else (value,))


def track_of(spec: AgentSpec, track: Any = None) -> str:
    """Return the track of an agent.

    Without a requested track, the result is "pretrained" for an agent with a learned prior, and
    "online" for any other agent.

    Raises:
        ProtocolError: If the requested track is unknown or not allowed for the agent.
    """
    default = "pretrained" if spec.pretrained else "online"
    if track not in (None, *TRACKS):
        raise ProtocolError(
            "unknown-track", f"track must be one of {', '.join(TRACKS)}, got {track!r}"
        )
    if track == "online" != default:
        raise ProtocolError(
            "wrong-track",
            f'{spec.name} with these settings has a learned prior: its track must be "pretrained"',
        )
    return track or default


def read_table(value: Any, kind: type[Table], what: str) -> Table:
    """Return plain data converted to an object of type ``kind``; errors name the invalid field."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ProtocolError("invalid-table", f"{what}: {error}") from error


def canonical_json(content: Any) -> str:
    """Return plain data as JSON with sorted keys and without spaces."""
    try:
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ProtocolError(
            "not-plain-data",
            "a protocol must contain only text, finite numbers, booleans, lists and tables: "
            f"{error}",
        ) from error


def check_known(
    what: str,
    name: Any,
    known: Collection[str],
    where: str = "",
    error: type[CodedError] = UnknownNameError,
) -> None:
    """Raise an error with suggestions if a name is unknown.

    Args:
        what: Kind of the name, such as "agent".
        name: The name.
        known: All names of that kind.
        where: Addition to the message that states where the name was used, such as "in this
            sweep".
        error: Type of the error.
    """
    if isinstance(name, str) and name in known:
        return
    close = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    mean = " or ".join(repr(each) for each in close)
    hint = f"did you mean {mean}?" if close else f"expected one of: {', '.join(known) or 'none'}"
    place = f" {where}" if where else ""
    raise error(f"unknown-{what}", f"unknown {what} {name!r}{place}; {hint}")


def require_list(
    argument: str, value: Any, error: Callable[[str], ValueError] = ValueError
) -> list[Any]:
    """Return an iterable as a list; raise an error for a string or a value that is not iterable."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise error(f"{argument} must be a list, got {value!r}: write {argument}=[...]")
    return list(value)


def look_for(spec: WorldSpec) -> None:
    """Import the module of a world that the user requests by name.

    For the world ``harbour:Harbour-v0``, this function imports the module ``harbour``, which must
    be installed or in the current folder. The current folder is searched last. Do not call this
    function for worlds named in a results file, because reading results must not run code from the
    current folder.

    Raises:
        UnknownWorldError: If the module or the world does not exist.
    """
    import gymnasium as gym

    module, _, env_id = spec.env_id.rpartition(":")
    if module.endswith(".py"):
        name = f"{Path(module).stem}:{env_id}"
        raise UnknownWorldError(
            "not-a-module",
            f"expected the module of the world, got the file {module!r}: write {name}",
        )
    if module and all(part.isidentifier() for part in module.split(".")):
        _import_world(module, env_id)
    elif env_id not in gym.registry:
        try:
            spec.make()
        except UnknownWorldError as error:
            if module:
                raise
            hint = f"for your own world, include its module: my_module:{env_id}"
            raise UnknownWorldError(error.code, f"{error} ({hint})") from error


def module_of(spec: WorldSpec) -> str:
    """Return the module of a third-party world, or an empty string for a built-in world."""
    import gymnasium as gym

    known = gym.registry.get(spec.env_id.rpartition(":")[2])
    module = str(known.kwargs.get("world", "")).partition(":")[0] if known else ""
    return "" if module.startswith("periodic_envs.") else module


def _import_world(module: str, env_id: str) -> None:
    """Import a module, after appending the current folder to ``sys.path``."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise UnknownWorldError(
                "cannot-import", f"cannot import {module!r}: {error}"
            ) from error
        raise UnknownWorldError(
            "missing-package",
            f"cannot find the world {env_id!r}: the module {error.name!r} is neither installed nor "
            "in the current folder",
        ) from error
    except Exception as error:  # third-party code can raise any error
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise UnknownWorldError(
            "cannot-import",
            f"cannot import {module!r}: {type(error).__name__}: {error} "
            f"({where.filename}, line {where.lineno})",
        ) from error
