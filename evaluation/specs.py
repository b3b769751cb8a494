"""What a protocol is made of, read from plain data and checked."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
"""Seeds from here on are for training: nobody is judged in those worlds."""

LIMITS = ("seconds", "memory_mb", "training_seconds")
MAX_SEEDS = 100_000
MAX_TRAINING_STEPS = 10**9
ONLINE = "online"
"""Among the agents of a protocol: all agents of ours but generic RL."""
_AGENT = ("name", "settings", "label", "track", "training_steps", "envs")


DELAYS = {"delay": "delay", "delay_random": "random", "delay_lost": "lost"}
"""Arguments that are not the world's but of :class:`periodic_envs.DelayedReward`, by its names."""


class UnknownWorldError(UserError, ValueError):
    """An id that nobody registered, or arguments it does not take."""


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
        """From the command line's notation."""
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

    def make(self) -> PeriodicBanditEnv:
        """The environment itself, in which rewards come at once."""
        import gymnasium as gym

        from periodic_envs.env import PeriodicBanditEnv

        try:
            delay_arguments(self.arguments)  # what is wrong with them is said now
            env = gym.make(self.env_id, **world_arguments(self.arguments)).unwrapped
        except (gym.error.Error, ModuleNotFoundError) as error:
            raise UnknownWorldError(_unknown(self.env_id)) from error
        except ValueError as error:
            raise UnknownWorldError(f"{self.env_id}: {error}") from error
        if not isinstance(env, PeriodicBanditEnv):
            raise UnknownWorldError(f"{self.env_id} is not an environment of this suite")
        return env

    def as_played(self, env: PeriodicBanditEnv) -> gym.Env[Any, Any]:
        """The environment as agents meet it: rewards come late if the arguments say so."""
        return delayed(env, self.arguments)


def _unknown(env_id: str) -> str:
    import periodic_envs

    close = difflib.get_close_matches(env_id, periodic_envs.ids(), n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(close)}?" if close else "see: periodic-gp envs"
    return f"there is no environment {env_id!r}; {hint}"


class ProtocolError(UserError, ValueError):
    """A protocol that cannot be run: one sentence that names the entry."""


class MissingPackageError(ProtocolError):
    """A protocol with agents of a package that is not installed: a sentence that says how to."""

    def __init__(self, name: str, cause: Exception, install: str) -> None:
        self.install = install
        missing = str(cause).partition(";")[0]
        super().__init__(
            f"{name} has agents of a package that is not installed ({missing}); "
            f"in the project: {install}"
        )


@dataclass(frozen=True)
class Limits:
    """What one run may use.

    Attributes:
        seconds: Time for one agent in one world, all steps together.
        memory_mb: Memory that the agent may take on top of what the harness has.
        training_seconds: Time for training before that.
    """

    seconds: float = 600.0
    memory_mb: int = 4096
    training_seconds: float = 3600.0

    def __post_init__(self) -> None:
        for name in LIMITS:
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 < value <= 1e7:
                raise ProtocolError(f"limits.{name} must be a number up to 1e7, got {value!r}")


@dataclass(frozen=True)
class EnvEntry:
    """A world under a name of its own, in a group: by itself, or one of several windows."""

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
        """Whether it is run in a world."""
        return not self.envs or env in self.envs


def parse_seeds(value: Any) -> tuple[int, ...]:
    """``"0:20"``, ``"3"``, ``"1,4,9"``, a number or a list of numbers."""
    if isinstance(value, str):
        value = _written_seeds(value)
    elif type(value) is int:
        value = [value]
    if not isinstance(value, list | tuple | range) or len(value) > MAX_SEEDS:
        raise ProtocolError(f"seeds must be a list of up to {MAX_SEEDS:,}, got {value!r}")
    if not value or not all(type(seed) is int and seed >= 0 for seed in value):
        raise ProtocolError(f"seeds must be whole numbers from 0 on, got {value!r}")
    return tuple(value)


def _written_seeds(written: str) -> Sequence[int]:
    first, colon, end = written.partition(":")
    try:
        seeds = range(int(first), int(end)) if colon else [int(s) for s in written.split(",")]
        empty = len(seeds) == 0
    except (ValueError, OverflowError):
        raise ProtocolError(f"seeds are written 0:20 or 1,4,9, got {written!r}") from None
    if empty:
        raise ProtocolError(f"seeds {written} are none: the end must be above the start")
    return seeds


def env_entry(value: Any) -> EnvEntry:
    """A world from the command line's notation or a table."""
    try:
        if isinstance(value, str):
            return EnvEntry(value, WorldSpec.parse(value), value)
        table = mapping(value, "an entry of envs")
        only_known(table, ("id", "arguments", "label", "group"), "an entry of envs")
        spec = WorldSpec(text(table.get("id"), "id"), dict(mapping(table.get("arguments", {}))))
    except UnknownWorldError as error:
        raise ProtocolError(f"envs: {error}") from error
    label = text(table.get("label", str(spec)), "label")
    return EnvEntry(label, spec, text(table.get("group", label), "group"))


