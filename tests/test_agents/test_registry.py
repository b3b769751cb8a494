"""Names, settings, and other people's agents."""

import importlib
import os
import pkgutil
import py_compile
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import agents.auto
import agents.registry
import agents.rl
import agents.zoo
from agents import AgentSpec, UnknownAgentError, describe, make_agent, names
from agents.registry import BUILT_IN, find_class, settings_of
from agents.testing import example_problem

SOURCE = '''
class Lazy:
    """Always the same arm."""

    def __init__(self, problem, rng, arm=0):
        self.arm = arm

    def act(self, observation):
        return self.arm

    def update(self, observation, action, reward):
        pass


class Broken:
    def __init__(self, problem, rng):
        pass
'''


@pytest.fixture
def lazy_file(tmp_path: Path) -> Path:
    path = tmp_path / "lazy_agent.py"
    path.write_text(SOURCE)
    return path


def make(text: str) -> object:
    return make_agent(text, example_problem("finite"), np.random.default_rng(0))


class NeedsOne:
    """Has a setting without a default."""

    def __init__(self, problem, rng, path, speed=1.0):
        self.path = path

    def act(self, observation):
        return 0

    def update(self, observation, action, reward):
        pass


def test_a_setting_without_a_default_must_be_given() -> None:
    assert list(settings_of(NeedsOne)) == ["path", "speed"]
    place = f"{__file__}:NeedsOne"
    problem = example_problem("finite")
    agent = AgentSpec.parse(f"{place}:path=here").make(problem, np.random.default_rng(0))
    assert agent.path == "here"
    with pytest.raises(UnknownAgentError, match=r"needs a setting: .*NeedsOne:path=\.\.\."):
        AgentSpec.parse(place).make(problem, np.random.default_rng(0))


def test_a_subclass_may_have_another_default() -> None:
    assert settings_of(find_class("fourier-linucb"))["regulariser"] == 1.0
    assert settings_of(find_class("d-linucb"))["delta"] == 0.01


def test_settings() -> None:
    spec = AgentSpec.parse("periodic-gp-ucb:length_scale=2,beta=paper,fit_warm_start=False,x=none")
    assert spec.name == "periodic-gp-ucb"
    assert spec.settings == {
        "length_scale": 2,
        "beta": "paper",
        "fit_warm_start": False,
        "x": None,
    }
    assert make("periodic-gp-ucb:length_scale=2").posterior.kernel.terms[0].actions[0] == (
        agents.gp.SquaredExponential(2)
    )


def test_a_file(lazy_file: Path) -> None:
    assert make(f"{lazy_file}:Lazy:arm=3").act(None) == 3
    assert AgentSpec.parse(f"{lazy_file}:Lazy").name == f"{lazy_file}:Lazy"


