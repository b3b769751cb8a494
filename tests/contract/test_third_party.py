"""Agents of a third party, named in every supported way."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import evaluation
from tests.contract.conftest import ROOT
from tests.contract.sweeps import THIRD_PARTY, WORLD, agent, steps_of

SMALL = {"envs": [f"{WORLD}:horizon=8"], "seeds": "0:2"}
RUN = f"""
import evaluation
results = evaluation.run("smoke", agents=[AGENT], envs={SMALL["envs"]}, seeds="0:2", workers=1)
steps = results.steps
steps[steps["agent"] == steps["agent"].iloc[0]].to_csv("steps.csv", index=False)
"""
NOTEBOOK = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in sys.argv[1:]:
    shell.run_cell(cell, store_history=True).raise_error()
"""


@pytest.fixture(scope="module")
def expected() -> pd.DataFrame:
    """The steps of the good agent, named by its file."""
    results = evaluation.run("smoke", agents=[agent("Good")], workers=0, **SMALL)
    assert not results.failures
    (label,) = set(results.table()["agent"]) & set(results.steps["agent"])
    return steps_of(results, label)


def check_script(folder: Path, expected: pd.DataFrame, *words: str, path: Path = ROOT) -> None:
    """Run a Python script that writes the steps of the good agent."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**env, "IPYTHONDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    actual = pd.read_csv(folder / "steps.csv").drop(columns="agent")
    pd.testing.assert_frame_equal(actual, expected, check_dtype=False)


def install(folder: Path) -> Path:
    """A folder with an installed package of agents, and an entry point of it."""
    info = folder / "their_agents-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "their_agents.py").write_text(THIRD_PARTY.read_text())
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-agents\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[periodic_gp.agents]\ntheirs = their_agents:Good\n")
    return folder


@pytest.mark.parametrize(
    ("code", "named"),
    [("from their_agents import Good\n", "Good"), ("", "'theirs'")],
    ids=["class", "entry point"],
)
def test_agents_of_a_package_are_found(
    tmp_path: Path, expected: pd.DataFrame, code: str, named: str
) -> None:
    installed = install(tmp_path / "installed")
    check_script(tmp_path, expected, "-c", code + RUN.replace("AGENT", named), path=installed)


def test_agents_are_found_in_a_notebook(tmp_path: Path, expected: pd.DataFrame) -> None:
    pytest.importorskip("IPython")
    cells = THIRD_PARTY.read_text(), RUN.replace("AGENT", "Good")
    check_script(tmp_path, expected, "-c", NOTEBOOK, *cells)
