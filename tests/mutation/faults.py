"""Faults that can be put into a module: other comparisons, operators, constants, conditions."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In},
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult},
}
_SKIPPED = (ast.Raise, ast.JoinedStr, ast.Assert)
"""Words of errors are not mathematics, and an assertion is there for mypy."""


@dataclass(frozen=True)
class Fault:
    """One fault in one place.

    Attributes:
        line: Where it is, from 1.
        was: The code there, as it is.
        becomes: The code with the fault.
        source: The whole module with the fault.
    """

    line: int
    was: str
    becomes: str
    source: str


def places(tree: ast.Module) -> list[ast.AST]:
    """All nodes that can be made wrong, in the order of the text."""
    return [node for node in _walk(tree) if _changed(node) is not None]


def fault_at(source: str, number: int) -> Fault:
    """The module with a fault in one of its places."""
    tree = ast.parse(source)
    node = places(tree)[number]
    changed = _changed(node)
    assert changed is not None
    replaced = _Replace(node, changed).visit(tree)
    text = ast.unparse(ast.fix_missing_locations(replaced))
    return Fault(getattr(node, "lineno", 0), _text(node), _text(changed), text)


def _text(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0]


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """What is computed: no annotations, decorators, docstrings or words of errors."""
    if isinstance(node, _SKIPPED):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _changed(node: ast.AST) -> ast.AST | None:
    """The node with a fault in it, None if there is none to be made."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in _COMPARISONS:
        new.ops[0] = _COMPARISONS[type(new.ops[0])]()
        return new
    if isinstance(new, ast.BinOp | ast.AugAssign) and type(new.op) in _OPERATORS:
        new.op = _OPERATORS[type(new.op)]()
        return new
    if isinstance(new, ast.BoolOp):
        new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
        return new
    if isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not | ast.USub):
        return new.operand
    if isinstance(new, ast.If | ast.IfExp | ast.While):
        new.test = ast.UnaryOp(ast.Not(), new.test)
        return new
    return _other_constant(new) if isinstance(new, ast.Constant) else None


def _other_constant(node: ast.Constant) -> ast.Constant | None:
    if isinstance(node.value, bool):
        return ast.Constant(not node.value)
    if isinstance(node.value, int | float):
        return ast.Constant(node.value + 1)
    return None


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else super().visit(node)
