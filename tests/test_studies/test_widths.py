"""How widely agents explore: who has a width, from which grids it is chosen, and what is told."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from agents.registry import AgentSpec
from evaluation.protocol import Protocol
from evaluation.store import Store
from studies.lab import Lab
from studies.stale import changes
from studies.stamp import Stamp
from studies.zoo.by_world import problems_of
from studies.zoo.controls import Controls, by_theorem
from studies.zoo.controls_text import controls_parts
from studies.zoo.families import LOCAL, short_name, sweep_agents
from studies.zoo.widths import (
    FACTORS,
    GRID,
    LEFT_OUT,
    LOWER_GRID,
    SEEDS,
    agents_with_width,
    at_edge,
    choose,
    chosen,
    names_of,
    tried,
    unfinished,
    with_width,
    written,
)
from studies.zoo.widths import main as search_widths
from tests.test_studies.test_zoo_page import WORLDS, widths_bench


def test_widths_are_changed_by_one_grid() -> None:
    assert with_width("d-ucb", 0.5) == "d-ucb:xi=0.15"  # a width grows with the root of xi
    assert with_width("linucb", 3.0) == "linucb:width=3.0"
    assert with_width("ramanujan-ucb", 2.0) == "ramanujan-ucb:bonus=4.0"
    assert with_width(LOCAL, 0.1) == f"{LOCAL},beta=paper*0.1"
    assert with_width(LOCAL, 1.0) == LOCAL
    assert with_width("sw-ts", 0.5) == "sw-ts:gamma=1.0"  # a precision: a width to the power -2
    assert with_width("adswitch", 0.1) == "adswitch:c=0.01"
    assert with_width("glr-ucb", 0.1) == "glr-ucb:exploration=0.1"
    assert by_theorem(LOCAL) == f"{LOCAL},beta=theorem"
    assert by_theorem("ucb1") is by_theorem("auto-gp-ucb") is by_theorem("gp-thompson") is None
    assert choose({"a": {0.1: 0.5, 1.0: 0.5, 3.0: 0.6}, "b": {0.1: 0.4, 1.0: 0.5}}) == {
        "a": 1.0,
        "b": 0.1,
    }


def test_everybody_has_a_width_or_a_reason() -> None:
    left = [agent for agent in sweep_agents() if with_width(agent, 1.0) is None]
    assert set(left) == set(LEFT_OUT)
    assert {"kl-ucb", "thompson", "phase-ucb", "phase-ts", "master"} <= set(agents_with_width())
    for agent in agents_with_width():
        assert with_width(agent, 1.0) == agent
        names = {with_width(agent, factor) for factor in FACTORS}
        assert len(names - {None}) == len(FACTORS), agent


def test_a_width_that_follows_from_the_world_is_scaled_there() -> None:
    assert with_width("thompson", 0.3) == "thompson:scale*0.3"
    assert with_width("auto-gp-ucb", 0.3) == "auto-gp-ucb:beta*0.3"
    protocol = Protocol.load("standard").restricted(seeds=[1000])
    problems = problems_of(protocol, Lab(None, Store(), workers=0))
    names = names_of({"thompson": [0.3], "auto-gp-ucb": [0.3, 1.0], "ucb1": [0.1]}, problems)
    assert list(names) == [
        *("thompson:scale*0.3", "auto-gp-ucb:beta*0.3", "auto-gp-ucb", "ucb1:xi=0.02")
    ]
    untold = [world for world, (problem,) in problems.items() if problem.noise_std is None]
    assert list(map(short_name, untold)) == ["RideShare", "MadridSim"]  # as the page says
    for world in WORLDS:
        noise = "thompson" if world in untold else "thompson:scale=0.3"
        schedule = "steady" if world in untold else "paper"
        assert names["thompson:scale*0.3"][world] == noise
        assert names["auto-gp-ucb:beta*0.3"][world] == f"auto-gp-ucb:beta={schedule}*0.3"
        assert names["ucb1:xi=0.02"][world] == "ucb1:xi=0.02"


def test_what_was_chosen_is_of_the_search() -> None:
    """By the regret that is written beside it; what the search has not done yet is told."""
    found = written()
    assert set(found["chosen"]) == set(found["regret"]) == set(chosen())
    assert set(found["chosen"]) <= set(agents_with_width())
    assert (tuple(found["grid"]), found["seeds"]) == (GRID, SEEDS)
    assert all(set(means) <= set(FACTORS) for means in tried().values())
    assert choose(tried()) == found["chosen"]
    told = " ".join(unfinished())
    assert all(agent in told for agent in agents_with_width() if agent not in found["chosen"])
    assert set(found["stamp"]["code"]) == {"agents", "worlds", "runner"}
    names = {AgentSpec.parse(agent).name for agent in found["chosen"]}
    assert set(found["stamp"]["code"]["agents"]) == names


def searched(monkeypatch: pytest.MonkeyPatch, means: dict[str, dict[float, float]]) -> None:
    """A search that has found given regrets."""
    content = {"chosen": choose(means), "regret": means}
    monkeypatch.setattr("studies.zoo.widths.written", lambda: content)


def test_whoever_is_at_the_edge_of_the_grid_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = {factor: 0.5 + 0.01 * abs(factor - 1.0) for factor in FACTORS}
    means = {agent: dict(flat) for agent in agents_with_width()}
    means["linucb"] |= {0.1: 0.2, 0.03: 0.1}
    means["ucb1"] |= {0.1: 0.3, 0.01: 0.1}
    means["gp-ucb"][3.0] = 0.1
    searched(monkeypatch, means)
    assert set(at_edge()) == {"linucb", "ucb1", "gp-ucb"}
    assert chosen()["linucb"] == "linucb:width=0.03"
    assert unfinished() == []
    quiet = {world: [0] for world in WORLDS}
    text = "\n".join(controls_parts(Controls(widths_bench({}), None, quiet)))
    assert "3 of 39 agents have their best of these at an end" in text
    assert "\n| linucb | width=0.03, *edge* |" in text
    assert "\n| gp-ucb | beta=paper*3, *edge* |" in text
    assert "\n| lints | as it is |" in text
    assert "At the lowest of all are `ucb1`:" in text
    assert "a second one of 0.01, 0.03" in text
    assert "not finished" not in text
    for agent in LEFT_OUT:
        assert f"`{agent}`, which " in text
    searched(monkeypatch, dict.fromkeys(agents_with_width(), flat))
    quiet_text = "\n".join(controls_parts(Controls(widths_bench({}), None, quiet)))
    assert "*edge*" not in quiet_text
    assert "Nobody has the best of these at an end" in quiet_text


def test_what_is_not_searched_yet_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [agent for agent in agents_with_width() if agent not in ("thompson", "kl-ucb")]
    searched(monkeypatch, {a: {f: f for f in FACTORS if f != 0.03} for a in some})
    assert unfinished() == [
        "the widths of kl-ucb, thompson are not chosen yet",
        "the factors 0.03 have not been tried with all agents",
    ]
    quiet = {world: [0] for world in WORLDS}
    text = "\n".join(controls_parts(Controls(widths_bench({}), None, quiet)))
    assert "**The search is not finished:** the widths of kl-ucb, thompson are" in text
    assert "\n| thompson |" not in text


def test_widths_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    short = Protocol.load("standard").restricted(envs=[WORLDS[0], WORLDS[1]])
    monkeypatch.setattr(Protocol, "load", lambda name: replace(short, horizon=25))
    monkeypatch.setattr("studies.zoo.widths.CHOSEN", tmp_path / "widths.json")
    words = ["--seeds", "1000:1002", "--store", str(tmp_path / "s.sqlite"), "--workers", "0"]
    search_widths([*words, "--agents", "ucb1", "thompson", "--write"])
    content = json.loads((tmp_path / "widths.json").read_text())
    assert content["lower_grid"] == list(LOWER_GRID)
    assert set(content["chosen"]) == {"ucb1", "thompson"}
    assert set(content["chosen"].values()) <= set(FACTORS)
    assert {len(means) for means in content["regret"].values()} == {len(FACTORS)}
    assert len(set(content["regret"]["thompson"].values())) > 1
    assert capsys.readouterr().out.count("*") == 2
    stamp = msgspec.convert(content["stamp"], Stamp)
    assert list(stamp.code["agents"]) == ["thompson", "ucb1"]
    assert list(changes(stamp)) == []
    assert stamp.command == "python -m studies.zoo.widths --write"
    with pytest.raises(SystemExit):
        search_widths([*words, "--agents", "random"])
    assert "random has no width" in capsys.readouterr().err
