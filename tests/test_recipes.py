"""The recipes of CONTRIBUTING.md, pasted into a copy of the tree, pass what the tree must pass."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

ROOT = Path(__file__).parent.parent
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
COPIED = (
    *("periodic_envs", "agents", "evaluation", "periodic_decisions", "studies"),
    *("tests", "examples", "pyproject.toml"),
    *("README.md", "CONTRIBUTING.md", "references.bib", "docs/_ext"),
)
FILES = dict(re.findall(r"^`([\w/]+\.py)`:\n\n```python\n(.*?)^```", CONTRIBUTING, re.S | re.M))
"""New files, whole, by their place."""
LINES = {
    "agents/registry.py": ('\n}\n"""Agents', r"```python\n(\"two-seasons\".*?)\n```"),
    "evaluation/columns.py": ("\n]\n", r"```python\n(Column\(.*?\n\))\n```"),
    "evaluation/cli/commands.py": ("\n}\n", r"```python\n(\"worst\".*?),\n```"),
}
"""Files that get a few lines more, before which text, and what they are."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with every recipe in its place."""
    copy = tmp_path_factory.mktemp("tree")
    for name in COPIED:
        source = ROOT / name
        shutil.copytree(source, copy / name) if source.is_dir() else shutil.copy2(source, copy)
    if (ROOT / ".mypy_cache").is_dir():  # spares a minute
        shutil.copytree(ROOT / ".mypy_cache", copy / ".mypy_cache")
    for place, source in FILES.items():
        assert not (copy / place).exists(), place
        (copy / place).write_text(source)
    for place, (before, pattern) in LINES.items():
        (lines,) = re.findall(pattern, CONTRIBUTING, re.S)
        text = (copy / place).read_text()
        assert text.count(before) == 1
        entry = indent(f"{lines},", "    ")
        (copy / place).write_text(text.replace(before, f"\n{entry}{before}"))
    return copy


def run(tree: Path, *command: str) -> str:
    """What a Python module prints, run in the copy; it must end well."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def passed(tree: Path, *arguments: str) -> int:
    """How many tests passed in the copy."""
    out = run(tree, "pytest", "-p", "no:cacheprovider", *arguments)
    return int(re.findall(r"(\d+) passed", out)[0])


def test_there_is_a_recipe_for_each() -> None:
    folders = {str(Path(place).parent) for place in FILES}
    rooms = {"periodic_envs/worlds", "agents/zoo/gp", "agents/gp/kernels", "evaluation/cli"}
    assert folders == rooms


def test_lint_and_types(tree: Path) -> None:
    changed = [*FILES, *LINES]
    run(tree, "ruff", "check", *changed)
    run(tree, "ruff", "format", "--check", *changed)
    run(tree, "mypy")


def test_what_counts_and_lists_everything_still_passes(tree: Path) -> None:
    files = ("tests/test_architecture.py", "tests/test_evaluation/test_columns.py")
    assert passed(tree, *files, "tests/test_agents/test_registry.py") >= 30
    assert passed(tree, "tests/test_documents.py", "-k", "world or citations or contract") >= 3


def test_the_world_passes_the_tests_of_every_world(tree: Path) -> None:
    assert passed(tree, "tests/test_envs", "-k", "Beach") >= 12


def test_the_agent_passes_the_tests_of_every_agent(tree: Path) -> None:
    files = ("tests/test_agents/test_zoo.py", "tests/test_agents/test_registry.py")
    assert passed(tree, *files, "-k", "two-seasons") >= 8
    assert "two-seasons" in run(tree, "evaluation", "agents")
    assert '"two-seasons"' in run(tree, "evaluation", "protocols", "standard", "--json")


def test_the_kernel_is_the_same_in_every_engine_and_can_be_saved(tree: Path) -> None:
    (tree / "kernel_check.py").write_text(
        """
import numpy as np
from agents.gp import Finite, SquaredExponential, make_posterior
from agents.gp.kernels.cosine import Cosine
from tests.test_agents.reloading import reloaded

kernel, actions = SquaredExponential(1.0) * Cosine(5.0), Finite(np.linspace(0, 2, 4)[:, None])
names = ("state-space", "incremental")
engines = [make_posterior(kernel, actions, 0.1, engine=name) for name in names]
for posterior in engines:
    for t in range(12):
        posterior.observe(t % 4, float(t), np.sin(t))
first, second = (posterior.predict(12.5) for posterior in engines)
np.testing.assert_allclose(first, second, atol=1e-8)
again = reloaded(engines[0])
np.testing.assert_array_equal(again.predict(12.5), engines[0].predict(12.5))
"""
    )
    run(tree, "kernel_check")


def test_the_statistic_is_in_every_table_and_the_command_runs(tree: Path) -> None:
    arguments = ("--agents", "random", "--envs", "PeriodicGP-SyntheticDiscrete-v0", "--seeds")
    shown = run(tree, "evaluation", "run", "smoke", *arguments, "0:2", "--workers", "0")
    assert "median regret" in shown
    assert "median_regret" in run(tree, "evaluation", "show", "--json")
    run(tree, "evaluation", "leaderboard", "build", "--store", "results.sqlite", "--out", "p.html")
    assert "Median regret" in (tree / "p.html").read_text()
    assert "PeriodicGP-SyntheticDiscrete-v0, seed" in run(tree, "evaluation", "worst", "random")
