"""Agents as classes, specs and texts, checked before anything is run."""

import importlib
import subprocess
import sys
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import evaluation
from agents import AgentSpec
from agents.zoo.arms.ucb1 import UCB1
from evaluation.entries import checked_agents, entries_of, name_of
from evaluation.notebook import define, fingerprint
from evaluation.protocol import Protocol
from evaluation.specs import ProtocolError
from tests.errors import raises

WORLD = "PeriodicGP-SyntheticDiscrete-v0"
CODE = """
SHARE = 0.25

def best(values):
    return max(range(len(values)), key=values.__getitem__)

class Base:
    takes = "arms"
    def __init__(self, problem, rng, window=10, *, epsilon=SHARE):
        self.rng, self.means, self.epsilon = rng, [0.0] * problem.n_actions, epsilon

    def act(self, observation):
        explore = self.rng.random() < self.epsilon
        return int(self.rng.integers(len(self.means))) if explore else best(self.means)

class Whole(Base):
    def update(self, observation, action, reward):
        self.means[action] += 0.1 * (reward - self.means[action])

class Needy(Whole):
    def __init__(self, problem, rng, size):
        super().__init__(problem, rng)

class Open(Whole):
    def __init__(self, problem, rng, **anything):
        super().__init__(problem, rng)

class Alone(Whole):
    def __init__(self, problem): ...

def made(problem, rng, width=1):
    return Whole(problem, rng)

class Half(Whole):
    @classmethod
    def train(cls, problem, envs, *, steps, rng, settings): ...

class Learns(Half):
    @classmethod
    def after_training(cls, problem, rng, learned, settings): ...

class Plain(Learns):
    def train(self, problem, envs, *, steps, rng, settings): ...

class Odd(Whole):
    takes = "planes"

def outer():
    class Inner(Whole): pass
    return Inner
"""


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module ``__main__`` into which the code was typed."""
    return typed(CODE, monkeypatch)


def typed(code: str, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    module = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    exec(compile(code, "<cell>", "exec"), vars(module))
    return module


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CODE)
    return tmp_path / "mine.py"


def run(agents: list[Any], **more: Any) -> Any:
    settings = {"workers": 0, "seeds": "0:2", "envs": [f"{WORLD}:horizon=12"], **more}
    return evaluation.run("smoke", agents=agents, **settings)


def protocol(*agents: Any) -> Protocol:
    return Protocol.from_dict({"envs": [WORLD], "agents": list(agents), "seeds": "0:1"})


def check(agent: Any, **more: Any) -> Protocol:
    return checked_agents(protocol(agent), **{"trusted": True, **more})


@pytest.mark.parametrize("workers", [0, 1])
def test_run_caches_a_class_of_a_notebook(
    notebook: types.ModuleType, tmp_path: Path, workers: int, file: Path
) -> None:
    store = tmp_path / "kept.sqlite"
    results = run([notebook.Whole, "random"], store=store, workers=workers)
    assert results.failures == []
    assert results.agents() == ["Whole", "random"]
    alone = run([f"{file}:Whole"])
    regrets = [r.totals.query("agent.str.endswith('Whole')")["regret"] for r in (results, alone)]
    assert regrets[0].tolist() == regrets[1].tolist()
    seen: list[Any] = []
    again = run([notebook.Whole, "random"], store=store, on_progress=seen.append)
    assert [progress.done for progress in seen] == [again.size]


def test_fingerprint_covers_the_code_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    first = fingerprint(typed(CODE, monkeypatch).Whole)
    assert fingerprint(typed("\n\n" + CODE, monkeypatch).Whole) == first
    for before, after in (("0.1 *", "0.2 *"), ("= 0.25", "= 0.5"), ("max(", "min("), ("10", "11")):
        assert fingerprint(typed(CODE.replace(before, after), monkeypatch).Whole) != first
    assert fingerprint(typed(CODE.replace("planes", "x"), monkeypatch).Whole) == first


def test_define_replaces_an_earlier_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of a cluster outlive the session that has defined an agent."""
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    for version in (1, 2, 2):
        define("__main__:Mine", cloudpickle.dumps(version))
        assert main.Mine == version


def test_entries_take_settings_from_partial(notebook: types.ModuleType) -> None:
    half, all_ = (partial(notebook.Whole, epsilon=value) for value in (0.5, 1.0))
    entries = entries_of([half, all_])
    settings = {entry["label"]: entry["settings"] for entry in entries}
    assert settings == {f"Whole:epsilon={value}": {"epsilon": value} for value in (0.5, 1.0)}
    assert run([half, all_, notebook.made]).failures == []


def test_entries_name_built_in_agents() -> None:
    spec = AgentSpec("gp-ucb", {"beta": "constant:2"})
    entries = entries_of([UCB1, spec, "random"])
    labels = [entry if isinstance(entry, str) else entry["label"] for entry in entries]
    assert labels == ["ucb1", "gp-ucb:beta=constant:2", "random"]
    assert run([UCB1, AgentSpec("fixed")]).agents() == ["ucb1", "fixed"]


