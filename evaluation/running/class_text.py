"""What the text of somebody's class says of it: it is read, and never imported.

Python lets a class become what it is in many ways. Only the usual one is read: methods and
constants in its body, base classes of its own package one behind the other, and nothing assigned
to it later. Of any other class nothing is known, and whoever asks gives it the benefit of the
doubt.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evaluation.kinds import MAX_BASES, code_of, imported_from

OF_A_CLASS = ("classmethod", "staticmethod")
GIVEN = ("self", "problem", "rng")
"""Parameters of ``__init__`` before the settings, whatever they are called."""
MAGIC = {"__new__", "__getattr__", "__getattribute__", "__init_subclass__", "setattr"}
"""Names by which a class may have more than its text says."""


class Setting(NamedTuple):
    """A setting of an agent."""

    name: str
    must_be_given: bool


class ClassText(NamedTuple):
    """What a class binds, those of its base classes included.

    Attributes:
        names: Names, those that its methods give to ``self`` too, and whether each can be called
            on the class.
        maker: Its ``__init__``, None if there is none.
    """

    names: dict[str, bool]
    maker: ast.FunctionDef | None

    @property
    def made_from_problem_and_rng(self) -> bool:
        """Whether ``Class(problem, rng)`` can be called, as far as it can be seen."""
        if self.maker is None:
            return False
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
    if len(nodes) != 1 or not depth or not _is_usual(nodes[0], tree):
        return None
    (node,) = nodes
    bases = [name for base in node.bases if (name := getattr(base, "id", "")) != "object"]
    if not bases:
        return _together(node, ClassText({}, None))
    place = imported_from(tree, bases[0], files) or file
    above = _class(place, bases[0], files, depth - 1) if len(bases) == 1 else None
    return None if above is None else _together(node, above)


def _is_usual(node: ast.ClassDef, tree: ast.Module) -> bool:
    """Whether a class is what its body says."""
    if node.decorator_list or node.keywords or not all(_is_plain(line) for line in node.body):
        return False
    stored = [n for n in ast.walk(tree) if isinstance(getattr(n, "ctx", None), ast.Store)]
    held = (part.value if isinstance(part, ast.Attribute) else part for part in stored)
    changed = any(isinstance(part, ast.Name) and part.id == node.name for part in held)
    used = {getattr(part, "id", getattr(part, "name", "")) for part in ast.walk(tree)}
    return not changed and not used & MAGIC


def _is_plain(line: ast.stmt) -> bool:
    """A method, a name for a constant, or a docstring."""
    if isinstance(line, ast.FunctionDef | ast.Pass):
        return True
    names = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
    named = isinstance(line, ast.Expr) or all(isinstance(name, ast.Name) for name in names)
    return named and isinstance(getattr(line, "value", None), ast.Constant | None)


def _together(node: ast.ClassDef, above: ClassText) -> ClassText:
    """What a class binds itself, then what its base class does."""
    own = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    maker = own[-1] if own else above.maker  # of two with one name the last one counts
    return ClassText({**above.names, **dict(_names(node))}, maker)


def _names(node: ast.ClassDef) -> Iterator[tuple[str, bool]]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Store):
            yield part.id if isinstance(part, ast.Name) else part.attr, True
    for line in node.body:
        if isinstance(line, ast.FunctionDef):
            kinds = [getattr(decorator, "id", None) for decorator in line.decorator_list]
            yield line.name, any(kind in OF_A_CLASS for kind in kinds)
