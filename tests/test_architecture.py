"""Imports between packages point one way, and have no cycles."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
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
    """Top-level names of all absolute imports, those inside functions included."""
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


def violations(package: str, root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)} imports {name}"
        for path in sorted((root / package).rglob("*.py"))
        for name in sorted(imported_packages(path.read_text()) & FORBIDDEN[package])
    ]


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_no_arrow_points_back(package: str) -> None:
    assert list((ROOT / package).rglob("*.py"))
    assert violations(package, ROOT) == []


@pytest.mark.parametrize(
    "line",
    [
        "import agents",
        "from agents.base import Agent",
        "def f():\n    import agents.gp as gp",
        "import importlib\nimportlib.import_module('agents.gp')",
    ],
)
def test_a_wrong_arrow_would_be_seen(tmp_path: Path, line: str) -> None:
    (tmp_path / "periodic_envs").mkdir()
    (tmp_path / "periodic_envs" / "bad.py").write_text(line)
    assert violations("periodic_envs", tmp_path) == ["periodic_envs/bad.py imports agents"]


def files() -> list[Path]:
    folders = [ROOT / package for package in sorted(FORBIDDEN)]
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_arrays_have_one_name_in_a_package(package: str) -> None:
    """Evaluation and decisions take that of the worlds, and have none of their own."""
    own = [path for path in files() if path.is_relative_to(ROOT / package)]
    found = [path for path in own if re.search(r"^Array\b.*=", path.read_text(), re.M)]
    own_name = package in ("agents", "periodic_envs")
    expected = [ROOT / package / "arrays.py"] if own_name else []
    assert [p.relative_to(ROOT) for p in found] == [p.relative_to(ROOT) for p in expected]


# --- cycles ----------------------------------------------------------------------------------


def imports_at_start(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """The imports that run when the module does: none in functions, none for types alone."""
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
    """The modules that each module needs before it is whole.

    ``from a.b import c`` needs the module ``a.b.c`` if there is one, and else ``a.b``. The packages
    that a module lies in are imported before it, but need not be whole: they do not count.
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


def cycle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_import_goes_in_a_circle() -> None:
    graph = import_graph(ROOT, sorted(FORBIDDEN))
    assert sum(map(len, graph.values())) > len(graph)
    assert cycle(graph) == []


def test_a_circle_would_be_seen(tmp_path: Path) -> None:
    def write(**sources: str) -> list[str]:
        (tmp_path / "p" / "q").mkdir(parents=True, exist_ok=True)
        for name, source in sources.items():
            (tmp_path / "p" / f"{name.replace('__', '/')}.py").write_text(source)
        return cycle(import_graph(tmp_path, ["p"]))

    assert write(a="from p import b", b="from p.q import c", q__c="import os") == []
    assert sorted(set(write(q__c="from ..a import x"))) == ["p.a", "p.b", "p.q.c"]
    assert write(q__c="def f():\n    import p.a") == []
    guarded = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.a"
    assert write(q__c=guarded) == []
    assert write(q__c="try:\n    import p.a\nexcept ImportError: ...") != []
