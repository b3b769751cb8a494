"""What the text of somebody's class says of it: it is read, and never imported.

Where a part of it cannot be read (a base class of another package, a decorator, a method that is
defined under an ``if``), nothing is known, and whoever asks gives it the benefit of the doubt.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evaluation.running.kinds import MAX_BASES, code_of, imported_from

OF_A_CLASS = ("classmethod", "staticmethod")
GIVEN = ("self", "problem", "rng")
"""Parameters of ``__init__`` before the settings, whatever they are called."""
READ = (ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.Expr, ast.Pass)
"""Statements in the body of a class that are understood."""


class Setting(NamedTuple):
    """A setting of an agent."""

    name: str
    must_be_given: bool


class ClassText(NamedTuple):
    """What a class binds, those of its base classes included.

    Attributes:
        names: Names, and whether each can be called on the class.
        maker: Its ``__init__``, None if there is none.
    """

    names: dict[str, bool]
    maker: ast.FunctionDef | None

    @property
    def made_from_problem_and_rng(self) -> bool:
        """Whether ``Class(problem, rng)`` can be called, as far as it can be seen."""
        if self.maker is None:
            return "__new__" in self.names
        args = self.maker.args
        enough = len(args.posonlyargs + args.args) >= len(GIVEN)
        return enough or args.vararg is not None or bool(self.maker.decorator_list)

    @property
    def settings(self) -> list[Setting] | None:
        """Its settings, None if it takes anything or they cannot be seen."""
        if self.maker is None or self.maker.decorator_list:
            return None
        args = self.maker.args
        if args.kwarg or args.vararg:
            return None
        positional = [*args.posonlyargs, *args.args]
        first_default = len(positional) - len(args.defaults)
        settings = [Setting(arg.arg, i < first_default) for i, arg in enumerate(positional)]
        by_name = zip(args.kwonlyargs, args.kw_defaults, strict=True)
        named = [Setting(arg.arg, default is None) for arg, default in by_name]
        return settings[len(GIVEN) :] + named


def text_of(agent: str) -> ClassText | None:
    """What an agent's class binds, None if it cannot be read."""
    found = code_of(agent)
    return None if found is None else _class(*found, MAX_BASES)


def _class(file: Path, wanted: str, files: list[Path], depth: int) -> ClassText | None:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    nodes = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == wanted]
    if len(nodes) != 1 or not depth or not _is_plain(nodes[0]) or _is_changed_later(tree, wanted):
        return None
    (node,) = nodes
    above = []
    for base in _bases(node):
        place = imported_from(tree, base, files) or file
        if (found := _class(place, base, files, depth - 1)) is None:
            return None
        above.append(found)
    return _together(node, above)


def _is_plain(node: ast.ClassDef) -> bool:
    decorated = node.decorator_list or node.keywords
    return not decorated and all(isinstance(line, READ) for line in node.body)


def _is_changed_later(tree: ast.Module, name: str) -> bool:
    """Whether something is assigned to the class or to a part of it: ``Mine.act = choose``."""
    stored = [n for n in ast.walk(tree) if isinstance(getattr(n, "ctx", None), ast.Store)]
    held = (node.value if isinstance(node, ast.Attribute) else node for node in stored)
    return any(isinstance(node, ast.Name) and node.id == name for node in held)


def _bases(node: ast.ClassDef) -> list[str]:
    written = [base.id if isinstance(base, ast.Name) else "" for base in node.bases]
    return [base for base in written if base != "object"]


def _together(node: ast.ClassDef, above: list[ClassText]) -> ClassText:
    """What a class binds itself, then what its base classes do, the first of them first."""
    names: dict[str, bool] = {}
    for base in reversed(above):
        names |= base.names
    own = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    makers = [*own, *(base.maker for base in above if base.maker is not None)]
    return ClassText({**names, **dict(_names(node))}, next(iter(makers), None))


def _names(node: ast.ClassDef) -> Iterator[tuple[str, bool]]:
    for line in node.body:
        if isinstance(line, ast.FunctionDef):
            kinds = [getattr(decorator, "id", None) for decorator in line.decorator_list]
            yield line.name, any(kind in OF_A_CLASS for kind in kinds)
        elif isinstance(line, ast.Assign | ast.AnnAssign):
            targets = line.targets if isinstance(line, ast.Assign) else [line.target]
            parts = (part for target in targets for part in ast.walk(target))
            yield from ((part.id, True) for part in parts if isinstance(part, ast.Name))
