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
    """A fault in one place.

    Attributes:
        line: The line, from 1.
        was: The code there.
        becomes: The code with the fault.
        source: The whole module with the fault.
    """

    line: int
    was: str
    becomes: str
    source: str


def places(tree: ast.Module) -> list[tuple[ast.AST, ast.AST]]:
    """Return all nodes that can be made wrong with what they become, in the order of the text."""
    return [(node, new) for node in _walk(tree) if (new := _changed(node)) is not None]


def fault_at(source: str, number: int) -> Fault:
    """Return the module with a fault in one of its places."""
    tree = ast.parse(source)
    old, new = places(tree)[number]
    was, becomes = (ast.unparse(node).partition("\n")[0] for node in (old, new))
    faulty = ast.fix_missing_locations(_Replace(old, new).visit(tree))
    return Fault(getattr(old, "lineno", 0), was, becomes, ast.unparse(faulty))


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes that compute: no annotations, decorators, docstrings or words of errors."""
    if isinstance(node, _SKIPPED):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list", "type_comment"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _walk(child)


def _changed(node: ast.AST) -> ast.AST | None:
    """Return the node with a fault in it, or None if none can be made."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare() if type(new.ops[0]) in _COMPARISONS:
            new.ops[0] = _COMPARISONS[type(new.ops[0])]()
        case ast.BinOp() | ast.AugAssign() if type(new.op) in _OPERATORS:
            new.op = _OPERATORS[type(new.op)]()
        case ast.BoolOp():
            new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return new.operand
        case ast.If() | ast.IfExp() | ast.While():
            new.test = ast.UnaryOp(ast.Not(), new.test)
        case ast.Constant(value=bool()):
            new.value = not new.value
        case ast.Constant(value=int() | float()):
            new.value += 1
        case _:
            return None
    return new


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else super().visit(node)
