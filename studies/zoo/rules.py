"""What a setting is where its default is a rule: the number that the rule gives on a problem.

Many defaults are None, "formula" or "auto": a number that follows from the horizon, the noise or
the actions of the world at hand. Agents tell that number, or the function that gives it, where
they have it in public; the few rules that they keep to themselves are written out again, here and
nowhere else. ``tests/test_evaluation/test_rules.py`` gives every agent the number that it would
have found by itself, and sees that it does the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from agents.base import Problem
from agents.registry import AgentSpec, find_class, settings_of
from agents.zoo.arms.arm_agent import arms_of
from agents.zoo.arms.rewards import RewardScale
from agents.zoo.arms.sw_ucb import window_length
from agents.zoo.arms.ucb_air import rarity
from agents.zoo.gp.prior import longest_period, noise_variance_of, scale_of

Rule = Callable[[AgentSpec, Problem], Any]
"""What a setting is for an agent on a problem; None if there is no number before the run."""
SCHEDULES = ("paper", "steady")
"""Schedules of exploration that are defaults of ``beta``, or what its default stands for."""
RULED = (None, "formula", "auto")
"""Defaults that may stand for a rule."""


def defaults_of(name: str) -> dict[str, Any]:
    """Names and defaults of an agent's settings."""
    return settings_of(find_class(name)) or {}


def is_ruled(name: str, setting: str) -> bool:
    """Whether a setting's default is a rule that is known here."""
    return defaults_of(name)[setting] in RULED and _rule(name, setting) is not None


def ruled(agent: str, setting: str, problem: Problem) -> Any:
    """What a rule gives for an agent on a problem: a number or a schedule, or None."""
    spec = AgentSpec.parse(agent)
    rule = _rule(spec.name, setting)
    return None if rule is None else rule(spec, problem)


def _rule(name: str, setting: str) -> Rule | None:
    rules = RULES.get(setting, {})
    return rules.get(name, rules.get(ANYBODY))


def _made(spec: AgentSpec, problem: Problem) -> Any:
    return spec.make(problem, np.random.default_rng(0))


def _told_noise(spec: AgentSpec, problem: Problem) -> float | None:
    """sigma, unless it is learned from the rewards as they come."""
    return RewardScale(problem).sigma or None


def _noise_variance(spec: AgentSpec, problem: Problem) -> float | None:
    scale = scale_of(problem)
    if problem.noise_std is not None and scale is None:
        return None  # ten rewards will set the scale
    return noise_variance_of(problem, scale)


def _prior(attribute: str) -> Rule:
    """Mean or scale of the rewards, unless ten rewards will set it."""

    def rule(spec: AgentSpec, problem: Problem) -> float | None:
        known = scale_of(problem)
        return None if known is None else float(getattr(known, attribute))

    return rule


def _switches(spec: AgentSpec, problem: Problem) -> float:
    """S for which Corollary 8.3 has the gamma of Corollary 8.2, which asks for none."""
    arms = len(arms_of(problem, defaults_of(spec.name)["box_arms"]))
    return math.e - 1.0 - math.e / math.log(arms * problem.likely_horizon)


ANYBODY = "*"
RULES: Mapping[str, Mapping[str, Rule]] = {
    "window": {
        **dict.fromkeys(("sw-ucb", "sw-ts"), lambda spec, problem: window_length(problem, None)),
        "sw-linucb": lambda spec, problem: _made(spec, problem).window,
        "sw-gp-ucb": lambda spec, problem: _made(spec, problem).window,
    },
    "gamma": {
        "d-ucb": lambda spec, problem: 1.0 - 0.25 / math.sqrt(problem.likely_horizon),
        "wgp-ucb": lambda spec, problem: _made(spec, problem).gamma,
        "periodic-exp4": lambda spec, problem: _made(spec, problem).gamma,
    },
    "discount": {"d-linucb": lambda spec, problem: _made(spec, problem).discount},
    "switches": {"exp3-s": _switches},
    "delta": {
        "glr-ucb": lambda spec, problem: 1.0 / math.sqrt(problem.likely_horizon),
        ANYBODY: lambda spec, problem: _made(spec, problem).delta,
    },
    "beta": {
        **dict.fromkeys(("siri", "ucb-air"), lambda spec, problem: rarity(problem, None)),
        "auto-gp-ucb": lambda spec, problem: SCHEDULES[problem.reward_scale is None],
    },
    "stage_one": {ANYBODY: lambda spec, problem: _made(spec, problem).stage_one},
    "max_period": {
        "periodic-exp4": lambda spec, problem: longest_period(problem, None, most=336),
        "ramanujan-ucb": lambda spec, problem: longest_period(problem, None, most=48),
    },
    "time_length_scale": {
        "w-dbo": lambda spec, problem: _made(spec, problem).kernel.terms[0].clocks[0].length_scale
    },
    "noise_variance": {ANYBODY: _noise_variance},
    "prior_mean": {ANYBODY: _prior("mean")},
    "prior_scale": {ANYBODY: _prior("scale")},
    "scale": {ANYBODY: _told_noise},
}
"""For each setting the rules of the agents that have one."""
