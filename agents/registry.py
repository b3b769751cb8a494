"""Names of agents.

An agent is named in one of three ways, each with settings behind a colon if wanted:

- ``periodic-gp-ucb`` or ``periodic-gp-ucb:time_length_scale=1,beta=constant:2``: built in, or
  offered by another package through the entry-point group ``periodic_gp.agents``;
- ``package.module:Class`` or ``package.module:Class:setting=3``;
- ``path/to/file.py:Class``, likewise.

What is behind a name is called with ``(problem, rng, **settings)`` and returns an agent.
"""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import re
import sys
import traceback
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent, Problem, Trainable
from agents.notation import NotationError, parse_settings, written_settings

GROUP = "periodic_gp.agents"
BUILT_IN = {
    "periodic-gp-ucb": "agents.zoo.gp.periodic_gp_ucb:PeriodicGPUCB",
    "gp-ucb": "agents.zoo.gp.gp_ucb:GPUCB",
    "c-gp-ucb": "agents.zoo.gp.c_gp_ucb:CGPUCB",
    "r-gp-ucb": "agents.zoo.gp.r_gp_ucb:RGPUCB",
    "tv-gp-ucb": "agents.zoo.gp.tv_gp_ucb:TVGPUCB",
    "gp-thompson": "agents.zoo.gp.gp_thompson:GPThompson",
    "sw-gp-ucb": "agents.zoo.gp.sw_gp_ucb:SWGPUCB",
    "wgp-ucb": "agents.zoo.gp.wgp_ucb:WGPUCB",
    "et-gp-ucb": "agents.zoo.gp.et_gp_ucb:ETGPUCB",
    "ui-tvbo": "agents.zoo.gp.ui_tvbo:UITVBO",
    "w-dbo": "agents.zoo.gp.w_dbo:WDBO",
    "pe-gp-ucb": "agents.zoo.gp.pe_gp_ucb:PEGPUCB",
    "switching-gp-ucb": "agents.zoo.gp.switching_gp_ucb:SwitchingGPUCB",
    "seasons-gp-ucb": "agents.zoo.gp.seasons_gp_ucb:SeasonsGPUCB",
    "phase-ucb": "agents.zoo.arms.phase_ucb:PhaseUCB",
    "ucb1": "agents.zoo.arms.ucb1:UCB1",
    "kl-ucb": "agents.zoo.arms.kl_ucb:KLUCB",
    "thompson": "agents.zoo.arms.thompson:Thompson",
    "sw-ucb": "agents.zoo.arms.sw_ucb:SWUCB",
    "d-ucb": "agents.zoo.arms.d_ucb:DUCB",
    "sw-ts": "agents.zoo.arms.sw_ts:SWTS",
    "exp3-s": "agents.zoo.arms.exp3:Exp3S",
    "rexp3": "agents.zoo.arms.exp3:RExp3",
    "glr-ucb": "agents.zoo.arms.glr_ucb:GLRUCB",
    "adswitch": "agents.zoo.arms.adswitch:AdSwitch",
    "master": "agents.zoo.arms.master:Master",
    "cab1": "agents.zoo.arms.cab1:CAB1",
    "ucb-air": "agents.zoo.arms.ucb_air:UCBAIR",
    "siri": "agents.zoo.arms.siri:SiRI",
    "phase-ts": "agents.zoo.arms.phase_ts:PhaseTS",
    "fourier-period-ucb": "agents.zoo.arms.fourier_period_ucb:FourierPeriodUCB",
    "periodic-exp4": "agents.zoo.arms.periodic_exp4:PeriodicEXP4",
    "fourier-linucb": "agents.zoo.linear.fourier_linucb:FourierLinUCB",
    "ramanujan-ucb": "agents.zoo.arms.ramanujan_ucb:RamanujanUCB",
    "model-reuse-ucb": "agents.zoo.linear.model_reuse_ucb:ModelReuseUCB",
    "d-linucb": "agents.zoo.linear.d_linucb:DLinUCB",
    "sw-linucb": "agents.zoo.linear.sw_linucb:SWLinUCB",
    "bob": "agents.zoo.linear.bob:Bob",
    "dlinucb-pool": "agents.zoo.linear.dlinucb_pool:DLinUCBPool",
    "auto-gp-ucb": "agents.auto.auto_gp_ucb:AutoGPUCB",
    "fixed": "agents.zoo.arms.fixed:Fixed",
    "random": "agents.zoo.arms.random:Random",
    "ppo": "agents.rl.algorithms:PPO",
    "a2c": "agents.rl.algorithms:A2C",
    "dqn": "agents.rl.algorithms:DQN",
    "sac": "agents.rl.algorithms:SAC",
    "td3": "agents.rl.algorithms:TD3",
    "recurrent-ppo": "agents.rl.algorithms:RecurrentPPO",
}
_PATH = re.compile(r"^(?P<place>[^:]+):(?P<name>[A-Za-z_]\w*)(?::(?P<settings>.*))?$")


