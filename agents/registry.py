"""Registry of agents: names, their classes, and the notation of the command line.

An agent is named in one of three ways, each optionally followed by a colon and settings:

- ``periodic-gp-ucb`` or ``periodic-gp-ucb:time_length_scale=1,beta=constant:2``: a name that is
  registered in :data:`BUILT_IN`, or by another package in the entry-point group
  ``periodic_gp.agents``;
- ``package.module:Class`` or ``package.module:Class:setting=3``;
- ``path/to/file.py:Class`` or ``path/to/file.py:Class:setting=3``.

The named class or function is called with ``(problem, rng, **settings)`` and returns an agent.
Listing the names imports no agent.
"""

from __future__ import annotations

import difflib
import inspect
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from numpy.typing import NDArray

from agents.arrays import Rng
from agents.base import Agent, Problem, Trainable
from agents.errors import CodedError
from agents.from_source import import_from_source, load_file
from agents.notation import NotationError, parse_settings, written_settings

GROUP = "periodic_gp.agents"
"""Entry-point group in which other packages register agents."""
GENERIC_RL = "generic RL"
"""Family of the reinforcement-learning agents, which have separate protocols."""


class Entry(NamedTuple):
    """Registration of an agent of this package.

    Attributes:
        place: Import path of the agent's class, ``package.module:Class``.
        family: Group of related methods, such as "GP, periodic".
        pretrained_by: Settings that give the agent knowledge from earlier data.
    """

    place: str
    family: str
    pretrained_by: tuple[str, ...] = ()