def test_a_module(lazy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(lazy_file.parent)
    assert make("lazy_agent:Lazy:arm=2").act(None) == 2
    sys.modules.pop("lazy_agent")


@pytest.mark.parametrize("place", ["{0}/edited/inner.py:Lazy", "edited.inner:Lazy"])
def test_registry_runs_the_source_and_not_a_compiled_file(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two edits within a second that change no length: Python cannot tell their compiled files."""
    file = tmp_path / "edited" / "inner.py"
    file.parent.mkdir()
    (file.parent / "__init__.py").touch()
    file.write_text(SOURCE)
    os.utime(file, (1e9, 1e9))
    py_compile.compile(str(file))
    file.write_text(SOURCE.replace("return self.arm", "return 7 # arm."))
    os.utime(file, (1e9, 1e9))
    monkeypatch.syspath_prepend(tmp_path)
    assert make(place.format(tmp_path)).act(None) == 7
    for name in [name for name in sys.modules if name.startswith("edited")]:
        del sys.modules[name]


def test_an_entry_point(lazy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(lazy_file.parent)
    point = EntryPoint("lazy", "lazy_agent:Lazy", agents.registry.GROUP)
    impostor = EntryPoint("gp-ucb", "lazy_agent:Lazy", agents.registry.GROUP)
    monkeypatch.setattr(agents.registry, "entry_points", lambda group: [point, impostor])
    assert "lazy" in names()
    assert make("lazy:arm=1").act(None) == 1
    assert describe("lazy") == "Always the same arm."
    assert type(make("gp-ucb")).__name__ == "GPUCB"  # built-in names cannot be taken over
    sys.modules.pop("lazy_agent")


LISTING = """
import sys
from agents import AgentSpec, names
from agents.registry import BUILT_IN, is_built_in, online_names
assert list(names())[0] == next(iter(BUILT_IN)) == "auto-gp-ucb"
assert is_built_in("ppo") and not is_built_in("agents.rl.algorithms:PPO")
assert BUILT_IN["ppo"].family == "generic RL"
assert set(BUILT_IN) - set(online_names()) == {"a2c", "dqn", "ppo", "recurrent-ppo", "sac", "td3"}
assert AgentSpec.parse("auto-gp-ucb:prior=file").pretrained
assert AgentSpec.parse("agents.auto.auto_gp_ucb:AutoGPUCB:prior=file").pretrained
assert not AgentSpec.parse("auto-gp-ucb:prior=none").pretrained
assert not AgentSpec.parse("ppo:memory=true").pretrained
assert not AgentSpec.parse("no_such.py:Agent:prior=file").pretrained
places = ("agents.zoo", "agents.auto", "agents.rl", "agents.gp", "torch", "scipy", "numba")
print([name for name in sys.modules if name.startswith(places)])
"""


def test_listing_imports_no_agent() -> None:
    run = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[]"


def test_registry_lists_every_agent() -> None:
    """Every class with a name below ``auto``, ``zoo`` and ``rl``, under this name."""
    found = {}
    for folder in (agents.auto, agents.zoo, agents.rl):
        for info in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
            for cls in vars(importlib.import_module(info.name)).values():
                if isinstance(cls, type) and cls.__module__ == info.name and vars(cls).get("name"):
                    found[cls.name] = f"{cls.__module__}:{cls.__qualname__}"
    assert found == {name: entry.place for name, entry in BUILT_IN.items()}


def test_pretraining_settings_are_settings_of_the_class() -> None:
    for name, entry in BUILT_IN.items():
        assert entry.family
        assert set(entry.pretrained_by) <= set(settings_of(find_class(name)) or ()), name


def test_every_name_is_described() -> None:
    assert all(describe(name) for name in names())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("periodic-gp-ubc", "did you mean periodic-gp-ucb"),
        ("zzz", "known are auto-gp-ucb, "),
        ("no.such.module:Agent", "'no.such.module:Agent': no module 'no' is installed$"),
        ("agents.base:Nothing", "cannot find the agent"),
        ("missing.py:Agent", "agent 'missing.py:Agent': there is no file 'missing.py'$"),
        ("gp-ucb:beta", "settings are written name=value"),
        ("gp-ucb:colour=blue", "has no setting 'colour'; its settings are action_kernel, "),
        ("tv-gp-ucb:espilon=1", "did you mean 'eps'|its settings are eps, action_kernel"),
        ("periodic-gp-ucb:time_lenght_scale=1", "did you mean 'time_length_scale'"),
        ("gp-ucb:clock=1", "has no setting 'clock'"),
        ("agents.base:GROUPS", "has no 'GROUPS'"),
        ("agents.base:__doc__", "makes no agent: it is neither a class nor a function"),
        ("my_agent.py", "say which class of the file: my_agent.py:Class"),
    ],
)
def test_bad_names(text: str, message: str) -> None:
    with pytest.raises(UnknownAgentError, match=message):
        make(text)


def test_not_an_agent(lazy_file: Path) -> None:
    with pytest.raises(UnknownAgentError, match=r"it needs act\(\) and update\(\)"):
        make(f"{lazy_file}:Broken")


def test_a_file_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def f(:")
    with pytest.raises(UnknownAgentError, match=r"cannot find the agent.*SyntaxError"):
        make(f"{tmp_path}/bad.py:Agent")
    (tmp_path / "worse.py").write_text("1 / 0")
    with pytest.raises(UnknownAgentError, match=r"ZeroDivisionError.*worse.py, line 1"):
        make(f"{tmp_path}/worse.py:Agent")