class UnknownAgentError(ValueError):
    """A name that nobody registered, or a place where there is no agent."""


@dataclass(frozen=True)
class AgentSpec:
    """An agent by name, with its settings.

    >>> AgentSpec.parse("periodic-gp-ucb:time_length_scale=2,beta=constant:3")
    AgentSpec(name='periodic-gp-ucb', settings={'time_length_scale': 2, 'beta': 'constant:3'})
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> AgentSpec:
        """From the command line's notation."""
        name, _, settings = text.partition(":")
        if text.endswith(":"):
            raise UnknownAgentError(f"nothing stands behind the last colon of {text!r}")
        if name not in names():
            match = _PATH.match(text)
            if match is None and name.endswith(".py"):
                raise UnknownAgentError(f"say which class of the file: {name}:Class")
            if match is None:
                raise UnknownAgentError(_unknown(name))
            name = f"{match['place']}:{match['name']}"
            settings = match["settings"] or ""
        try:
            return cls(name, parse_settings(settings))
        except NotationError as error:
            raise UnknownAgentError(str(error)) from None

    def __str__(self) -> str:
        return self.name + written_settings(self.settings)

    def make(
        self,
        problem: Problem,
        rng: np.random.Generator,
        learned: Mapping[str, NDArray[Any]] | None = None,
    ) -> Agent:
        """A fresh agent, or one that knows what it learned in its training."""
        factory = find_class(self.name)
        if not callable(factory):
            raise UnknownAgentError(f"{self.name} is no class or function that makes an agent")
        self._check_settings(settings_of(factory))
        agent: Agent = (
            factory(problem, rng, **self.settings)
            if learned is None
            else self.trainable().after_training(problem, rng, learned, self.settings)
        )
        if not isinstance(agent, Agent):
            raise UnknownAgentError(f"{self.name} makes no agent: it needs act() and update()")
        return agent

    @property
    def pretrained(self) -> bool:
        """Whether an agent of ours starts from what was learned elsewhere, with these settings.

        Its class says so, in ``is_pretrained(settings)``. Nobody else's code is run to ask:
        whoever enters an agent of their own says it themselves.
        """
        ours = self.name in BUILT_IN or self.name in BUILT_IN.values()
        says = getattr(find_class(self.name), "is_pretrained", None) if ours else None
        return says is not None and bool(says(self.settings))

    def trainable(self) -> Trainable:
        """The class behind the name, if it can be trained."""
        found = find_class(self.name)
        if not isinstance(found, Trainable):
            raise UnknownAgentError(
                f"{self.name} cannot be trained: it has no train() and after_training()"
            )
        return found

    def _check_settings(self, allowed: dict[str, Any] | None) -> None:
        for setting in self.settings if allowed is not None else ():
            if setting not in (allowed or ()):
                close = difflib.get_close_matches(setting, allowed or (), n=1)
                hint = f" (did you mean {close[0]!r}?)" if close else ""
                raise UnknownAgentError(
                    f"{self.name} has no setting {setting!r}{hint}; "
                    f"its settings are {', '.join(allowed or ()) or 'none'}"
                )
        needed = [name for name, default in (allowed or {}).items() if default is REQUIRED]
        for setting in needed:
            if setting not in self.settings:
                raise UnknownAgentError(f"{self.name} needs a setting: {self.name}:{setting}=...")


