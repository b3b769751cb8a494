"""Agents that take arms only, or boxes only, run and ranked in some tasks."""

from pathlib import Path

import pytest

import evaluation
from evaluation.entries import checked_agents, taken_by
from evaluation.leaderboard.bundle import BundleError
from evaluation.leaderboard.submission import submit
from evaluation.page.content import store_content
from evaluation.protocol import Protocol
from evaluation.results import load
from evaluation.specs import ProtocolError
from evaluation.tables import remarks
from tests.console import error_of
from tests.errors import raises

ARMS = "PeriodicGP-SyntheticDiscrete-v0"
BOX = "PeriodicGP-Synthetic-v0"
CODE = """
class Base:
    takes = "arms"

    def __init__(self, problem, rng): ...
    def act(self, observation): ...
    def update(self, observation, action, reward): ...


class Inherits(Base):
    pass


class Boxes(Base):
    takes: str = "box"


class Both(Base):
    takes = None
"""
AGENT = """
class ArmsOnly:
    takes = "arms"

    def __init__(self, problem, rng):
        self.n = problem.n_actions
        assert self.n is not None

    def act(self, observation):
        return int(observation[0]) % self.n

    def update(self, observation, action, reward):
        pass
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    path.write_text(CODE)
    return path


def test_agents_declare_their_actions(code: Path) -> None:
    taken = {name: taken_by(f"{code}:{name}") for name in ("Base", "Inherits", "Boxes", "Both")}
    assert taken == {"Base": "arms", "Inherits": "arms", "Boxes": "box", "Both": None}
    assert taken_by("gp-ucb") is None


def test_protocol_is_restricted_to_fitting_worlds(code: Path) -> None:
    protocol = Protocol.from_dict({"envs": [ARMS], "agents": ["random", f"{code}:Base"]})
    assert checked_agents(protocol, trusted=True) is protocol
    both = Protocol.from_dict({"envs": [ARMS, BOX], "agents": ["random", f"{code}:Base"]})
    assert [entry.envs for entry in checked_agents(both, trusted=True).agents] == [(), (ARMS,)]
    with raises(ProtocolError, "unsupported-environment"):
        checked_agents(
            Protocol.from_dict({"envs": [ARMS], "agents": [f"{code}:Boxes"]}), trusted=True
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kinds")
    (path / "mine.py").write_text(AGENT)
    evaluation.run(
        "smoke",
        agents=[f"{path}/mine.py:ArmsOnly", "random", "fixed"],
        envs=[ARMS, BOX, "PeriodicGP-RideShare-v0"],
        seeds="0:2",
        workers=0,
        store=path / "r.sqlite",
    )
    return path


def test_results_rank_agents_in_all_tasks_only(folder: Path) -> None:
    results = load(folder / "r.sqlite")
    arms_only, rideshare = f"{folder}/mine.py:ArmsOnly", "PeriodicGP-RideShare-v0"
    assert results.failures == []
    assert set(results.overall()["agent"]) == {"random", "fixed"}
    unranked, _ = remarks(results)
    assert [name in unranked for name in (arms_only, BOX, ARMS)] == [True, True, False]
    some = results.select(envs=[ARMS, rideshare])
    assert set(some.overall()["agent"]) == {arms_only, "random", "fixed"}
    assert list(remarks(some)) == []
    assert len(list(remarks(results.select(agents=[arms_only])))) == 2
    (board,) = store_content(results)["boards"]
    assert [row["rank"] for row in board["rows"]] == [1, 2, None]
    assert unranked in store_content(results)["remarks"]


def test_results_name_failing_agents_without_a_rank(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AGENT.replace('takes = "arms"', "pass"))
    arms_only = f"{tmp_path}/mine.py:ArmsOnly"
    results = evaluation.run(
        "smoke", agents=[arms_only, "random"], envs=[ARMS, BOX], seeds="0:1", workers=0
    )
    assert any(arms_only in remark and BOX in remark for remark in remarks(results))


def test_submit_rejects_an_agent_of_some_worlds(folder: Path, tmp_path: Path) -> None:
    entry = Protocol.from_dict({"envs": [ARMS], "agents": [f"{folder}/mine.py:ArmsOnly"]}).agents[0]
    both = Protocol.from_dict({"envs": [ARMS, BOX], "agents": ["random"], "seeds": "0:1"})
    with raises(BundleError, "unsupported-environment"):
        submit(entry, both, tmp_path / "bundle", authors=["A"])
    assert list(tmp_path.iterdir()) == []


def test_play_rejects_an_agent_of_other_actions(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AGENT)
    agent = f"{tmp_path / 'mine.py'}:ArmsOnly"
    assert error_of("play", BOX, agent, cwd=tmp_path) == "unsupported-environment"
