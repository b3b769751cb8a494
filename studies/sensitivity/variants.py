"""Which settings an agent has, and what they are changed to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.base import Problem
from agents.registry import AgentSpec
from studies.zoo.by_world import Names, Problems
from studies.zoo.families import short_name
from studies.zoo.rules import SCHEDULES, defaults_of, is_ruled, ruled
from studies.zoo.widths import DRAWS

FACTOR = 3
IDLE: Mapping[str, tuple[str, ...]] = {
    "nu": (),  # of kernels that no agent has by default
    "beta": DRAWS,
    "eps": ("r-gp-ucb", "w-dbo"),  # of a formula and of a kernel that are not the default
    "window": ("bob",),  # which chooses it anew for every block
    "variation": ("bob",),
    "scale": ("periodic-exp4", "lints", "linucb"),  # which look at the spread of rewards only
}
"""Settings that change nothing at the defaults: of all agents, or of those that are named."""
MEMORIES = {"d-ucb": "gamma", "wgp-ucb": "gamma", "d-linucb": "discount"}
"""Discounts per step, which are changed by how long they let an agent remember: three times a
number just below 1 is none."""
TOLD = ("period", "periods")
"""Settings for what the world tells: to change them is to tell an agent what is wrong."""
WITH_MEAN = {"prior_scale": "prior_mean"}
"""A setting that is given together with another one, which then is what its rule gives, too."""
NO_NUMBER = "no numbers"
ZERO = "zero by default"
ABOUT_WORLD = "told by the world"
IN_RUN = "learned in the run"
NO_EFFECT = "without effect"
TOGETHER = "given with another"


@dataclass(frozen=True)
class Variant:
    """One setting of one agent, less and more of it.

    Attributes:
        agent: As it is.
        setting: Its name.
        default: Its value, or what its rule gives.
        less: The name of the agent with a third of it.
        more: The name of the agent with three times as much.
        names: What these two stand for in each world.
    """

    agent: str
    setting: str
    default: str
    less: str
    more: str
    names: Names


def variants_of(agent: str, problems: Problems) -> list[Variant]:
    """All of an agent's settings that are numbers, by default or by a rule."""
    spec, settings = _settings(agent)
    found = []
    for setting, value in settings.items():
        if is_idle(setting, spec.name) or setting in (*TOLD, *WITH_MEAN.values()):
            continue
        if setting not in spec.settings and is_ruled(spec.name, setting):
            found += _by_rule(agent, setting, problems)
        elif _scaled(value, 1.0) is not None:
            less, more = (_with(spec, {setting: _scaled(value, f)}) for f in (1 / FACTOR, FACTOR))
            names = {name: dict.fromkeys(problems, name) for name in (less, more)}
            found.append(Variant(agent, setting, str(value), less, more, names))
    return found


def left_alone(agent: str, problems: Problems) -> dict[str, str]:
    """Settings that were not changed, and why."""
    spec, settings = _settings(agent)
    changed = {variant.setting for variant in variants_of(agent, problems)}
    left = [setting for setting in settings if setting not in changed]
    return {setting: _reason(spec.name, setting, settings[setting]) for setting in left}


def _reason(name: str, setting: str, value: Any) -> str:
    if is_idle(setting, name):
        return NO_EFFECT
    if setting in TOLD:
        return ABOUT_WORLD
    if setting in WITH_MEAN.values():
        return TOGETHER
    if is_ruled(name, setting):
        return IN_RUN
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return ZERO if number and value == 0 else NO_NUMBER


def is_idle(setting: str, name: str) -> bool:
    """Whether a setting of an agent changes nothing at the defaults."""
    return setting in IDLE and name in (IDLE[setting] or (name,))


def _settings(agent: str) -> tuple[AgentSpec, dict[str, Any]]:
    """An agent's settings with their values; a whole number for a real one is a real one."""
    spec = AgentSpec.parse(agent)
    defaults = defaults_of(spec.name)
    own = {
        setting: float(value) if isinstance(defaults.get(setting), float) else value
        for setting, value in spec.settings.items()
    }
    return spec, {**defaults, **own}


def _with(spec: AgentSpec, settings: Mapping[str, Any]) -> str:
    return str(AgentSpec(spec.name, {**spec.settings, **settings}))


def _by_rule(agent: str, setting: str, problems: Problems) -> list[Variant]:
    """A setting whose number is another one in each world; none if it is known nowhere.

    Where the rule gives no number before the run, or another one in every run, the agent is left as
    it is.
    """
    spec = AgentSpec.parse(agent)
    usual = {world: _common(agent, setting, problems, world) for world in problems}
    if all(value is None for value in usual.values()):
        return []
    memory = MEMORIES.get(spec.name) == setting
    what = f"1/(1-{setting})" if memory else setting
    names: dict[str, dict[str, str]] = {}
    for factor in (1 / FACTOR, FACTOR):
        name = f"{agent}{',' if spec.settings else ':'}{what}*{factor:.3g}"
        names[name] = {
            world: agent
            if value is None
            else _with(spec, _given(spec, setting, value, factor, problems[world][0]))
            for world, value in usual.items()
        }
    less, more = names
    default = f"{_shown(usual)}{'; by its memory' if memory else ''}"
    return [Variant(agent, setting, default, less, more, names)]


def _common(agent: str, setting: str, problems: Problems, world: str) -> Any:
    """What a rule gives in all runs of a world; None if that is not one number."""
    found = {ruled(agent, setting, problem) for problem in problems[world]}
    return found.pop() if len(found) == 1 else None


def _given(
    spec: AgentSpec, setting: str, value: Any, factor: float, problem: Problem
) -> dict[str, Any]:
    """The settings that make a rule's value so many times as large."""
    if MEMORIES.get(spec.name) == setting:
        return {setting: round(1.0 - (1.0 - value) / factor, 6)}
    with_it = [WITH_MEAN[setting]] if setting in WITH_MEAN else []
    others = {other: ruled(str(spec), other, problem) for other in with_it}
    return {**others, setting: _scaled(value, factor)}


def _shown(usual: Mapping[str, Any]) -> str:
    """What a rule gives in the worlds, in words."""
    known = [value for value in usual.values() if value is not None]
    texts = dict.fromkeys(v if isinstance(v, str) else f"{v:.3g}" for v in known)
    if len(texts) > 1 and not isinstance(known[0], str):
        texts = dict.fromkeys([f"{min(known):.3g} to {max(known):.3g}"])
    without = [short_name(world) for world, value in usual.items() if value is None]
    tail = f"; not in {', '.join(without)}" if without else ""
    return f"rule: {' or '.join(texts)}{tail}"


def _scaled(value: Any, factor: float) -> Any:
    """So many times a value; None if it is no number that can be scaled."""
    if value in SCHEDULES:
        return f"{value}*{factor:.3g}"
    if isinstance(value, bool) or not isinstance(value, int | float) or value == 0:
        return None
    if isinstance(value, int):
        return max(1, round(value * factor))
    return float(f"{value * factor:.3g}")
