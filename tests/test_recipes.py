"""The recipes of CONTRIBUTING.md, pasted into a copy of the tree, pass what the tree must pass."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COPIED = ("periodic_envs", "agents", "evaluation", "tests", "pyproject.toml", "references.bib")
RECIPE = re.compile(r"^`([\w/]+\.py)`:\n\n```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINE = re.compile(
    r"^`(evaluation/cli/commands\.py)`, beside the others:\n\n```python\n(.*?)^```", re.S | re.M
)
pytestmark = pytest.mark.xdist_group("recipes")


def recipes() -> dict[str, str]:
    return dict(RECIPE.findall((ROOT / "CONTRIBUTING.md").read_text()))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with every recipe in its place."""
    copy = tmp_path_factory.mktemp("tree")
    for name in COPIED:
        source = ROOT / name
        shutil.copytree(source, copy / name) if source.is_dir() else shutil.copy2(source, copy)
    if (ROOT / ".mypy_cache").is_dir():  # spares a minute
        shutil.copytree(ROOT / ".mypy_cache", copy / ".mypy_cache")
    for place, source in recipes().items():
        assert not (copy / place).exists(), place
        (copy / place).write_text(source)
    return copy


def run(tree: Path, *command: str) -> str:
    """What a Python module prints, run in the copy; it must end well."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=tree, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_is_a_recipe_for_each() -> None:
    folders = {str(Path(place).parent) for place in recipes()}
    assert folders == {
        "periodic_envs/worlds",
        "agents/zoo/gp",
        "agents/gp/kernels",
        "evaluation/cli",
    }


@pytest.mark.parametrize(
    "command", [("ruff", "check"), ("ruff", "format", "--check"), ("mypy",)], ids=" ".join
)
def test_lint_and_types(tree: Path, command: tuple[str, ...]) -> None:
    files = [] if command == ("mypy",) else list(recipes())
    run(tree, *command, *files)


def test_the_world_passes_the_tests_of_every_world(tree: Path) -> None:
    out = run(tree, "pytest", "-q", "-p", "no:cacheprovider", "tests/test_envs", "-k", "Beach")
    assert int(re.findall(r"(\d+) passed", out)[0]) >= 15


def test_the_agent_passes_the_tests_of_every_agent(tree: Path) -> None:
    files = ("tests/test_agents/test_zoo.py", "tests/test_agents/test_registry.py")
    out = run(tree, "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", "two-seasons")
    assert int(re.findall(r"(\d+) passed", out)[0]) >= 8
    assert "two-seasons" in run(tree, "evaluation", "agents")
    assert "two-seasons" in run(tree, "evaluation", "protocols", "standard")


def test_the_kernel_is_the_same_in_every_engine_and_can_be_saved(tree: Path) -> None:
    (tree / "kernel_check.py").write_text(
        """
import numpy as np
from agents.gp import Finite, SquaredExponential, from_state, make_posterior, to_state
from agents.gp.kernels.cosine import Cosine

kernel, actions = SquaredExponential(1.0) * Cosine(5.0), Finite(np.linspace(0, 2, 4)[:, None])
names = ("state-space", "incremental", "dense")
engines = [make_posterior(kernel, actions, 0.1, engine=name) for name in names]
for posterior in engines:
    for t in range(12):
        posterior.observe(t % 4, float(t), np.sin(t))
for posterior in engines[:2]:
    np.testing.assert_allclose(posterior.predict(12.5), engines[2].predict(12.5), atol=1e-8)
again = from_state(to_state(engines[0]))
np.testing.assert_array_equal(again.predict(12.5), engines[0].predict(12.5))
"""
    )
    run(tree, "kernel_check")
