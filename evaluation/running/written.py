"""The code of a class that was defined in a notebook or a script, as a file that stands by itself.

Workers import an agent from a file. What was typed into a notebook is in none, so its text is
written into one: the class, with everything of the notebook that it uses. The file is what is run
and what is hashed, so results say which code they come from. Nothing is pickled.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import linecache
import symtable
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents.registry import UnknownAgentError
from periodic_envs.files import write_atomically

ADVICE = "put it with all that it uses into a file (%%writefile mine.py) and name it mine.py:{name}"
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef)


def written(made: Any, folder: Path) -> Path:
    """Write a class or function of ``__main__`` into a file; its name has the hash of its text.

    Args:
        made: The class or function.
        folder: Where the file is kept; it is made if need be.

    Raises:
        UnknownAgentError: One sentence, where the text is not known or uses what has none.
    """
    text = source_of(made)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = folder / f"{made.__name__}-{digest}.py"
    if not path.is_file():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text.encode())
        except OSError as error:
            raise UnknownAgentError(
                f"cannot write the code of {made.__name__} into {str(folder)!r}: {error.strerror}"
            ) from error
    return path


def source_of(made: Any) -> str:
    """The text of a module with this class or function and all of its own module that it uses."""
    text = _Text(made)
    text.add(made)
    # Annotations are not evaluated: what they name need not be there.
    head = ["from __future__ import annotations", *sorted(text.imports)]
    return "\n".join(head) + "\n\n\n" + "\n\n\n".join(text.parts) + "\n"


class _Text:
    """Parts of a file, each after what it uses.

    Attributes:
        imports: Its import statements.
        parts: Constants, functions and classes.
    """

    def __init__(self, made: Any) -> None:
        self.imports: set[str] = set()
        self.parts: list[str] = []
        self._agent = str(made.__name__)
        self._module = str(made.__module__)
        self._names = vars(sys.modules[self._module])
        self._begun: set[str] = set()

    def add(self, made: Any) -> None:
        """A class or function, after what it uses."""
        self._begun.add(made.__name__)
        text = self._definition(made)
        for name in sorted(_used(text)):
            if name not in self._begun and name in self._names:
                self._begun.add(name)
                self._add_used(name, self._names[name])
        self.parts.append(text)

    def _add_used(self, name: str, value: Any) -> None:
        if isinstance(value, types.ModuleType):
            self.imports.add(f"import {value.__name__} as {name}")
        elif getattr(value, "__module__", None) == self._module and hasattr(value, "__name__"):
            if value.__name__ != name:
                self._refuse(f"uses {name}, another name of {value.__name__}")
            self.add(value)
        elif (place := _place_of(name, value)) is not None:
            self.imports.add(f"from {place[0]} import {place[1]} as {name}")
        elif _is_literal(value):
            self.parts.append(f"{name} = {value!r}")
        else:
            self._refuse(f"uses {name}, a {type(value).__name__} that was made here")

    def _definition(self, made: Any) -> str:
        """The text of a definition, as it was typed."""
        for lines in _texts_with(made):
            try:
                tree = ast.parse(lines)
            except SyntaxError:  # a cell with something else than Python in it
                continue
            for node in reversed(tree.body):
                if isinstance(node, _DEFINITIONS) and node.name == made.__name__:
                    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                    chosen = lines.splitlines()[first - 1 : node.end_lineno]
                    return textwrap.dedent("\n".join(chosen))
        used = "" if made.__name__ == self._agent else f"uses {made.__name__}, which "
        return str(self._refuse(f"{used}has no text that could be read"))

    def _refuse(self, what: str) -> Any:
        raise UnknownAgentError(
            f"{self._agent} {what}, and workers import agents from files: "
            f"{ADVICE.format(name=self._agent)}"
        )


def _texts_with(made: Any) -> Iterator[str]:
    """The texts that a definition may be in, the likeliest first.

    A function knows the file or cell that it was typed in; a class does by its methods. One
    without methods may be in any cell: the last one counts, as it did in the notebook.
    """
    members = [made, *(vars(made).values() if isinstance(made, type) else ())]
    codes = [getattr(getattr(m, "__func__", m), "__code__", None) for m in members]
    files = [code.co_filename for code in codes if code is not None]
    main = getattr(sys.modules[made.__module__], "__file__", None)
    cells = [name for name in reversed(list(linecache.cache)) if not Path(name).is_file()]
    for name in dict.fromkeys([*files, *([main] if main else cells)]):
        if lines := linecache.getlines(name):
            yield "".join(lines)


class _Unannotated(ast.NodeTransformer):
    """Leaves annotations away: they are not looked up when the code runs."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """An argument without its type."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function without the type that it returns."""
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """An assignment without its type."""
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def _used(definition: str) -> set[str]:
    """Names that a definition looks up in its module; local ones of the same name do not count."""
    plain = ast.unparse(_Unannotated().visit(ast.parse(definition)))
    waiting, found = [symtable.symtable(plain, "definition", "exec")], set[str]()
    while waiting:
        scope = waiting.pop()
        waiting += scope.get_children()
        top = scope.get_type() == "module"
        symbols = (s for s in scope.get_symbols() if s.is_referenced())
        found.update(s.get_name() for s in symbols if s.is_global() or top)
    return {name for name in found if not hasattr(builtins, name)}


def _place_of(name: str, value: Any) -> tuple[str, str] | None:
    """The module that something can be imported from, and its name there."""
    own = (getattr(value, "__module__", None), getattr(value, "__qualname__", None))
    tried = [(module, at) for module in (own[0],) for at in (own[1], name) if module and at]
    tried += [(module, name) for module in list(sys.modules) if not module.startswith("_")]
    for module, at in tried:
        found = sys.modules.get(str(module))
        if found is not None and module != "__main__" and vars(found).get(str(at)) is value:
            return str(module), str(at)
    return None


def _is_literal(value: Any) -> bool:
    """Whether ``repr`` says all of it."""
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, TypeError):
        return False