def test_entries_name_classes_by_their_module(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(file.parent)
    whole = importlib.import_module("mine").Whole
    assert name_of(whole) == "mine:Whole"
    assert run([whole, {"name": whole, "label": "again"}], workers=1).failures == []
    monkeypatch.delitem(sys.modules, "mine")


def test_entries_take_tables(notebook: types.ModuleType) -> None:
    agents = [
        {"name": notebook.Whole, "track": "pretrained", "label": "mine, elsewhere"},
        {"name": notebook.Whole, "settings": {}},
        {"name": "random", "label": "chance"},
    ]
    results = run(agents)
    assert results.failures == []
    assert results.agents() == ["Whole", "chance"]
    assert results.agents("pretrained") == ["mine, elsewhere"]
    with raises(ProtocolError, "invalid-table"):
        run([{"agent": notebook.Whole}])


@pytest.mark.parametrize(
    ("agent_of", "code"),
    [
        (lambda m: types.SimpleNamespace(act=1), "not-an-agent"),
        (lambda m: m.outer(), "not-importable"),
        (lambda m: partial(m.Whole, 3), "invalid-settings"),
        (lambda m: int, "not-an-agent"),
        (lambda m: partial(m.Whole, foo=1), "unknown-setting"),
        (lambda m: partial(m.Whole, epsiln=1), "unknown-setting"),
        (lambda m: m.Needy, "missing-setting"),
        (lambda m: 7, "not-an-agent"),
    ],
)
def test_entries_reject_bad_objects(agent_of: Any, code: str, notebook: types.ModuleType) -> None:
    with raises(ProtocolError, code):
        run([agent_of(notebook)])


def trained(name: str) -> dict[str, Any]:
    return {"name": name, "label": "x", "track": "pretrained", "training_steps": 640}


@pytest.mark.parametrize(
    ("entry_of", "agent"),
    [
        (str, "mine:Whole"),
        (str, "mine:Whole:window=3,epsilon=0.5"),
        (str, "mine:Needy:size=3"),
        (str, "mine:Open:window=3"),
        (str, "mine:made:width=3"),
        (str, "gp-ucb"),
        (str, "periodic-gp-ucb:time_length_scale=1"),
        (str, "ppo:n_steps=8"),
        (trained, "mine:Learns"),
        (trained, "gp-ucb"),
    ],
)
def test_check_accepts_agents(file: Path, entry_of: Callable[[str], Any], agent: str) -> None:
    entry = entry_of(agent.replace("mine:", f"{file}:"))
    assert check(entry) == protocol(entry)


@pytest.mark.parametrize(
    ("entry_of", "agent", "code"),
    [
        (str, "mine:Whole:windw=3", "unknown-setting"),
        (str, "mine:Needy", "missing-setting"),
        (str, "mine:Base", "not-an-agent"),
        (str, "mine:Alone", "wrong-signature"),
        (str, "mine:Missing", "unknown-class"),
        (str, "mine:Odd", "unknown-actions"),
        (str, "nowhere.py:Agent", "file-not-found"),
        (str, "no_such_module:Agent", "missing-package"),
        (str, "gp-ucb:lenth_scale=1", "unknown-setting"),
        (trained, "mine:Whole", "not-trainable"),
        (trained, "mine:Half", "not-trainable"),
        (trained, "mine:Plain", "not-a-classmethod"),
        (trained, "ucb1", "not-trainable"),
    ],
)
def test_run_rejects_agents(
    file: Path, entry_of: Callable[[str], Any], agent: str, code: str
) -> None:
    with raises(ProtocolError, code):
        run([entry_of(agent.replace("mine:", f"{file}:"))])


def test_check_does_not_import_untrusted_code(tmp_path: Path) -> None:
    (tmp_path / "bomb.py").write_text("raise SystemExit('imported')\n")
    bomb = f"{tmp_path / 'bomb.py'}:Agent"
    assert check(bomb, trusted=False) == protocol(bomb)
    with raises(ProtocolError, "unknown-setting"):
        check("gp-ucb:lenth_scale=1", trusted=False)


def test_run_in_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    """Workers do not import the script, which would run itself again."""
    script = tmp_path / "script.py"
    script.write_text(
        CODE + "import evaluation\n"
        "r = evaluation.run('smoke', agents=[Whole], seeds='0:1', workers=1,\n"
        "                   envs=['PeriodicGP-SyntheticDiscrete-v0:horizon=5'])\n"
        "print('failures', len(r.failures), 'runs', len(r.runs))\n"
    )
    for command, text in ([str(script)], None), (["-"], script.read_text()):
        done = subprocess.run(
            [sys.executable, *command],
            input=text,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=120,
            check=False,
        )
        assert done.stdout == "failures 0 runs 2\n", done.stderr
