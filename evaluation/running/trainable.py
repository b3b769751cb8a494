"""Whether agents that are to be trained can be: said before anything is run.

Somebody's class is read, and never imported (``class_text``).
"""

from __future__ import annotations

from agents.registry import BUILT_IN, GENERIC_RL, UnknownAgentError, is_built_in
from evaluation.protocol import Protocol
from evaluation.running.class_text import text_of
from evaluation.specs import AgentEntry, ProtocolError

METHODS = ("train", "after_training")


def check_trainings(protocol: Protocol) -> None:
    """Refuse ``training_steps`` of an agent that cannot be trained, and none of one that must be.

    Raises:
        ProtocolError: One sentence that says what to do.
    """
    for entry in protocol.agents:
        if entry.training_steps:
            _check(entry)
        elif entry.track == "pretrained" and is_built_in(entry.spec.name):
            _check_knows_something(entry)


def _check_knows_something(entry: AgentEntry) -> None:
    """Generic RL without a training has no place among those that were trained.

    Others may have been tuned elsewhere.
    """
    is_rl = BUILT_IN[entry.spec.name].family == GENERIC_RL
    if is_rl and not entry.spec.pretrained:
        raise ProtocolError(
            f'agents: {entry.label!r} is in the track "pretrained" but brings nothing that was '
            "learned before; give it training_steps, or leave track out"
        )


def _check(entry: AgentEntry) -> None:
    name = entry.spec.name
    if is_built_in(name):
        try:
            entry.spec.trainable()
        except UnknownAgentError as error:
            raise ProtocolError(
                f"agents: {entry.label!r} has training_steps, but {error}"
            ) from None
        return
    text = text_of(name)
    if text is None:
        return
    bound = text.names
    if missing := [f"{method}()" for method in METHODS if method not in bound]:
        raise ProtocolError(
            f"agents: {entry.label!r} has training_steps, which train it now, but its class has no "
            f"{' and no '.join(missing)}; if it was trained elsewhere, leave training_steps out "
            'and keep track = "pretrained"'
        )
    if plain := [f"{method}()" for method in METHODS if not bound[method]]:
        raise ProtocolError(
            f"agents: {' and '.join(plain)} of {entry.label!r} must be a @classmethod: there is no "
            "agent yet when it is called"
        )