BUILT_IN: dict[str, Entry] = {
    "auto-gp-ucb": Entry("agents.auto.auto_gp_ucb:AutoGPUCB", "GP, periodic", ("prior",)),
    "et-gp-ucb": Entry("agents.zoo.gp.et_gp_ucb:ETGPUCB", "GP, forgetting"),
    "r-gp-ucb": Entry("agents.zoo.gp.r_gp_ucb:RGPUCB", "GP, forgetting"),
    "sw-gp-ucb": Entry("agents.zoo.gp.sw_gp_ucb:SWGPUCB", "GP, forgetting"),
    "tv-gp-ucb": Entry("agents.zoo.gp.tv_gp_ucb:TVGPUCB", "GP, forgetting"),
    "ui-tvbo": Entry("agents.zoo.gp.ui_tvbo:UITVBO", "GP, forgetting"),
    "w-dbo": Entry("agents.zoo.gp.w_dbo:WDBO", "GP, forgetting"),
    "wgp-ucb": Entry("agents.zoo.gp.wgp_ucb:WGPUCB", "GP, forgetting"),
    "gp-thompson": Entry("agents.zoo.gp.gp_thompson:GPThompson", "GP, periodic"),
    "pe-gp-ucb": Entry("agents.zoo.gp.pe_gp_ucb:PEGPUCB", "GP, periodic"),
    "periodic-gp-ucb": Entry("agents.zoo.gp.periodic_gp_ucb:PeriodicGPUCB", "GP, periodic"),
    "seasons-gp-ucb": Entry("agents.zoo.gp.seasons_gp_ucb:SeasonsGPUCB", "GP, periodic"),
    "switching-gp-ucb": Entry("agents.zoo.gp.switching_gp_ucb:SwitchingGPUCB", "GP, periodic"),
    "c-gp-ucb": Entry("agents.zoo.gp.c_gp_ucb:CGPUCB", "GP, static"),
    "gp-ucb": Entry("agents.zoo.gp.gp_ucb:GPUCB", "GP, static"),
    "adswitch": Entry("agents.zoo.arms.adswitch:AdSwitch", "arms, change detection"),
    "glr-ucb": Entry("agents.zoo.arms.glr_ucb:GLRUCB", "arms, change detection"),
    "master": Entry("agents.zoo.arms.master:Master", "arms, change detection"),
    "d-ucb": Entry("agents.zoo.arms.d_ucb:DUCB", "arms, forgetting"),
    "exp3-s": Entry("agents.zoo.arms.exp3:Exp3S", "arms, forgetting"),
    "rexp3": Entry("agents.zoo.arms.exp3:RExp3", "arms, forgetting"),
    "sw-ts": Entry("agents.zoo.arms.sw_ts:SWTS", "arms, forgetting"),
    "sw-ucb": Entry("agents.zoo.arms.sw_ucb:SWUCB", "arms, forgetting"),
    "cab1": Entry("agents.zoo.arms.cab1:CAB1", "arms, many"),
    "siri": Entry("agents.zoo.arms.siri:SiRI", "arms, many"),
    "ucb-air": Entry("agents.zoo.arms.ucb_air:UCBAIR", "arms, many"),
    "fourier-period-ucb": Entry(
        "agents.zoo.arms.fourier_period_ucb:FourierPeriodUCB", "arms, periodic"
    ),
    "model-reuse-ucb": Entry("agents.zoo.linear.model_reuse_ucb:ModelReuseUCB", "arms, periodic"),
    "periodic-exp4": Entry("agents.zoo.arms.periodic_exp4:PeriodicEXP4", "arms, periodic"),
    "phase-ts": Entry("agents.zoo.arms.phase_ts:PhaseTS", "arms, periodic"),
    "phase-ucb": Entry("agents.zoo.arms.phase_ucb:PhaseUCB", "arms, periodic"),
    "ramanujan-ucb": Entry("agents.zoo.arms.ramanujan_ucb:RamanujanUCB", "arms, periodic"),
    "kl-ucb": Entry("agents.zoo.arms.kl_ucb:KLUCB", "arms, stationary"),
    "thompson": Entry("agents.zoo.arms.thompson:Thompson", "arms, stationary"),
    "ucb1": Entry("agents.zoo.arms.ucb1:UCB1", "arms, stationary"),
    "fixed": Entry("agents.zoo.arms.fixed:Fixed", "baselines"),
    "random": Entry("agents.zoo.arms.random:Random", "baselines"),
    "bob": Entry("agents.zoo.linear.bob:Bob", "linear, changing"),
    "d-linucb": Entry("agents.zoo.linear.d_linucb:DLinUCB", "linear, changing"),
    "dlinucb-pool": Entry("agents.zoo.linear.dlinucb_pool:DLinUCBPool", "linear, changing"),
    "sw-linucb": Entry("agents.zoo.linear.sw_linucb:SWLinUCB", "linear, changing"),
    "fourier-linucb": Entry("agents.zoo.linear.fourier_linucb:FourierLinUCB", "linear, periodic"),
    "lints": Entry("agents.zoo.linear.lints:LinTS", "linear, periodic"),
    "linucb": Entry("agents.zoo.linear.linucb:LinUCB", "linear, periodic"),
    "a2c": Entry("agents.rl.algorithms:A2C", "generic RL"),
    "dqn": Entry("agents.rl.algorithms:DQN", "generic RL"),
    "ppo": Entry("agents.rl.algorithms:PPO", "generic RL"),
    "recurrent-ppo": Entry("agents.rl.algorithms:RecurrentPPO", "generic RL"),
    "sac": Entry("agents.rl.algorithms:SAC", "generic RL"),
    "td3": Entry("agents.rl.algorithms:TD3", "generic RL"),
}
"""Agents of this package by name, in the order in which they are listed."""

_PATH = re.compile(r"^(?P<place>[^:]+):(?P<name>[A-Za-z_]\w*)(?::(?P<settings>.*))?$")


class UnknownAgentError(CodedError, ValueError):
    """Raised if an agent cannot be found, or cannot be created with its settings."""


