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
from tests.test_evaluation.test_cli import error_of

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
    with pytest.raises(ProtocolError, match=r"supports boxes .* only, and no world has them"):
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
    mine, rideshare = f"{folder}/mine.py:ArmsOnly", "PeriodicGP-RideShare-v0"
    assert results.failures == []
    assert set(results.overall()["agent"]) == {"random", "fixed"}
    named, advice = remarks(results)
    assert named == f"Not ranked over all tasks: {mine}, without a finished run in {BOX}."
    assert "select(envs=[...])" in advice
    some = results.select(envs=[ARMS, rideshare])
    assert set(some.overall()["agent"]) == {mine, "random", "fixed"}
    assert list(remarks(some)) == []
    no_ranking, _ = remarks(results.select(agents=[mine]))
    assert no_ranking.startswith("No agent (online) has finished a run in every task")
    (board,) = store_content(results)["boards"]
    assert [row["rank"] for row in board["rows"]] == [1, 2, None]
    assert named in store_content(results)["remarks"]


def test_results_name_failing_agents_without_a_rank(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AGENT.replace('takes = "arms"', "pass"))
    mine = f"{tmp_path}/mine.py:ArmsOnly"
    results = evaluation.run(
        "smoke", agents=[mine, "random"], envs=[ARMS, BOX], seeds="0:1", workers=0
    )
    assert f"Not ranked over all tasks: {mine}, without a finished run in {BOX}." in remarks(
        results
    )


def test_submit_rejects_an_agent_of_some_worlds(folder: Path, tmp_path: Path) -> None:
    entry = Protocol.from_dict({"envs": [ARMS], "agents": [f"{folder}/mine.py:ArmsOnly"]}).agents[0]
    both = Protocol.from_dict({"envs": [ARMS, BOX], "agents": ["random"], "seeds": "0:1"})
    with pytest.raises(BundleError, match=f"ArmsOnly does not support the actions of {BOX}"):
        submit(entry, both, tmp_path / "bundle", authors=["A"])
    assert list(tmp_path.iterdir()) == []


def test_play_rejects_an_agent_of_other_actions(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AGENT)
    error = error_of("play", BOX, f"{tmp_path / 'mine.py'}:ArmsOnly", cwd=tmp_path)
    assert f"ArmsOnly takes arms only, unlike {BOX}" in error