class Required:
    """The default of a setting that has none."""

    def __repr__(self) -> str:
        return "(must be given)"


REQUIRED = Required()


def settings_of(factory: Any) -> dict[str, Any] | None:
    """Names and defaults of an agent's settings; None if it takes anything.

    A ``**common`` is followed to the base class that it is handed on to.
    """
    classes = inspect.getmro(factory) if inspect.isclass(factory) else (factory,)
    found: dict[str, Any] = {}
    for part in classes:
        if inspect.isclass(part) and "__init__" not in vars(part):
            continue
        function = vars(part)["__init__"] if inspect.isclass(part) else part
        own = list(inspect.signature(function).parameters.values())
        if part is factory:
            told = own[3:] if inspect.isclass(part) else own[2:]  # after self, problem and rng
            several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            single = [p for p in told if p.kind not in several]
            found |= {p.name: REQUIRED for p in single if p.default is p.empty}
        # What has no default in a base class its subclass fills in, as the clock of a GP agent.
        found |= {p.name: p.default for p in own if p.default is not p.empty}
        if all(p.kind is not p.VAR_KEYWORD for p in own):
            return found
    return None


def is_registered(name: str, cls: type) -> bool:
    """Whether this very class stands behind a name."""
    return name in names() and find_class(name) is cls


def make_agent(text: str, problem: Problem, rng: np.random.Generator) -> Agent:
    """An agent from the command line's notation."""
    return AgentSpec.parse(text).make(problem, rng)


def names() -> dict[str, str]:
    """All names with the places behind them: built-in first, then other packages'."""
    others = _offered(entry_points)
    return {**BUILT_IN, **{k: v for k, v in others.items() if k not in BUILT_IN}}


@lru_cache(maxsize=1)
def _offered(find: Callable[..., Any]) -> dict[str, str]:
    """What other packages offer: asked once, since it reads the record of every package."""
    return {point.name: point.value for point in find(group=GROUP)}


def find_class(name: str) -> Callable[..., Any] | Any:
    """What stands behind a name or a ``place:Class``."""
    known = names()
    if name not in known and ":" not in name:
        raise UnknownAgentError(_unknown(name))
    place, _, attribute = known.get(name, name).partition(":")
    if place.endswith(".py") and not Path(place).is_file():
        raise UnknownAgentError(f"cannot find the agent {name!r}: there is no file {place!r}")
    try:
        module = _load_file(Path(place)) if place.endswith(".py") else import_module(place)
    except Exception as error:  # somebody else's file can fail in any way
        if isinstance(error, ModuleNotFoundError) and f"{place}.".startswith(f"{error.name}."):
            raise UnknownAgentError(
                f"cannot find the agent {name!r}: no module {error.name!r} is installed"
            ) from None
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise UnknownAgentError(
            f"cannot find the agent {name!r}: {type(error).__name__}: {error} "
            f"({where.filename}, line {where.lineno})"
        ) from error
    if not hasattr(module, attribute):
        raise UnknownAgentError(f"cannot find the agent {name!r}: {place} has no {attribute!r}")
    return getattr(module, attribute)


def describe(name: str) -> str:
    """The first line of an agent's documentation."""
    return (inspect.getdoc(find_class(name)) or "").partition("\n")[0]


def _load_file(path: Path) -> Any:
    """A module from a file, under a name of its own."""
    # The same name in every process, so that its objects can be sent between them.
    name = f"_agent_file_{path.stem}_{zlib.crc32(str(path.resolve()).encode())}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, names(), n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(names())}"
    return f"there is no agent {name!r}; {hint}"
