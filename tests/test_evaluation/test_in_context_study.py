"""The study of the learner in context: its page says what its runs say."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from agents import AgentSpec
from agents.registry import find_class
from evaluation.protocol.protocol import Protocol
from evaluation.studies.comparison import Comparison
from evaluation.studies.in_context import study as in_context
from evaluation.studies.in_context import words
from evaluation.studies.in_context.words import AGENT, AUTO, KNOWN, LOCAL, PAPER, PPO, TUNED
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
    assert "- Against `periodic-gp-ucb, l = 10`: in the worlds that its prior is meant for" in page
    assert "| periodic-gp-ucb, l = 1, width chosen |" in page
    assert "| periodic-gp-ucb |" not in page
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


# --- the conclusions -----------------------------------------------------------------------------

WORLDS = (*KNOWN, words.HIDDEN, words.WRONG, "Switching, 20 arms", words.LONG)
USUAL = {
    **{AGENT: 1.0, AUTO: 1.0, LOCAL: 1.0, PAPER: 1.0, "gp-ucb": 1.0, "linucb": 1.0, "random": 1.0},
    **{TUNED: 1.0, PPO: 1.0, f"linucb{words.CHOSEN}": 1.0},
}


def made_up(**changes: dict[str, float]) -> str:
    """Conclusions of twenty runs of each agent, all alike but for what is changed in a world."""
    rng, found = np.random.default_rng(0), {}
    for world in WORLDS:
        means = {**USUAL, **changes.get("everywhere", {}), **changes.get(words.short(world), {})}
        noise = rng.normal(0.0, 0.05, (20, len(means)))
        found[world] = Comparison(pd.DataFrame(100.0 * (np.array([*means.values()]) + noise)))
        found[world].regret.columns = list(means)
    ms = {AGENT: 6.0, AUTO: 2.0, LOCAL: 0.5, PAPER: 0.5}
    return words.conclusions(found, ms)


def line(text: str, start: str) -> str:
    """The one line that begins so."""
    (found,) = (each for each in text.splitlines() if each.startswith(f"- {start}"))
    return found


NAMES = "SyntheticDiscrete and RideShare and MadridSim"


@pytest.mark.parametrize("rival", [AUTO, LOCAL, PAPER])
def test_conclusions_against_rivals_go_both_ways(rival: str) -> None:
    start = f"Against `{rival}`:"
    same = line(made_up(), start)
    assert f"less regret in none, more in none, not told apart in {NAMES};" in same
    better = line(made_up(everywhere={rival: 2.0}), start)
    assert f"less regret in {NAMES}, more in none, not told apart in none;" in better
    worse = line(made_up(everywhere={rival: 0.5}, RideShare={rival: 2.0}), start)
    assert "less regret in RideShare, more in SyntheticDiscrete and MadridSim, " in worse


def test_a_rival_with_its_width_chosen_has_a_sentence_of_its_own() -> None:
    rival = f"linucb{words.CHOSEN}"
    start = "With the width of that rival chosen on other seeds, too:"
    for mean, word in ((2.0, "has less regret"), (0.5, "has more regret")):
        said = line(made_up(everywhere={rival: mean}), start)
        assert said.count(f"it {word} than `{rival}`") == 3
    assert line(made_up(), start).count("it is not told apart from") == 3


def test_what_a_wrong_and_a_hidden_period_cost_is_computed() -> None:
    text = made_up(
        **{words.WRONG: {AGENT: 3.0, LOCAL: 0.5}, words.HIDDEN: {AGENT: 2.0, "gp-ucb": 4.0}}
    )
    assert " 3.0" in line(text, "A wrong period").split(f" for `{AGENT}`")[0]
    assert " 0.5" in line(text, "A wrong period").split(f" for `{LOCAL}`")[0]
    assert "by 2.0" in line(text, "A hidden period")
    start = f"In {words.HIDDEN} `{AGENT}` "
    assert line(text, f"{start}has less regret than `gp-ucb` (0.5")
    assert line(made_up(**{words.HIDDEN: {AGENT: 2.0}}), f"{start}has more regret than `gp-ucb`")
    assert line(made_up(), f"{start}is not told apart from `gp-ucb`")


def test_long_lives_time_tuning_and_ppo_are_judged_by_the_runs() -> None:
    text = made_up(
        **{words.LONG: {AUTO: 0.5, "linucb": 2.0}},
        SyntheticDiscrete={TUNED: 0.5, PPO: 2.0},
        RideShare={TUNED: 2.0, PPO: 0.5},
    )
    long = line(text, f"In {words.LONG} ")
    assert "has more regret than `auto-gp-ucb`" in long
    assert "has less regret than `linucb`" in long
    assert line(text, f"In SyntheticDiscrete `{TUNED}` has less regret than `{AGENT}`")
    assert line(text, f"In RideShare `{TUNED}` has more regret than `{AGENT}`")
    assert line(text, f"In MadridSim `{TUNED}` is not told apart from `{AGENT}`")
    assert line(text, f"In SyntheticDiscrete `{PPO}` has more regret than `random`")
    assert line(text, f"In RideShare `{PPO}` has less regret than `random`")
    assert "6.0 ms: 12.0 times as long as `periodic-gp-ucb, l = 1`" in line(text, "A step takes")
    assert "3.0 times as long as `auto-gp-ucb`" in line(text, "A step takes")


def test_no_verdict_stands_in_the_text_by_itself() -> None:
    """Outside the sentences that are computed, nobody is called better or worse."""
    for word in ("ahead", "behind", "match", "beats", "fails", "the paper's method"):
        assert word not in in_context.TEXT


def test_the_labels_say_which_length_scale() -> None:
    protocol = Protocol.load("in-context")
    settings = {agent.label: agent.spec.settings for agent in protocol.agents}
    assert settings[LOCAL] == {"time_length_scale": 1}
    assert settings[PAPER] == {}
    assert find_class("periodic-gp-ucb").__init__.__kwdefaults__["time_length_scale"] == 10.0
    assert "periodic-gp-ucb" not in settings
    assert [entry.label for entry in protocol.envs][:3] == list(KNOWN)


def test_rivals_have_the_widths_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {
        "linucb": "linucb:width=0.05",
        "gp-ucb": "gp-ucb",
        "periodic-gp-ucb:time_length_scale=1": "periodic-gp-ucb:time_length_scale=1,beta=paper*0.5",
    }
    monkeypatch.setattr(in_context.widths, "chosen", lambda: found)
    whole = Protocol.load("in-context")
    added = in_context.with_chosen_widths(whole, KNOWN).agents[len(whole.agents) :]
    assert [(agent.label, str(agent.spec)) for agent in added] == [
        (f"{LOCAL}{words.CHOSEN}", found["periodic-gp-ucb:time_length_scale=1"]),
        (f"linucb{words.CHOSEN}", "linucb:width=0.05"),
    ]
    assert all(agent.envs == KNOWN for agent in added)
