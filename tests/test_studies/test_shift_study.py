"""Agents in a world that moves: what they are told reaches them, and the study of what it costs."""

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import pytest

import evaluation
from agents.registry import AgentSpec
from evaluation.play import play
from evaluation.protocol import Protocol
from studies.shift import study, text
from studies.stamp import stamps_in

WORLD = "PeriodicGP-Shift-v0"
RESTARTED = "periodic-gp-ucb:time_length_scale=1,restart_on=changed"


def regret(agent: str, seed: int = 0, **arguments: object) -> float:
    return float(play(gym.make(WORLD, **arguments), AgentSpec.parse(agent), seed).regret.sum())


@pytest.mark.parametrize("agent", ["ucb1", "linucb", "gp-ucb", "phase-ucb", "d-linucb", "random"])
def test_agents_that_do_not_look_choose_the_same_whatever_is_told(agent: str) -> None:
    spec = AgentSpec.parse(agent)
    actions = [
        play(gym.make(WORLD, horizon=60, notify=notify), spec, 2).action.tolist()
        for notify in ("none", "change", "full")
    ]
    assert actions[0] == actions[1] == actions[2]


def test_a_notice_is_used_by_who_listens() -> None:
    plain = regret("periodic-gp-ucb:time_length_scale=1", notify="change")
    told = regret(RESTARTED, notify="change")
    assert regret(RESTARTED, notify="none") == plain
    assert told < 0.8 * plain


def test_who_is_told_the_season_follows_it() -> None:
    """At fixed seeds: the same kernel, in the phase that is told instead of the time."""
    blind = sum(regret("periodic-gp-ucb:time_length_scale=1", s, notify="full") for s in (0, 1))
    told = sum(regret("gp-ucb:context_length_scale=1", s, notify="full") for s in (0, 1))
    assert told < 0.7 * blind


def test_the_protocol_has_every_kind_and_a_delay() -> None:
    worlds = {entry.label: entry.spec.arguments for entry in Protocol.load("shift").envs}
    assert {w.get("change") for w in worlds.values()} >= {"phase", "period", "swap", "amplitude"}
    assert {w.get("notify", "none") for w in worlds.values()} == {"none", "change", "full"}
    assert worlds["phase, 20 steps late"] == {"change": "phase", "delay": 20}
    assert set(worlds) == {study.STILL, *study.KINDS, *study.TOLD}


def test_the_study_writes_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["glr-ucb", "linucb", study.BASE, *study.STANDS_FOR]
    short = replace(Protocol.load("shift").restricted(agents=few), horizon=30)
    monkeypatch.setattr(study.Protocol, "load", lambda name: short)
    monkeypatch.setattr(text, "BLIND", ("glr-ucb",))
    monkeypatch.setattr(text, "SEASONAL", ("linucb", study.BASE))
    given = ["--seeds", "0:2", "--workers", "0", "--store", str(tmp_path / "store.sqlite")]
    study.main([*given, "--docs", str(tmp_path)])
    page = (tmp_path / "shift.md").read_text()
    assert page.count("| glr-ucb |") == 7
    assert page.count("### Still") == page.count("| back 1st | recovery all |") == 1
    assert page.count("| back 1st (still) | recovery all |") == 4
    assert page.count("| restarted when told |") == 1
    assert page.count("\n- ") == 10
    (stamp,) = stamps_in(page)
    assert stamp.command == "python -m studies.shift --docs docs --seeds 0:2"
    assert set(stamp.code["agents"]) == {"glr-ucb", "gp-ucb", "linucb", "periodic-gp-ucb"}
    assert set(stamp.code["worlds"]) == {WORLD}
    assert capsys.readouterr().out.startswith("# Seasons that move")


@pytest.fixture(scope="module")
def moved() -> study.Study:
    """Two agents at a few seeds, of which the first knows the season."""
    few = Protocol.load("shift").restricted(agents=["linucb", "random"], seeds=[0, 1, 2])
    return study.Study(evaluation.run(few, workers=0))


def test_the_still_world_is_measured_where_the_others_change(moved: study.Study) -> None:
    """Until the first change all worlds of a seed are the same; what comes then is not."""
    still = moved.costs[study.STILL]
    for kind in study.KINDS:
        found = moved.costs[kind]
        assert found["linucb"]["before"].tolist() == still["linucb"]["before"].tolist()
        assert found["linucb"]["after_first"].tolist() != still["linucb"]["after_first"].tolist()
    assert still["random"]["recovered"].tolist() == [1.0] * 3


def test_tables_around_changes_have_the_still_world_beside_them(moved: study.Study) -> None:
    shares = {
        task: [
            f"{100 * moved.costs[task]['linucb'][name].mean():.0f} %"
            for name in ("recovered_first", "recovered")
        ]
        for task in (study.STILL, "period")
    }
    assert shares["period"] != shares[study.STILL]
    (row,) = [line for line in moved.around_table("period").splitlines() if "linucb" in line]
    beside = zip(shares["period"], shares[study.STILL], strict=True)
    cells = row.strip("| ").split(" | ")
    assert [cells[4], cells[6]] == [f"{own} ({there})" for own, there in beside]
    (row,) = [line for line in moved.around_table("still").splitlines() if "linucb" in line]
    cells = row.strip("| ").split(" | ")
    assert [cells[4], cells[6]] == shares[study.STILL]
