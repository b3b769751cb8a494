"""Worlds of users: imported from the current folder, also in workers."""

import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium as gym
import pytest

import evaluation
from evaluation.cli.lists import make_world
from evaluation.specs import ProtocolError, UnknownWorldError, WorldSpec, look_for, module_of
from tests.errors import raises

WORLD = '''
from dataclasses import dataclass

import numpy as np

from periodic_envs import FiniteProcess, PublicInfo, World, register_world
from {name}_tools import PERIOD


@register_world("PeriodicGP-{name}-v0", horizon=12, noise_std=0.1)
@dataclass(frozen=True, kw_only=True)
class Pier(World):
    """Three places on a pier."""

    @property
    def public(self):
        return PublicInfo(n_actions=3, dim=1, periods=(PERIOD,))

    def draw(self, rng, horizon):
        hours = np.arange(horizon)[:, None] + rng.uniform(0, PERIOD)
        values = np.cos(2 * np.pi * hours / PERIOD + np.arange(3))
        return FiniteProcess(values=values, rows=np.arange(horizon), period=PERIOD)
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A current folder; its modules and worlds are removed after the test."""
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules), set(gym.registry), sys.path[:]
    yield tmp_path
    sys.path[:] = before[2]
    for name in set(sys.modules) - before[0]:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    for env_id in set(gym.registry) - before[1]:
        del gym.registry[env_id]


def write_world(folder: Path, name: str) -> str:
    """Write a world and a module that it imports; return the name of the world."""
    (folder / f"{name}_tools.py").write_text("PERIOD = 4.0\n")
    (folder / f"{name}.py").write_text(WORLD.format(name=name))
    return f"{name}:PeriodicGP-{name}-v0"


def protocol(folder: Path, world: str, agents: str = '"random"') -> str:
    text = f'envs = ["{world}"]\nagents = [{agents}]\nseeds = "0:2"\n'
    (folder / "own.toml").write_text(text)
    return str(folder / "own.toml")


def test_own_world_gives_the_same_numbers_in_a_worker(folder: Path) -> None:
    toml = protocol(folder, write_world(folder, "pier_a"))
    worker, here = (evaluation.run(toml, workers=workers) for workers in (1, 0))
    assert worker.failures == []
    assert worker.totals["regret"].tolist() == here.totals["regret"].tolist()
    assert sys.path[-1] == str(folder)  # last: nothing there comes before what is installed


def test_own_world_imported_by_a_script_is_found(folder: Path) -> None:
    write_world(folder, "pier_b")
    script = (
        "import pier_b, evaluation\n"
        "if __name__ == '__main__':\n"
        "    results = evaluation.run('own.toml', workers=1)\n"
        "    print(len(results.failures), len(results.runs))\n"
    )
    protocol(folder, "PeriodicGP-pier_b-v0")
    (folder / "script.py").write_text(script)
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True)
    assert done.stdout.split() == ["0", "4"], done.stderr


def test_own_world_of_a_script_needs_one_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = write_world(folder, "pier_c")
    look_for(WorldSpec.parse(world))
    gym.registry["PeriodicGP-pier_c-v0"].kwargs["world"] = "__main__:Pier"
    monkeypatch.setattr(sys.modules["__main__"], "Pier", sys.modules["pier_c"].Pier, raising=False)
    toml = protocol(folder, "PeriodicGP-pier_c-v0")
    with raises(ProtocolError, "not-importable"):
        evaluation.run(toml, workers=1)
    assert evaluation.run(toml, workers=0).failures == []


def test_own_world_knows_its_module(folder: Path) -> None:
    north = folder / "harbours" / "north"
    north.mkdir(parents=True)
    write_world(north, "pier_d")
    code = (north / "pier_d.py").read_text()
    (north / "pier_d.py").write_text(code.replace("from pier_d", "from harbours.north.pier_d"))
    spec = WorldSpec.parse("harbours.north.pier_d:PeriodicGP-pier_d-v0")
    look_for(spec)
    others = WorldSpec("PeriodicGP-Synthetic-v0"), WorldSpec("Nobody-v0")
    assert [module_of(each) for each in (spec, *others)] == ["harbours.north.pier_d", "", ""]


@pytest.mark.parametrize(
    ("world", "code"),
    [
        ("peer:PeriodicGP-Pier-v0", "missing-package"),
        ("pier.py:PeriodicGP-Pier-v0", "not-a-module"),
        ("PeriodicGP-Pier-v0", "unknown-environment"),
        ("broken:PeriodicGP-Pier-v0", "cannot-import"),
        ("needy:PeriodicGP-Pier-v0", "cannot-import"),
    ],
)
def test_own_world_reports_import_errors(folder: Path, world: str, code: str) -> None:
    (folder / "broken.py").write_text("1 / 0\n")
    (folder / "needy.py").write_text("import nowhere_at_all\n")
    with raises(UnknownWorldError, code):
        make_world(world)
    with raises(ProtocolError, code):
        evaluation.run(protocol(folder, world), workers=0)


def test_world_spec_imports_nothing(folder: Path) -> None:
    (folder / "trap.py").write_text("raise SystemExit('imported')\n")
    with raises(UnknownWorldError, "unknown-environment"):
        WorldSpec.parse("trap:PeriodicGP-Trap-v0").make()
    assert str(folder) not in sys.path


def test_run_warns_of_failures(folder: Path) -> None:
    (folder / "lazy.py").write_text(
        "class Lazy:\n"
        "    def __init__(self, problem, rng):\n"
        "        raise RuntimeError('too tired')\n"
        "    act = update = None\n"
    )
    toml = protocol(folder, "PeriodicGP-SyntheticDiscrete-v0:horizon=5", '"lazy.py:Lazy"')
    with pytest.warns(UserWarning, match=r"2 of 4 .* RuntimeError"):
        evaluation.run(toml, workers=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluation.run(toml, workers=0, on_progress=lambda progress: None)
