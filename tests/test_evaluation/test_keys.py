"""Key of a result: changes with everything that the result depends on."""

from dataclasses import replace
from pathlib import Path

import pytest

from agents.registry import UnknownAgentError
from evaluation import keys
from evaluation.keys import agent_code, agent_files
from evaluation.limits import Limits
from evaluation.protocol import Protocol
from evaluation.runs import Run, runs_of
from tests.errors import raises

WORLD = "PeriodicGP-SyntheticDiscrete-v0"


def first_run(**change: object) -> Run:
    table = {"envs": [WORLD], "agents": ["ucb1"], "seeds": "0:1", "horizon": 5, **change}
    return next(run for run in runs_of(Protocol.from_dict(table)) if run.agent_spec is not None)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch):
    """Clear the cached hash of our code before and after the test."""
    keys.our_code.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    keys.our_code.cache_clear()


def test_key_depends_on_the_run() -> None:
    changes = [
        {},
        {"agents": ["random"]},
        {"agents": ["exp3-s:c=2"]},
        {"envs": ["PeriodicGP-RideShare-v0"]},
        {"seeds": "1:2"},
        {"horizon": 6},
        {"agents": [{"name": "ucb1", "track": "pretrained"}]},
    ]
    assert len({first_run(**change).key for change in changes}) == len(changes)
    same = [{"limits": {"seconds": 1.0}}, {"agents": [{"name": "ucb1", "label": "other"}]}]
    assert {first_run(**change).key for change in same} == {first_run().key}
    assert replace(first_run(), limits=Limits()).key == first_run().key


@pytest.mark.parametrize("package", ["agents", "periodic_envs", "numpy", "scipy", "periodic-gp"])
def test_key_depends_on_our_code_and_versions(fresh, package: str) -> None:
    before = first_run()
    files_in, version_of = keys.files_in, keys.version_of
    if package in keys.OURS:
        fresh.setattr(keys, "files_in", lambda f: [*files_in(f), *[__file__] * f.endswith(package)])
    else:
        fresh.setattr(keys, "version_of", lambda n: "99" if n == package else version_of(n))
    keys.our_code.cache_clear()
    assert first_run().key != before.key


def test_key_depends_on_libraries_of_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: agent_code(name) for name in ("ppo", "gp-ucb")}
    monkeypatch.setattr(keys, "version_of", lambda name: "99")
    assert agent_code("ppo") != before["ppo"]
    assert agent_code("gp-ucb") == before["gp-ucb"]


def test_key_depends_on_the_whole_package_of_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "keyed_package"
    (package / "deep").mkdir(parents=True)
    files = [package / "__init__.py", package / "deep" / "mine.py", package / "table.csv"]
    for file in files:
        file.write_text("raise SystemExit('imported')\n")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "mine.pyc").touch()
    monkeypatch.syspath_prepend(tmp_path)
    name = "keyed_package.deep.mine:Agent"
    assert sorted(agent_files(name)) == sorted(map(str, files))
    before = agent_code(name)
    for file in files:
        file.write_text(file.read_text() + "# changed\n")
        assert agent_code(name) != before
        before = agent_code(name)
    assert agent_files(f"{files[1]}:Agent") == [str(files[1])]
    assert agent_files("gp-ucb") == []
    with raises(UnknownAgentError, "missing-package"):
        agent_files("no_such_module:Agent")
