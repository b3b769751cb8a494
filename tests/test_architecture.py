"""The arrows between the rooms of the house point one way."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FORBIDDEN = {
    "periodic_envs": {"agents", "evaluation"},
    "agents": {"periodic_envs", "evaluation"},
    "evaluation": set(),
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
