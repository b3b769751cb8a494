"""Agents that take arms only, or boxes only: left out, said so, and ranked apart."""

import json
from pathlib import Path

import pytest

import evaluation
from evaluation.entries import checked_agents, taken_by
from evaluation.leaderboard.bundle import BundleError
from evaluation.leaderboard.submit import submit
from evaluation.page.content import store_content
from evaluation.protocol import Protocol
from evaluation.results import Results, load
from evaluation.specs import ProtocolError
from evaluation.tables import parts, rankings, remarks, tasks_of
from tests.test_evaluation.test_cli import call

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


class Odd(Base):
    takes = "planes"
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


def test_classes_name_the_actions_that_they_take(code: Path) -> None:
    found = {name: taken_by(f"{code}:{name}") for name in ("Base", "Inherits", "Boxes", "Both")}
    assert found == {"Base": "arms", "Inherits": "arms", "Boxes": "box", "Both": None}
    assert taken_by("gp-ucb") is None
    with pytest.raises(ProtocolError, match='has takes = \'planes\'; write "arms" or "box"'):
        taken_by(f"{code}:Odd")


def test_a_protocol_that_fits_is_left_as_it_is(code: Path) -> None:
    protocol = Protocol.from_dict({"envs": [ARMS], "agents": ["random", f"{code}:Base"]})
    assert checked_agents(protocol, trusted=True) is protocol
    both = Protocol.from_dict({"envs": [ARMS, BOX], "agents": ["random", f"{code}:Base"]})
    assert [entry.envs for entry in checked_agents(both, trusted=True).agents] == [(), (ARMS,)]
    with pytest.raises(ProtocolError, match=r"takes boxes .* only, and no world here has any"):
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


def results(folder: Path) -> Results:
    return load(folder / "r.sqlite")


def test_left_out_said_so_and_ranked_apart(folder: Path) -> None:
    found = results(folder)
    mine = f"{folder}/mine.py:ArmsOnly"
    assert found.failures == []
    assert tasks_of(found, "online")[mine] == (ARMS, "PeriodicGP-RideShare-v0")
    over_all, apart = rankings(found)
    assert {row["agent"] for row in over_all.rows} == {"random", "fixed"}
    assert {row["agent"] for row in apart.rows} == {mine, "random", "fixed"}
    assert apart.titles[None].startswith("2 of 3 tasks, in which ")
    ((title, part),) = parts(found, "online")
    assert f"{title} (online)" == apart.titles[None]
    # Its time and scores are of these tasks alone.
    assert set(part.totals["task"]) == {ARMS, "PeriodicGP-RideShare-v0"}
    assert list(remarks(found)) == [f"Left out: {mine} in {BOX}; it is ranked apart."]


def test_commands_and_page_say_it(folder: Path) -> None:
    shown = call("show", "--store", str(folder / "r.sqlite"))
    assert shown.returncode == 0, shown.stderr
    assert "in PeriodicGP-Synthetic-v0; it is ranked apart." in shown.stdout
    assert "2 of 3 tasks" in shown.stdout
    as_json = call("show", "--json", "--store", str(folder / "r.sqlite"))
    (apart,) = json.loads(as_json.stdout)["tracks"]["online"]["apart"]
    assert apart["tasks"] == [ARMS, "PeriodicGP-RideShare-v0"]
    assert len(apart["overall"]) == 3
    content = store_content(results(folder))
    assert [board["id"] for board in content["boards"]] == ["online", "online-1"]
    whole, part = content["boards"]
    assert [row["rank"] for row in whole["rows"]] == [1, 2, None]
    assert sorted(row["rank"] for row in part["rows"]) == [1, 2, 3]
    assert len(part["envs"]) == 2
    assert any("ranked apart" in note for note in content["notes"])


def test_who_fails_is_not_missing_in_silence(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AGENT.replace('takes = "arms"', "pass"))
    mine = f"{tmp_path}/mine.py:ArmsOnly"
    found = evaluation.run(
        "smoke", agents=[mine, "random"], envs=[ARMS, BOX], seeds="0:1", workers=0
    )
    said = f"Not ranked over all tasks: {mine} has not finished any run in {BOX}."
    assert said in remarks(found)


def test_an_agent_for_some_worlds_is_not_submitted_to_all(folder: Path, tmp_path: Path) -> None:
    entry = Protocol.from_dict({"envs": [ARMS], "agents": [f"{folder}/mine.py:ArmsOnly"]}).agents[0]
    both = Protocol.from_dict({"envs": [ARMS, BOX], "agents": ["random"], "seeds": "0:1"})
    with pytest.raises(BundleError, match=f"ArmsOnly does not take the actions of {BOX}"):
        submit(entry, both, tmp_path / "bundle", authors=["A"])
    assert list(tmp_path.iterdir()) == []


def test_play_says_what_an_agent_takes(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AGENT)
    done = call("play", BOX, f"{tmp_path / 'mine.py'}:ArmsOnly")
    assert done.returncode == 1
    assert f"ArmsOnly takes arms only, unlike {BOX}" in done.stderr