def agent_entry(value: Any) -> AgentEntry:
    """An agent from the command line's notation or a table."""
    try:
        if isinstance(value, str):
            spec = AgentSpec.parse(value)
            return AgentEntry(value, spec, track_of(spec))
        table = mapping(value, "an entry of agents")
        only_known(table, _AGENT, "an entry of agents")
        parsed = AgentSpec.parse(text(table.get("name"), "name"))
    except UnknownAgentError as error:
        raise ProtocolError(f"agents: {error}") from error
    settings = {**parsed.settings, **mapping(table.get("settings", {}), "settings")}
    spec = AgentSpec(parsed.name, settings)
    track = track_of(spec, table.get("track"))
    steps = table.get("training_steps", 0)
    if type(steps) is not int or not 0 <= steps <= MAX_TRAINING_STEPS:
        raise ProtocolError(f"training_steps must be a whole number from 0 on, got {steps!r}")
    if steps and track != "pretrained":
        raise ProtocolError('training_steps are for agents of the track "pretrained"')
    envs = tuple(text(env, "envs") for env in listed(table.get("envs", ()), "envs"))
    return AgentEntry(text(table.get("label", str(spec)), "label"), spec, track, steps, envs)


def agent_entries(values: Iterable[Any]) -> Iterator[AgentEntry]:
    """Agents one by one; ``"online"`` stands for all of ours but generic RL."""
    for value in values:
        yield from map(agent_entry, online_names() if value == ONLINE else (value,))


def track_of(spec: AgentSpec, asked: Any = None) -> str:
    """The track that is asked for; by default "online", unless the agent knows something already.

    Raises:
        ProtocolError: If there is no such track, or the agent has no place in it.
    """
    if asked not in (None, *TRACKS):
        raise ProtocolError(f"track must be one of {', '.join(TRACKS)}, got {asked!r}")
    if asked == "online" and spec.pretrained:
        raise ProtocolError(
            f"{spec.name} with these settings starts from what was learned elsewhere: "
            'its track is "pretrained"'
        )
    return asked or ("pretrained" if spec.pretrained else "online")


def only_known(table: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    """Refuse a key that nobody reads."""
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise ProtocolError(f"{what} has no {key!r}{hint}; it has {', '.join(known)}")


def mapping(value: Any, what: str = "arguments") -> Mapping[str, Any]:
    """A table, or an error that names it."""
    if not isinstance(value, Mapping):
        raise ProtocolError(f"{what} must be a table, got {value!r}")
    return value


def listed(value: Any, what: str) -> Sequence[Any]:
    """A list, or an error that names it."""
    if not isinstance(value, list | tuple):
        raise ProtocolError(f"{what} must be a list, got {value!r}")
    return value


def text(value: Any, what: str) -> str:
    """A text, or an error that names it."""
    if not isinstance(value, str):
        raise ProtocolError(f"{what} must be a text, got {value!r}")
    return value


def canonical_json(content: Any) -> str:
    """The one way to write plain data down."""
    try:
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ProtocolError(f"only plain data can be part of a protocol: {error}") from error


def world_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the world itself."""
    return {name: value for name, value in arguments.items() if name not in DELAYS}


def delay_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the wrapper; empty if rewards come at once.

    Raises:
        ValueError: One sentence that names the argument.
    """
    from periodic_envs import checks

    given = {name: value for name, value in arguments.items() if name in DELAYS}
    for name, value in given.items():
        if name == "delay_lost":
            checks.within(name, value, 0.0, 1.0)
        else:
            checks.whole(name, value, 0)
    return {DELAYS[name]: value for name, value in given.items()}


def delayed(env: gym.Env[Any, Any], arguments: Mapping[str, Any]) -> gym.Env[Any, Any]:
    """An environment as agents meet it: with rewards that come late, if the arguments say so."""
    from periodic_envs.delay import DelayedReward

    given = delay_arguments(arguments)
    return DelayedReward(env, **given) if given else env


def check_known(what: str, name: Any, known: Collection[str], where: str = "here") -> None:
    """Refuse an unknown name, with those that may have been meant.

    Args:
        what: The kind of name: "agent".
        name: The name.
        known: All names of that kind.
        where: Where they are looked up, for the message.

    Raises:
        UnknownNameError: If the name is unknown.
    """
    if isinstance(name, str) and name in known:
        return
    close = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    mean = " or ".join(repr(each) for each in close)
    hint = f"did you mean {mean}?" if close else f"there are {', '.join(known) or 'none'}"
    raise UnknownNameError(f"there is no {what} {name!r} {where}; {hint}")


def require_list(argument: str, value: Any, error: type[ValueError] = ValueError) -> list[Any]:
    """Return an iterable as a list; refuse a single text, which is one of letters."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise error(f"{argument} must be a list, got {value!r}: write {argument}=[...]")
    return list(value)
