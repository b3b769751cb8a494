"""Names, settings, and agents of users."""

import importlib
import os
import pkgutil
import py_compile
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import agents.auto
import agents.registry
import agents.rl
import agents.zoo
from agents import AgentSpec, UnknownAgentError, describe, names
from agents.registry import BUILT_IN, find_class, settings_of
from tests.errors import raises
from tests.test_agents.playing import fresh

SOURCE = '''
class Lazy:
    """Always the same arm."""

    def __init__(self, problem, rng, arm=0):
        self.arm = arm

    def act(self, observation):
        return self.arm

    def update(self, observation, action, reward):
        pass


class NeedsOne(Lazy):
    def __init__(self, problem, rng, path, speed=1.0):
        self.arm = path


class Broken:
    def __init__(self, problem, rng):
        pass
'''


@pytest.fixture
def lazy_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "lazy_agent.py"
    path.write_text(SOURCE)
    yield path
    sys.modules.pop("lazy_agent", None)


def test_settings_without_a_default_must_be_given(lazy_file: Path) -> None:
    place = f"{lazy_file}:NeedsOne"
    assert list(settings_of(find_class(place))) == ["path", "speed"]
    assert fresh(f"{place}:path=here").act(None) == "here"


def test_settings_of_a_subclass_may_have_another_default() -> None:
    assert settings_of(find_class("fourier-linucb"))["regulariser"] == 1.0
    assert settings_of(find_class("d-linucb"))["delta"] == 0.01


def test_settings_are_parsed() -> None:
    spec = AgentSpec.parse("periodic-gp-ucb:length_scale=2,beta=paper,fit_warm_start=False,x=none")
    expected = {"length_scale": 2, "beta": "paper", "fit_warm_start": False, "x": None}
    assert (spec.name, spec.settings) == ("periodic-gp-ucb", expected)


def test_agents_are_found_in_files_and_modules(lazy_file: Path) -> None:
    assert fresh(f"{lazy_file}:Lazy:arm=3").act(None) == 3
    assert fresh("lazy_agent:Lazy:arm=2").act(None) == 2
    assert AgentSpec.parse(f"{lazy_file}:Lazy").name == f"{lazy_file}:Lazy"


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
    assert fresh(place.format(tmp_path)).act(None) == 7
    for name in [name for name in sys.modules if name.startswith("edited")]:
        del sys.modules[name]


def test_agents_are_found_by_entry_points(lazy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Built-in names cannot be taken over."""
    points = [
        EntryPoint(name, "lazy_agent:Lazy", agents.registry.GROUP) for name in ("lazy", "gp-ucb")
    ]
    monkeypatch.setattr(agents.registry, "entry_points", lambda group: points)
    assert "lazy" in names()
    assert (fresh("lazy:arm=1").act(None), describe("lazy")) == (1, "Always the same arm.")
    assert type(fresh("gp-ucb")).__name__ == "GPUCB"


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
    places = {}
    for folder in (agents.auto, agents.zoo, agents.rl):
        for info in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
            for cls in vars(importlib.import_module(info.name)).values():
                if isinstance(cls, type) and cls.__module__ == info.name and vars(cls).get("name"):
                    places[cls.name] = f"{cls.__module__}:{cls.__qualname__}"
    assert places == {name: entry.place for name, entry in BUILT_IN.items()}


def test_registry_describes_every_agent() -> None:
    for name, entry in BUILT_IN.items():
        assert entry.family
        assert set(entry.pretrained_by) <= set(settings_of(find_class(name)) or ()), name
        assert describe(name)


@pytest.mark.parametrize(
    ("text", "code", "name"),
    [
        ("periodic-gp-ubc", "unknown-agent", "periodic-gp-ucb"),
        ("zzz", "unknown-agent", "periodic-gp agents"),
        ("no.such.module:Agent", "missing-package", "'no'"),
        ("agents.base:Nothing", "unknown-class", "'Nothing'"),
        ("missing.py:Agent", "file-not-found", "'missing.py'"),
        ("gp-ucb:beta", "invalid-settings", "'beta'"),
        ("gp-ucb:colour=blue", "unknown-setting", "action_kernel"),
        ("{0}/lazy_agent.py:NeedsOne", "missing-setting", "path="),
        ("gp-ucb:clock=1", "unknown-setting", "'clock'"),
        ("periodic-gp-ucb:time_lenght_scale=1", "unknown-setting", "'time_length_scale'"),
        ("agents.base:GROUPS", "unknown-class", "GROUPS"),
        ("agents.base:__doc__", "not-an-agent", "__doc__"),
        ("my_agent.py", "missing-class", "my_agent.py"),
        ("lazy_agent:Broken", "not-an-agent", "act()"),
        ("syntax:Agent", "cannot-import", "SyntaxError"),
        ("{0}/zero.py:Agent", "cannot-import", "line 1"),
    ],
)
def test_registry_rejects_bad_names(text: str, code: str, name: str, lazy_file: Path) -> None:
    lazy_file.with_name("syntax.py").write_text("def f(:")
    lazy_file.with_name("zero.py").write_text("1 / 0")
    with raises(UnknownAgentError, code) as caught:
        fresh(text.format(lazy_file.parent))
    assert name in str(caught.value)
