"""Imports between packages have one direction and no cycles."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FORBIDDEN = {
    "periodic_envs": {"agents", "evaluation", "periodic_decisions", "studies"},
    "agents": {"periodic_envs", "evaluation", "periodic_decisions", "studies"},
    "evaluation": {"periodic_decisions", "studies"},
    "periodic_decisions": {"studies"},
}


def imported_packages(source: str) -> set[str]:
    """Return the top-level names of all absolute imports, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
        elif isinstance(node, ast.Call) and _name(node.func) in {"import_module", "__import__"}:
            names.update(a.value for a in node.args if isinstance(a, ast.Constant))
    return {name.partition(".")[0] for name in names}


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_packages_import_in_one_direction(package: str) -> None:
    sources = {path: path.read_text() for path in (ROOT / package).rglob("*.py")}
    wrong = {path for path, text in sources.items() if imported_packages(text) & FORBIDDEN[package]}
    assert sources
    assert not wrong


def imports_at_start(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports that run with the module: none in functions, none for types alone."""
    found: list[ast.Import | ast.ImportFrom] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def import_graph(root: Path, packages: list[str]) -> dict[str, set[str]]:
    """Return the modules that each module needs while it is imported.

    ``from a.b import c`` needs the module ``a.b.c`` if there is one, and else ``a.b``. The packages
    of a module are imported before it, but need not be complete: they do not count.
    """
    sources: dict[str, tuple[Path, str]] = {}
    for path in (path for package in packages for path in sorted((root / package).rglob("*.py"))):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        sources[name] = (path, path.read_text())
    graph: dict[str, set[str]] = {name: set() for name in sources}
    for name, (path, source) in sources.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node in imports_at_start(ast.parse(source)):
            if isinstance(node, ast.Import):
                asked = {alias.name for alias in node.names}
            else:
                above = package.rsplit(".", node.level - 1)[0] if node.level else ""
                base = ".".join(filter(None, (above, node.module)))
                names = {f"{base}.{alias.name}" for alias in node.names}
                asked = {whole if whole in sources else base for whole in names}
            graph[name] |= (asked & sources.keys()) - {name}
    return graph


def test_imports_have_no_cycle() -> None:
    graph = import_graph(ROOT, sorted(FORBIDDEN))
    assert sum(map(len, graph.values())) > len(graph)
    list(TopologicalSorter(graph).static_order())  # a CycleError names the cycle
