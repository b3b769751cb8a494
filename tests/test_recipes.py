"""The recipes of CONTRIBUTING.md, pasted into a copy of the repository, pass its checks."""

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
NOT_COPIED = (".git", ".venv*", "out", "build", "dist", "*.egg-info", "__pycache__")
FILES = dict(re.findall(r"^`([\w/]+\.py)`:\n\n```python\n(.*?)^```", CONTRIBUTING, re.S | re.M))
"""New files by their paths."""
LINES = {
    "agents/registry.py": ('\n}\n"""Agents', r"```python\n(\"two-seasons\".*?)\n```"),
    "evaluation/columns.py": ("\n]\n", r"```python\n(Column\(.*?\n\))\n```"),
    "evaluation/cli/commands.py": ("\n}\n", r"```python\n(\"worst\".*?),\n```"),
}
"""Files with a new entry: the text after it, and the pattern of the entry."""
MAIN = "periodic_decisions"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with every recipe in its place."""
    copy = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_COPIED), dirs_exist_ok=True)
    (copy.parent / "shared").symlink_to(ROOT.parent / "shared")
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
    """Run a Python module in the copy and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_recipes_exist_for_each_kind() -> None:
    folders = {str(Path(place).parent) for place in FILES}
    assert folders == {
        "periodic_envs/worlds",
        "agents/zoo/gp",
        "agents/gp/kernels",
        "evaluation/cli",
    }


def test_recipes_pass_lint_and_types(tree: Path) -> None:
    changed = [*FILES, *LINES]
    run(tree, "ruff", "check", *changed)
    run(tree, "ruff", "format", "--check", *changed)
    run(tree, "mypy")


@pytest.mark.timeout(3600)
def test_recipes_pass_the_everyday_tests(tree: Path) -> None:
    run(tree, "tests.contract.record")
    run(tree, "tests.snapshots")
    run(tree, "pytest", "-n", "2", "-p", "no:cacheprovider")
    assert "two-seasons" in run(tree, MAIN, "agents")


def test_kernel_recipe_agrees_between_engines_and_is_saved(tree: Path) -> None:
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


def test_statistic_and_command_recipes_run(tree: Path) -> None:
    env = "PeriodicGP-SyntheticDiscrete-v0"
    options = ("--agents", "random", "--envs", env, "--seeds", "0:2", "--workers", "0")
    assert "Median regret" in run(tree, MAIN, "run", "smoke", *options)
    assert "median_regret" in run(tree, MAIN, "show", "--json")
    run(tree, MAIN, "leaderboard", "build", "--store", "results.sqlite", "--out", "p.html")
    assert "Median regret" in (tree / "p.html").read_text()
    assert f"{env}, seed" in run(tree, MAIN, "worst", "random")
