"""Keys of results change with the code that the results depend on, and with nothing else."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation import keys
from evaluation.keys import agent_source, runner_source, scipy_of, world_source
from evaluation.running import imports
from evaluation.running.statements import statements
from periodic_envs.worlds.switching import Switching
from periodic_envs.worlds.synthetic import Synthetic

AGENTS = ("ucb1", "exp3-s", "gp-ucb", "auto-gp-ucb", "ppo")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our packages elsewhere, to be edited."""
    root = tmp_path_factory.mktemp("root")
    for package in ("agents", "evaluation", "periodic_envs"):
        shutil.copytree(
            keys.ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return root


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    imports.scan_ours.cache_clear()
    keys._hash_of_ours.cache_clear()


def hashes(root: Path) -> dict[str, str]:
    imports.scan_ours.cache_clear()
    keys._hash_of_ours.cache_clear()
    found = {name: agent_source(name, root) for name in AGENTS}
    for world in (Switching, Synthetic):
        found[world.__name__] = world_source(object.__new__(world), root)
    return found | {"runner": runner_source(root)}


GP = {"gp-ucb", "auto-gp-ucb"}
WORLDS = {"Switching", "Synthetic"}


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("agents/testing.py", set()),
        ("agents/zoo/arms/thompson.py", set()),
        ("agents/zoo/arms/exp3.py", {"exp3-s"}),
        ("agents/gp/kernels/base.py", GP),
        ("agents/auto/madrid.json", {"auto-gp-ucb"}),
        ("agents/rl/loop.py", {"ppo"}),
        ("agents/registry.py", {*AGENTS, "runner"}),
        ("periodic_envs/worlds/switching.py", {"Switching"}),
        ("periodic_envs/episode.py", WORLDS),
        ("periodic_envs/rendering.py", set()),
        ("evaluation/play.py", {"runner"}),
        ("evaluation/protocol.py", set()),
        ("evaluation/store.py", set()),
        ("evaluation/statistics/intervals.py", set()),
        ("evaluation/references.py", {"runner"}),
    ],
)
def test_what_a_result_depends_on(copy: Path, file: str, changed: set[str]) -> None:
    before, path = hashes(copy), copy / file
    text = path.read_bytes()
    path.write_bytes(text + b"\nEDITED = True\n")
    try:
        after = hashes(copy)
    finally:
        path.write_bytes(text)
    assert {name for name in before if before[name] != after[name]} == changed


def test_words_about_the_code_do_not_count(copy: Path) -> None:
    before, path = hashes(copy), copy / "agents/gp/kernels/base.py"
    text = path.read_bytes()
    path.write_bytes(b'"""Other words."""\n# a comment\n\n' + text + b'\n"""About nothing."""\n')
    try:
        assert hashes(copy) == before
    finally:
        path.write_bytes(text)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x = 1\n", "# why\nx = 1\n\n\n", True),
        ('def f():\n    """A."""\n    return 1\n', "def f():\n    return 1\n", True),
        ('class A:\n    x: int\n    """One\n\n    # two."""\n', "class A:\n    x: int\n", True),
        ("x = 1\n", "x = 2\n", False),
        ("if a:\n    x = 1\n", "if a:\n    y = 0\n    x = 1\n", False),
        ('x = """\n# one\n"""\n', 'x = """\n# two\n"""\n', False),
        ('x = f"""\n# {one}\n"""\n', 'x = f"""\n# {two}\n"""\n', False),
        ('"""é"""; x = 1\n', '"""é"""; x = 2\n', False),
        ('def f(): "é"\n', 'def g(): "é"\n', False),
    ],
)
def test_statements_are_what_a_file_does(one: str, other: str, same: bool) -> None:
    assert (statements(one) == statements(other)) is same


def test_the_versions_of_libraries_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = hashes(keys.ROOT)
    monkeypatch.setattr(keys, "version_of", lambda library: "99")
    after = hashes(keys.ROOT)
    assert {name for name in before if before[name] != after[name]} == {"ppo"}


def test_the_versions_of_the_libraries_of_somebody_else_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that stand in the agent's own file: another agent's libraries are another matter."""
    package = tmp_path / "somebodys"
    package.mkdir()
    for name in ("__init__", "one", "two"):
        libraries = f'libraries = ("{name}-lib",)' if name != "__init__" else "pass"
        (package / f"{name}.py").write_text(f"class Agent:\n    {libraries}\n")
    monkeypatch.syspath_prepend(tmp_path)
    names = [f"somebodys.{name}:Agent" for name in ("one", "two")]
    before = [agent_source(name) for name in names]
    monkeypatch.setattr(keys, "version_of", lambda library: "9" * (library == "one-lib"))
    one = [agent_source(name) for name in names]
    monkeypatch.setattr(keys, "version_of", lambda library: "8" * (library == "one-lib"))
    other = [agent_source(name) for name in names]
    assert len({before[0], one[0], other[0]}) == 3
    assert one[1] == other[1]


def test_an_agent_of_somebody_else_depends_on_what_it_imports(tmp_path: Path, copy: Path) -> None:
    alone, built = tmp_path / "alone.py", tmp_path / "built.py"
    alone.write_text("class Agent: ...\n")
    built.write_text("from agents.zoo.arms.exp3 import Exp3S\nclass Agent(Exp3S): ...\n")
    names = [f"{alone}:Agent", f"{built}:Agent"]
    before = [agent_source(name, copy) for name in names]
    path = copy / "agents" / "zoo" / "arms" / "exp3.py"
    path.write_bytes(path.read_bytes() + b"\nEDITED = True\n")
    imports.scan_ours.cache_clear()
    after = [agent_source(name, copy) for name in names]
    assert (before[0] == after[0], before[1] == after[1]) == (True, False)
    alone.write_text("class Agent: x = 1\n")
    assert agent_source(names[0], copy) != after[0]


def test_imports_are_followed_however_they_are_written(tmp_path: Path) -> None:
    package = tmp_path / "agents"
    package.mkdir()
    for name in ("__init__", "a", "b", "c", "d", "e", "typed"):
        (package / f"{name}.py").write_text("")
    (package / "a.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from . import b\n"
        "from .c import x\n"
        "import agents.d as d\n"
        "def later():\n    from agents import e\n"
        "if TYPE_CHECKING:\n    from agents import typed\n"
    )
    found = keys.closure([package / "a.py"], tmp_path)
    assert {path.stem for path in found} == {"__init__", "a", "b", "c", "d", "e"}


def test_what_an_agent_needs_of_scipy_is_read_from_its_code(tmp_path: Path) -> None:
    """Also what it imports only where it needs it: a worker imports that once for all runs."""
    assert scipy_of("random") == []
    assert {"scipy.linalg", "scipy.optimize"} <= set(scipy_of("gp-ucb"))
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from agents.zoo.gp.gp_ucb import GPUCB\n"
        "raise SystemExit  # it is not run\n"
        "class Mine(GPUCB):\n    def act(self, o):\n        from scipy.signal import lfilter\n"
        "        from scipy.no_such_part import x\n        import scipy.signal.windows\n"
    )
    assert set(scipy_of(f"{mine}:Mine")) == {"scipy.signal", *scipy_of("gp-ucb")}
