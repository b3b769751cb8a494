"""Whether agents that are to be trained can be: said before anything is run.

Somebody's class is read, and never imported. Where a part of it cannot be read (a base class of
another package, a decorator), it is given the benefit of the doubt.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from agents.registry import UnknownAgentError, is_built_in
from evaluation.protocol.entries import AgentEntry, ProtocolError
from evaluation.protocol.protocol import Protocol
from evaluation.running.kinds import MAX_BASES, code_of, imported_from

METHODS = ("train", "after_training")
OF_A_CLASS = ("classmethod", "staticmethod")


def check_trainings(protocol: Protocol) -> None:
    """Refuse ``training_steps`` of an agent that cannot be trained.

    Raises:
        ProtocolError: One sentence that says what to do.
    """
    for entry in protocol.agents:
        if entry.training_steps:
            _check(entry)


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
    found = code_of(name)
    bound = None if found is None else _bound(*found, MAX_BASES)
    if bound is None:
        return
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


def _bound(file: Path, wanted: str, files: list[Path], depth: int) -> dict[str, bool] | None:
    """Names that a class binds, and whether each can be called on the class; None if unknown."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    node = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == wanted), None)
    if node is None or node.decorator_list or node.keywords or not depth:
        return None
    found: dict[str, bool] = {}
    for written in reversed(node.bases):
        base = written.id if isinstance(written, ast.Name) else ""
        if base == "object":
            continue
        above = _bound(imported_from(tree, base, files) or file, base, files, depth - 1)
        if above is None:
            return None
        found |= above
    return {**found, **dict(_names(node))}


def _names(node: ast.ClassDef) -> Iterator[tuple[str, bool]]:
    for line in node.body:
        if isinstance(line, ast.FunctionDef):
            kinds = [getattr(decorator, "id", None) for decorator in line.decorator_list]
            yield line.name, any(kind in OF_A_CLASS for kind in kinds)
        elif isinstance(line, ast.Assign | ast.AnnAssign):
            targets = line.targets if isinstance(line, ast.Assign) else [line.target]
            yield from ((t.id, True) for t in targets if isinstance(t, ast.Name))
        elif not isinstance(line, ast.Expr | ast.Pass):
            yield from ((method, True) for method in METHODS)  # under an if, say: not followed
