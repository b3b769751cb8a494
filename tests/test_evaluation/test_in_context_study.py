"""The study of the learner in context: its page says what its runs say."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agents import AgentSpec
from evaluation.protocol.protocol import Protocol
from evaluation.studies import in_context
from evaluation.studies.stamp import stamps_in


def small() -> Protocol:
    """Two seeds of short lives, and nobody is trained."""
    whole = Protocol.load("in-context")
    agents = [
        replace(agent, training_steps=0, envs=(), spec=AgentSpec("random"))
        if agent.training_steps
        else replace(agent, envs=())
        for agent in whole.agents
        if agent.label not in ("gp-ucb", "linucb")
    ]
    return replace(
        whole, envs=whole.envs[:3] + whole.envs[6:7], agents=tuple(agents), seeds=(0, 1), horizon=8
    )


def test_the_page_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = small()
    monkeypatch.setattr(in_context.Protocol, "load", lambda name: asked)
    monkeypatch.setattr(in_context, "WIDTHS", (0.0, 1.0))
    monkeypatch.setattr(in_context, "WIDTH_SEEDS", "1000:1002")
    store = ["--store", str(tmp_path / "s.sqlite"), "--workers", "0"]
    in_context.main([*store, "--docs", str(tmp_path)])
    page = (tmp_path / "in-context.md").read_text()
    assert page.count("| in-context-ucb |") == 4
    assert "### Switching, 20 arms" in page
    assert "- RideShare: " in page
    (stamp,) = stamps_in(page)
    assert {"in-context-ucb", "auto-gp-ucb", "periodic-gp-ucb"} <= set(stamp.code["agents"])
    numbers = json.loads((tmp_path / "in-context.json").read_text())
    mean = numbers["PeriodicGP-MadridSim-v0"]["in-context-ucb"]
    (row,) = (
        line
        for line in page.partition("### MadridSim")[2].partition("### ")[0].splitlines()
        if line.startswith("| in-context-ucb |")
    )
    assert row.split("|")[2].split()[0] == f"{mean:,.1f}"


def test_no_run_of_the_protocol_needs_what_its_world_lacks() -> None:
    """Every agent of the protocol can be made for every world that it takes part in."""
    from evaluation.running.play import agent_generator, problem_of

    protocol = Protocol.load("in-context")
    for env in protocol.envs:
        world = env.spec.make()
        problem = problem_of(world, world.reset(seed=0)[1])
        for agent in protocol.agents:
            if agent.takes_part(env.label) and agent.spec.name != "recurrent-ppo":
                agent.spec.make(problem, agent_generator(0))
