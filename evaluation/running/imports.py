"""What code imports, read from its text: nothing is run."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from evaluation.running.process import ROOT

DATA_SUFFIXES = (".csv", ".json", ".npz", ".toml")
"""Files that count with the modules beside them."""
FOLLOWED = {"evaluation": ("evaluation", "agents"), "periodic_envs": ("periodic_envs",)}
"""Packages that imports are followed into, by the importing one; from all others, into agents."""
PICTURES = "periodic_envs.rendering"
"""Imported by the environment, but decides nothing."""


SCIPY = frozenset(
    f"scipy.{part}"
    for part in (
        *("cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize"),
        *("signal", "sparse", "spatial", "special", "stats"),
    )
)
"""What is slow to import, and can be imported for anybody: strangers' code may name anything."""


class Scan(NamedTuple):
    """What a file says.

    Attributes:
        imported: The files of ours that it imports.
        libraries: The libraries that a class in it names.
        scipy: The parts of SciPy that it imports from.
    """

    imported: frozenset[Path] = frozenset()
    libraries: tuple[str, ...] = ()
    scipy: frozenset[str] = frozenset()


def closure(starts: Iterable[Path], root: Path = ROOT) -> set[Path]:
    """These files of ours and all that they import from our packages, directly or not.

    The packages that a module is in count as well, and files of data beside it; the imports of a
    package are followed only where something is imported from it by name.
    """
    waiting, seen = list(starts), set[Path]()
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += scan_ours(path, root).imported - seen
    folders = {folder for path in seen for folder in path.relative_to(root).parents}
    packages = {file for folder in folders if (file := root / folder / "__init__.py").is_file()}
    beside = (path for folder in {file.parent for file in seen} for path in folder.iterdir())
    return seen | packages | {path for path in beside if path.suffix in DATA_SUFFIXES}


def scan(path: Path, root: Path = ROOT) -> Scan:
    """Read one file, ours or not."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # of somebody's package: then nobody can import it either
        return Scan()
    package = path.relative_to(root).parent.parts if path.is_relative_to(root) else ()
    modules: set[str] = set()
    libraries: list[str] = []
    for node in _nodes(tree):
        modules.update(_modules(node, package), _literal(node, "preload"))
        libraries += _literal(node, "libraries")
    followed = FOLLOWED.get(package[0] if package else "", ("agents",))
    ours = (name for name in modules - {PICTURES} if name.partition(".")[0] in followed)
    found = frozenset(file for name in ours if (file := file_of(name, root)) is not None)
    parts = {".".join(name.split(".")[:2]) for name in modules}
    return Scan(found, tuple(libraries), frozenset(parts & SCIPY))


scan_ours = functools.cache(scan)
"""Our own files do not change while a process runs them."""


def file_of(module: str, root: Path = ROOT) -> Path | None:
    """The file of a module of ours, None if there is none."""
    place = root.joinpath(*module.split("."))
    files = (place.with_name(f"{place.name}.py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but what only type checkers see."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        unseen = isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        waiting += [] if unseen else ast.iter_child_nodes(node)


def _modules(node: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """The modules that a node imports; what ``from ... import`` names may be modules, too."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else ()
        base = ".".join((*above, *((node.module,) if node.module else ())))
        yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def _literal(node: ast.AST, name: str) -> tuple[str, ...]:
    """A tuple of texts that stands under this name in the body of a class."""
    for line in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(line, ast.Assign | ast.AnnAssign) and line.value is not None:
            target = line.target if isinstance(line, ast.AnnAssign) else line.targets[0]
            if isinstance(target, ast.Name) and target.id == name:
                return tuple(ast.literal_eval(line.value))
    return ()
