"""Agents that are given as classes, specs and texts; classes of a notebook become files."""

import importlib
import linecache
import subprocess
import sys
import textwrap
import types
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import evaluation
from agents import AgentSpec, UnknownAgentError
from agents.zoo.arms.ucb1 import UCB1
from evaluation.running.given import entries_of, name_of
from evaluation.running.written import source_of
from evaluation.specs import ProtocolError

EPSILON_GREEDY = """
import math
import numpy as np
from collections import deque as queue

SHARE = 0.25
other = object()

def best(values):
    return int(np.argmax(values))

class Base:
    def __init__(self, problem, rng, *, epsilon: Unknown = SHARE):
        self.rng, self.n, self.epsilon = rng, problem.n_actions, epsilon
        self.means, self.last = np.zeros(self.n), queue(maxlen=3)

class Mine(Base):
    kind = "invented"

    def act(self, observation):
        other = math.floor(self.rng.random() / self.epsilon)
        return best(self.means) if other else int(self.rng.integers(self.n))

    def update(self, observation, action, reward: float) -> Unknown:
        self.means[action] += 0.1 * (reward - self.means[action])
"""
COUNT = 0


def typed(text: str, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module ``__main__`` into which a cell was typed, with its text where IPython keeps it."""
    global COUNT
    COUNT += 1
    cell = f"<ipython-input-{COUNT}>"
    module = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    lines = text.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, cell, (len(text), None, lines, cell))
    exec(
        compile("from __future__ import annotations\n" + text.lstrip("\n"), cell, "exec"),
        vars(module),
    )
    return module


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    return typed(EPSILON_GREEDY, monkeypatch)


def run(agents: list[Any], **more: Any) -> Any:
    worlds = ["PeriodicGP-SyntheticDiscrete-v0:horizon=12"]
    return evaluation.run("smoke", agents=agents, envs=worlds, seeds="0:2", workers=0, **more)


def test_a_class_of_a_notebook_is_run_from_a_file_beside_the_store(
    notebook: types.ModuleType, tmp_path: Path
) -> None:
    results = run([notebook.Mine, "random"], store=tmp_path / "kept.sqlite")
    assert results.failures == []
    assert results.agents() == ["Mine", "random"]
    (file,) = (tmp_path / "kept-agents").glob("*.py")
    entry = results.sweep.protocol["agents"][0]
    assert entry["name"] == f"{file}:Mine"
    # The file is the provenance: the same class again is the same file, and nothing is run.
    seen: list[Any] = []
    again = run([notebook.Mine, "random"], store=tmp_path / "kept.sqlite", on_progress=seen.append)
    assert [progress.done for progress in seen] == [again.size]


def test_what_a_class_uses_is_written_with_it(notebook: types.ModuleType) -> None:
    text = source_of(notebook.Mine)
    space: dict[str, Any] = {}
    exec(text, space)
    assert {"Mine", "Base", "best", "SHARE", "math", "np", "queue"} <= set(space)
    assert "other = object" not in text  # only a local variable has that name
    assert text.index("SHARE =") < text.index("class Base") < text.index("class Mine")
    assert source_of(notebook.Mine) == text


def test_another_text_is_another_file(
    notebook: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = name_of(notebook.Mine, tmp_path / "a.sqlite")
    changed = typed(EPSILON_GREEDY.replace("0.25", "0.5"), monkeypatch)
    assert name_of(changed.Mine, tmp_path / "a.sqlite") != first


def test_settings_are_given_by_partial(notebook: types.ModuleType) -> None:
    half, all_ = (partial(notebook.Mine, epsilon=value) for value in (0.5, 1.0))
    entries = entries_of([half, all_], None)
    assert [entry["label"] for entry in entries] == ["Mine:epsilon=0.5", "Mine:epsilon=1.0"]
    assert [entry["settings"] for entry in entries] == [{"epsilon": 0.5}, {"epsilon": 1.0}]
    assert run([half, all_]).failures == []


def test_specs_and_classes_of_ours_go_by_their_names() -> None:
    spec = AgentSpec("gp-ucb", {"beta": "constant:2"})
    entries = entries_of([UCB1, spec, "random"], None)
    assert [entry if isinstance(entry, str) else entry["label"] for entry in entries] == [
        "ucb1",
        "gp-ucb:beta=constant:2",
        "random",
    ]
    assert run([UCB1, AgentSpec("fixed")]).agents() == ["ucb1", "fixed"]


def test_a_class_in_a_file_goes_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_in_a_file.py").write_text(EPSILON_GREEDY.replace("Unknown", "float"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    import mine_in_a_file  # type: ignore[import-not-found]

    assert name_of(mine_in_a_file.Mine) == "mine_in_a_file.py:Mine"
    assert run([mine_in_a_file.Mine]).failures == []
    monkeypatch.delitem(sys.modules, "mine_in_a_file")


def test_a_file_in_a_plain_folder_stands_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But one of a package that is not installed may need its neighbours."""
    for name, package in (("plain_folder", False), ("whole_package", True)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "mine.py").write_text("class Mine: ...\n")
        if package:
            (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert name_of(importlib.import_module("plain_folder.mine").Mine) == "plain_folder/mine.py:Mine"
    with pytest.raises(UnknownAgentError, match=r"whole_package\.mine, which is not installed"):
        name_of(importlib.import_module("whole_package.mine").Mine)


def test_two_of_one_name_are_told_apart(notebook: types.ModuleType, tmp_path: Path) -> None:
    entries = entries_of([notebook.Mine, notebook.Mine], tmp_path / "a.sqlite")
    assert all(entry["label"].endswith(".py:Mine") for entry in entries)


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Workers do not import the script: it would run itself again."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(EPSILON_GREEDY.replace(": Unknown", ": float").replace("-> Unknown", ""))
        + "import evaluation\n"
        + "r = evaluation.run('smoke', agents=[Mine], seeds='0:1', workers=1,\n"
        + "                   envs=['PeriodicGP-SyntheticDiscrete-v0:horizon=5'])\n"
        + "print('failures', len(r.failures), 'runs', len(r.runs))\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert done.stdout == "failures 0 runs 2\n", done.stderr


NOT_WRITTEN = """
class Model: pass
model = Model()
class Mine:
    def __init__(self, problem, rng): self.model = model
    def act(self, observation): return 0
    def update(self, observation, action, reward): pass
made = Mine(None, None)
class Fine:
    def __init__(self, problem, rng, *, width): self.width = width
    def act(self, observation): return 0
    def update(self, observation, action, reward): pass
def outer():
    class Inner(Mine): pass
    return Inner
"""


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (lambda m: m.Mine, "Mine uses model, a Model that was made here, and workers import"),
        (lambda m: m.Mine, r"\(%%writefile mine.py\) and name it mine.py:Mine"),
        (lambda m: m.made, "agents are made anew for every run: give the class Mine"),
        (lambda m: m.outer(), "define it at the top of a file or cell"),
        (lambda m: partial(m.Mine, 3), "settings are given by name"),
        (lambda m: int, r"int makes no agent: it has no act\(\) and no update\(\)"),
        (lambda m: object, "object makes no agent"),
        (lambda m: partial(m.Fine, foo=1), "there is no setting 'foo' of Fine; there are width"),
        (lambda m: partial(m.Fine, widht=1), r"no setting 'widht' of Fine; did you mean 'width'\?"),
        (lambda m: m.Fine, r"Fine needs a setting 'width': give functools.partial\(Fine, width="),
        (lambda m: 7, "7 is no text, no AgentSpec, no class and no table"),
        (lambda m: types.new_class("Typed", (), {}, None), "has no text that could be read"),
    ],
)
def test_what_workers_cannot_make_is_said(
    given: Any, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = typed(NOT_WRITTEN, monkeypatch)
    agent = given(module)
    if getattr(agent, "__name__", "") == "Typed":
        agent.__module__ = "__main__"
    with pytest.raises(ProtocolError, match=sentence):
        run([agent])


def test_one_agent_alone_is_no_list(notebook: types.ModuleType) -> None:
    with pytest.raises(ProtocolError, match=r"agents must be a list, got .*: write agents=\[...\]"):
        run(notebook.Mine)


def test_a_table_says_of_a_class_what_a_protocol_would(
    notebook: types.ModuleType, tmp_path: Path
) -> None:
    agents = [
        {"name": notebook.Mine, "track": "pretrained", "label": "mine, elsewhere"},
        {"name": notebook.Mine, "settings": {}},
        {"name": "random", "label": "chance"},
    ]
    found = run(agents, store=tmp_path / "kept.sqlite")
    assert found.failures == []
    assert found.agents() == ["Mine", "chance"]
    assert found.agents("pretrained") == ["mine, elsewhere"]
    with pytest.raises(ProtocolError, match="an entry of agents has no 'agent'"):
        run([{"agent": notebook.Mine}])
