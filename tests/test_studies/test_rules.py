"""Defaults that are rules: the number that stands for each, and that it is the right one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from agents.base import Problem
from agents.registry import AgentSpec
from evaluation.play import play, problem_of
from evaluation.specs import WorldSpec
from studies.sensitivity.variants import IDLE, TOLD, WITH_MEAN, is_idle
from studies.zoo.families import sweep_agents
from studies.zoo.rules import RULES, defaults_of, is_ruled, ruled

STEPS, SEED = 120, 5
FEWER = {"noise_variance": 40, "prior_scale": 40}
"""Steps for settings of agents that take longer, and differ early."""
WORLDS = ("PeriodicGP-Synthetic-v0", "PeriodicGP-RideShare-v0")
"""A box that tells its noise, and arms that do not."""
RULED = [
    (agent, setting)
    for agent in sweep_agents()
    for setting in defaults_of(AgentSpec.parse(agent).name)
    if is_ruled(AgentSpec.parse(agent).name, setting) and setting not in WITH_MEAN.values()
]


def problem_in(world: str, steps: int = STEPS) -> Problem:
    env = WorldSpec(world, {"horizon": steps}).make()
    return problem_of(env, env.reset(seed=SEED)[1])


def actions(spec: AgentSpec, world: str, steps: int = STEPS) -> np.ndarray:
    return play(WorldSpec(world, {"horizon": steps}).make(), spec, SEED).action


@pytest.mark.parametrize(("agent", "setting"), RULED)
def test_the_number_of_a_rule_changes_nothing(agent: str, setting: str) -> None:
    """Who is given the number that it would have found does what it would have done."""
    spec, steps, given = AgentSpec.parse(agent), FEWER.get(setting, STEPS), 0
    for world in WORLDS:
        problem = problem_in(world, steps)
        number = ruled(agent, setting, problem)
        if number is None:
            continue
        others = [WITH_MEAN[setting]] if setting in WITH_MEAN else []
        more = {other: ruled(agent, other, problem) for other in others}
        found = AgentSpec(spec.name, {**spec.settings, **more, setting: number})
        same = np.array_equal(actions(found, world, steps), actions(spec, world, steps))
        assert same, (world, number)
        given += 1
    assert given, "the rule gives a number nowhere"


def test_the_settings_that_matter_have_rules() -> None:
    found: dict[str, set[str]] = {}
    for agent, setting in RULED:
        found.setdefault(setting, set()).add(agent)
    assert {"sw-ucb", "sw-ts", "sw-gp-ucb", "sw-linucb"} <= found["window"]
    assert {"d-ucb", "wgp-ucb", "periodic-exp4"} == found["gamma"]
    assert found["discount"] == {"d-linucb"}
    assert found["switches"] == {"exp3-s"}
    assert {"glr-ucb", "sw-linucb", "fourier-linucb"} <= found["delta"]
    assert {"thompson", "kl-ucb", "phase-ucb", "phase-ts", "ucb-air"} <= found["scale"]
    assert {"gp-ucb", "periodic-gp-ucb", "w-dbo"} <= found["noise_variance"]
    assert "auto-gp-ucb" in found["beta"]
    assert {*found, *WITH_MEAN.values()} == set(RULES)


def test_what_is_none_is_a_rule_or_left_for_a_reason() -> None:
    """A new setting whose default is None has to be thought of here."""
    reasons = {*TOLD, *WITH_MEAN.values(), "context_length_scale", "restart_on", "prior"}
    for agent in sweep_agents():
        name = AgentSpec.parse(agent).name
        for setting, value in defaults_of(name).items():
            if value in (None, "formula"):
                known = is_ruled(name, setting) or is_idle(setting, name) or setting in reasons
                assert known, (agent, setting)


def test_where_rewards_set_the_scale_there_is_no_number() -> None:
    problem = problem_in(WORLDS[1])
    assert ruled("thompson", "scale", problem) is None
    assert ruled("gp-ucb", "prior_scale", problem) is None
    assert ruled("gp-ucb", "noise_variance", problem) == 0.5
    assert ruled("auto-gp-ucb", "beta", problem) == "steady"
    assert ruled("auto-gp-ucb", "beta", problem_in(WORLDS[0])) == "paper"
    assert ruled("sw-ucb", "window", problem) == math.ceil(4 * math.sqrt(120 * math.log(120)))
    assert ruled("ucb1", "xi", problem) is None


def test_a_subclass_has_its_own_default() -> None:
    assert defaults_of("fourier-linucb")["regulariser"] == 1.0
    assert defaults_of("d-linucb")["delta"] == defaults_of("dlinucb-pool")["delta"] == 0.01
    assert defaults_of("sw-linucb")["delta"] is None
    assert "model" not in defaults_of("gp-ucb")


@pytest.mark.parametrize(
    ("setting", "agent"),
    [(setting, agent) for setting, agents in IDLE.items() for agent in agents or ("gp-ucb",)],
)
def test_settings_without_effect_have_none(setting: str, agent: str) -> None:
    value = {"beta": "paper*3", "nu": 1.5, "eps": 0.3, "window": 7}.get(setting, 3.0)
    for world in WORLDS:
        changed = actions(AgentSpec(agent, {setting: value}), world)
        assert np.array_equal(changed, actions(AgentSpec(agent), world)), world
