"""Which settings an agent has, and what they are changed to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.registry import AgentSpec, find_class, settings_of
from evaluation.studies.zoo.widths import DRAWS, SCHEDULE

FACTOR = 3
IDLE: Mapping[str, tuple[str, ...]] = {
    "nu": (),  # of kernels that no agent has by default
    "beta": DRAWS,
}
"""Settings that change nothing at the defaults: of all agents, or of those that are named."""


@dataclass(frozen=True)
class Variant:
    """One setting of one agent, less and more of it.

    Attributes:
        agent: As it is.
        setting: Its name.
        default: Its value.
        less: The agent with a third of it.
        more: The agent with three times as much.
    """

    agent: str
    setting: str
    default: str
    less: str
    more: str


def variants_of(agent: str) -> list[Variant]:
    """All of an agent's settings that are numbers."""
    spec, settings = _settings(agent)
    found = []
    for setting, value in settings.items():
        pair = None if _is_idle(setting, spec.name) else _changed(value)
        if pair is not None:
            less, more = (str(AgentSpec(spec.name, {**spec.settings, setting: v})) for v in pair)
            found.append(Variant(agent, setting, str(value), less, more))
    return found


def left_alone(agent: str) -> list[str]:
    """Settings that have a number only in a run (chosen by a rule), or none at all."""
    spec, settings = _settings(agent)
    changed = {variant.setting for variant in variants_of(agent)}
    return [name for name in settings if name not in changed and not _is_idle(name, spec.name)]


def _settings(agent: str) -> tuple[AgentSpec, dict[str, Any]]:
    """An agent's settings with their values; a whole number for a real one is a real one."""
    spec = AgentSpec.parse(agent)
    defaults = settings_of(find_class(spec.name)) or {}
    own = {
        setting: float(value) if isinstance(defaults.get(setting), float) else value
        for setting, value in spec.settings.items()
    }
    return spec, {**defaults, **own}


def _is_idle(setting: str, name: str) -> bool:
    return setting in IDLE and name in (IDLE[setting] or (name,))


def _changed(value: Any) -> tuple[Any, Any] | None:
    """Less and more of a value; None if it is no number that can be scaled."""
    if value == SCHEDULE:
        return f"{SCHEDULE}*{1 / FACTOR:.3g}", f"{SCHEDULE}*{FACTOR}"
    if isinstance(value, bool) or not isinstance(value, int | float) or value == 0:
        return None
    if isinstance(value, int):
        return max(1, round(value / FACTOR)), FACTOR * value
    return float(f"{value / FACTOR:.3g}"), float(f"{FACTOR * value:.3g}")
