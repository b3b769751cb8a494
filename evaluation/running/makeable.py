"""Whether agents can be made with their settings: said before all of their runs fail.

The classes of this package are imported and asked; somebody's is read, and never imported
(``class_text``).
"""

from __future__ import annotations

from agents.registry import REQUIRED, find_class, is_built_in, settings_of
from evaluation.protocol import Protocol
from evaluation.running.class_text import ClassText, Setting, text_of
from evaluation.specs import AgentEntry, ProtocolError, check_known

METHODS = ("act", "update")


def check_settings(protocol: Protocol) -> None:
    """Refuse settings that an agent does not have, and an agent that has not all it needs.

    Raises:
        ProtocolError: One sentence.
    """
    for entry in protocol.agents:
        if is_built_in(entry.spec.name):
            _check_settings(entry, _settings_of_ours(entry.spec.name))
        elif (text := text_of(entry.spec.name)) is not None:
            _check_class(entry, text)
            _check_settings(entry, text.settings)


def _settings_of_ours(name: str) -> list[Setting] | None:
    found = settings_of(find_class(name))
    if found is None:
        return None
    return [Setting(setting, default is REQUIRED) for setting, default in found.items()]


def _check_class(entry: AgentEntry, text: ClassText) -> None:
    if missing := [f"{method}()" for method in METHODS if method not in text.names]:
        raise ProtocolError(
            f"agents: the class of {entry.label!r} has no {' and no '.join(missing)}; an agent has "
            "act() and update()"
        )
    if not entry.training_steps and not text.made_from_problem_and_rng:
        raise ProtocolError(
            f"agents: {entry.label!r} cannot be made: its class needs "
            "def __init__(self, problem, rng), with settings behind them if it has any"
        )


def _check_settings(entry: AgentEntry, known: list[Setting] | None) -> None:
    if known is None:
        return  # it takes anything
    name, given = entry.spec.name, entry.spec.settings
    try:
        for setting in given:
            check_known("setting", setting, [each.name for each in known], f"of {name}")
    except ValueError as error:
        raise ProtocolError(f"agents: {error}") from None
    if missing := next((s.name for s in known if s.must_be_given and s.name not in given), None):
        raise ProtocolError(f"agents: {name} needs a setting: {name}:{missing}=...")