@dataclass(frozen=True)
class AgentSpec:
    """Name of an agent with its settings.

    >>> AgentSpec.parse("periodic-gp-ucb:time_length_scale=2,beta=constant:3")
    AgentSpec(name='periodic-gp-ucb', settings={'time_length_scale': 2, 'beta': 'constant:3'})
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> AgentSpec:
        """Return the name and the settings of an agent, parsed from the command line's notation."""
        name, _, settings = text.partition(":")
        if text.endswith(":"):
            raise UnknownAgentError(
                "invalid-settings", f"expected settings or a class after the last colon of {text!r}"
            )
        if name not in BUILT_IN and name not in names():
            match = _PATH.match(text)
            if match is None and name.endswith(".py"):
                raise UnknownAgentError(
                    "missing-class", f"the class is missing in {text!r}: write {name}:Class"
                )
            if match is None:
                raise UnknownAgentError("unknown-agent", _unknown(name))
            name = f"{match['place']}:{match['name']}"
            settings = match["settings"] or ""
        try:
            return cls(name, parse_settings(settings))
        except NotationError as error:
            raise UnknownAgentError("invalid-settings", str(error)) from None

    def __str__(self) -> str:
        return self.name + written_settings(self.settings)

    def make(
        self,
        problem: Problem,
        rng: Rng,
        learned: Mapping[str, NDArray[Any]] | None = None,
    ) -> Agent:
        """Return a new agent, untrained or initialised with the result of its training."""
        factory = find_class(self.name)
        if not callable(factory):
            raise UnknownAgentError(
                "not-an-agent",
                f"{self.name} must be a class or a function that creates an agent, "
                f"got {type(factory).__name__}",
            )
        self.check_settings(settings_of(factory))
        agent: Agent = (
            factory(problem, rng, **self.settings)
            if learned is None
            else self.trainable().after_training(problem, rng, learned, self.settings)
        )
        if not isinstance(agent, Agent):
            raise UnknownAgentError(
                "not-an-agent",
                f"the object that {self.name} creates must have the methods act() and update(), "
                f"got an object of type {type(agent).__name__}",
            )
        return agent

    @property
    def pretrained(self) -> bool:
        """True if the settings give a built-in agent knowledge from earlier data.

        The value is False for all other agents, whose track is declared by users.
        """
        entry = next((e for n, e in BUILT_IN.items() if self.name in (n, e.place)), None)
        by = entry.pretrained_by if entry else ()
        return any(self.settings.get(setting) is not None for setting in by)

    def trainable(self) -> Trainable:
        """Return the class of the agent; raise an error if it cannot be trained."""
        agent_class = find_class(self.name)
        if not isinstance(agent_class, Trainable):
            raise UnknownAgentError(
                "not-trainable",
                f"{self.name} cannot be trained: it must have both train() and after_training()",
            )
        return agent_class

    def check_settings(self, allowed: dict[str, Any] | None) -> None:
        """Raise an error for unknown or missing settings; ``allowed=None`` allows all settings."""
        if allowed is None:
            return
        for setting in (name for name in self.settings if name not in allowed):
            close = difflib.get_close_matches(setting, allowed, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise UnknownAgentError(
                "unknown-setting",
                f"{self.name} has no setting {setting!r}{hint}; "
                f"its settings are {', '.join(allowed) or 'none'}",
            )
        for setting, default in allowed.items():
            if default is REQUIRED and setting not in self.settings:
                raise UnknownAgentError(
                    "missing-setting",
                    f"{self.name} requires a value for {setting!r}: "
                    f"write {self.name}:{setting}=...",
                )


class Required:
    """Marker for settings without a default."""

    def __repr__(self) -> str:
        return "(required)"


REQUIRED = Required()


@lru_cache(maxsize=256)
def settings_of(factory: Any) -> dict[str, Any] | None:
    """Return the names and defaults of an agent's settings, or None if it accepts any setting.

    If ``__init__`` has a parameter such as ``**common``, the settings of the base classes are
    included.
    """
    makers = _makers(factory)
    # Base-class parameters without a default are not settings, since subclasses pass them.
    settings = _without_default(makers[0], 3 if inspect.isclass(factory) else 2)
    for maker in makers:
        parameters = inspect.signature(maker).parameters.values()
        for p in parameters:
            if p.default is not p.empty:
                settings.setdefault(p.name, p.default)  # the default of a subclass takes precedence
        if all(p.kind is not p.VAR_KEYWORD for p in parameters):
            return settings
    return None


def _makers(factory: Any) -> list[Any]:
    """Return a list of the function itself, or of each ``__init__`` of a class and its bases."""
    if not inspect.isclass(factory):
        return [factory]
    parts = [vars(part) for part in inspect.getmro(factory)]
    return [part["__init__"] for part in parts if "__init__" in part]


def _without_default(maker: Any, first: int) -> dict[str, Any]:
    """Return a dictionary that maps each required setting to ``REQUIRED``.

    Required settings are the parameters without a default, from index ``first`` on.
    """
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    own = list(inspect.signature(maker).parameters.values())[first:]
    return {p.name: REQUIRED for p in own if p.default is p.empty and p.kind not in several}


def make_agent(text: str, problem: Problem, rng: Rng) -> Agent:
    """Return a new agent from its specification in the command line's notation."""
    return AgentSpec.parse(text).make(problem, rng)


def is_built_in(name: str) -> bool:
    """Return whether an agent of this package has the given name."""
    return name in BUILT_IN


def online_names() -> list[str]:
    """Return the names of all agents of this package except those of generic RL."""
    return [name for name, entry in BUILT_IN.items() if entry.family != GENERIC_RL]


def names() -> dict[str, str]:
    """Return the import path of each agent by name, built-in agents first, then plugins."""
    ours = {name: entry.place for name, entry in BUILT_IN.items()}
    return ours | _plugins(entry_points) | ours  # a plugin cannot override a built-in name


@lru_cache(maxsize=1)
def _plugins(find: Callable[..., Any]) -> dict[str, str]:
    """Return the import path of each agent that another package registers, by name.

    The result is cached, since this function reads the metadata of all installed packages.
    """
    return {point.name: point.value for point in find(group=GROUP)}


def place_of(name: str) -> str:
    """Return the import path of a registered agent, ``module:Class``.

    Any other name is taken to be an import path, and returned unchanged.
    """
    own = BUILT_IN.get(name)
    return own.place if own else _plugins(entry_points).get(name, name)


def find_class(name: str) -> Callable[..., Any] | Any:
    """Return the class or function that creates an agent, from the agent's name or import path."""
    place, _, attribute = place_of(name).partition(":")
    if not attribute:
        raise UnknownAgentError("unknown-agent", _unknown(name))
    if place.endswith(".py") and not Path(place).is_file():
        raise UnknownAgentError(
            "file-not-found", f"cannot find the agent {name!r}: the file {place!r} does not exist"
        )
    try:
        module = _import(place)
    except Exception as error:  # third-party modules can raise any error
        if isinstance(error, ModuleNotFoundError) and f"{place}.".startswith(f"{error.name}."):
            raise UnknownAgentError(
                "missing-package",
                f"cannot find the agent {name!r}: no module {error.name!r} is installed",
            ) from None
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise UnknownAgentError(
            "cannot-import",
            f"cannot import the agent {name!r}: {type(error).__name__}: {error} "
            f"({where.filename}, line {where.lineno})",
        ) from error
    if not hasattr(module, attribute):
        raise UnknownAgentError(
            "unknown-class",
            f"cannot find the agent {name!r}: {place} does not define {attribute!r}",
        )
    factory = getattr(module, attribute)
    if not callable(factory):
        raise UnknownAgentError(
            "not-an-agent",
            f"{name} must be a class or a function that creates an agent, "
            f"got {type(factory).__name__}",
        )
    return factory


def _import(place: str) -> ModuleType:
    """Import the module of an agent; third-party modules are compiled from source."""
    if place.endswith(".py"):
        return load_file(Path(place))
    return (import_module if place.startswith("agents.") else import_from_source)(place)


def describe(name: str) -> str:
    """Return the first line of an agent's documentation."""
    return (inspect.getdoc(find_class(name)) or "").partition("\n")[0]


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, names(), n=3, cutoff=0.4)
    hint = (
        f"did you mean {' or '.join(close)}?" if close else "'periodic-gp agents' lists all agents"
    )
    return f"there is no agent {name!r}; {hint}"
