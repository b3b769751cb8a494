"""Controls: what of the order is due to how widely agents explore, or how a box is cut for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.registry import AgentSpec, find_class, settings_of
from agents.zoo.gp.et_gp_ucb import ETGPUCB
from evaluation.play import play
from evaluation.protocol import Protocol
from evaluation.specs import WorldSpec
from studies.comparison import Comparison
from studies.lab import Lab
from studies.zoo.bench import Bench
from studies.zoo.by_world import everywhere, problems_of, sweep_by_world
from studies.zoo.families import BASELINES, FAMILIES, sweep_agents
from studies.zoo.rules import defaults_of
from studies.zoo.widths import (
    DRAWS,
    SCHEDULE,
    agents_with_width,
    chosen,
    chosen_factors,
    names_of,
)

BOX = "PeriodicGP-Synthetic-v0"
FEW_ARMS = 5
"""Points of a box, instead of 20."""


@dataclass(frozen=True)
class Controls:
    """What came of the controls.

    Attributes:
        widths: All agents that have a width, as they are, with the one that was chosen for them
            and, those of Gaussian processes, with that of their theorem, in all worlds. An agent
            whose width follows from the world has one name for what it is in each.
        arms: Agents for arms on the box, with 20 points and with ``FEW_ARMS``; None if not run.
        resets: How often et-gp-ucb started afresh, run by run, in each world.
    """

    widths: Bench
    arms: Comparison | None
    resets: Mapping[str, Sequence[int]]


def run_controls(protocol: Protocol, lab: Lab[Any]) -> Controls:
    """Run the controls, or what is missing of them.

    Args:
        protocol: Worlds, seeds and horizon; its agents do not matter.
        lab: Where they are run.
    """
    problems = problems_of(protocol, lab)
    names = everywhere(width_agents(), list(problems))
    names |= names_of({agent: [factor] for agent, factor in chosen_factors().items()}, problems)
    widths, _ = sweep_by_world(replace(protocol, name="zoo-widths"), lab, names)
    arms = None
    if BOX in problems:
        cut = cut_agents()
        listed = [*cut, *map(with_few_arms, cut)]
        restricted = replace(protocol.restricted(agents=listed, envs=[BOX]), name="zoo-arms")
        arms = Bench.of(lab.sweep(restricted)).world(BOX)
    lab.uses(agents=[ETGPUCB.name])
    return Controls(widths, arms, resets(protocol))


def width_agents() -> list[str]:
    """The names in the control of widths, each once."""
    theorems = filter(None, map(by_theorem, chosen()))
    return list(dict.fromkeys([*agents_with_width(), *chosen().values(), *theorems]))


def by_theorem(agent: str) -> str | None:
    """An agent of a Gaussian process that explores by Eq. (7) or (8); None for others.

    The theorems are about upper bounds, not draws, and not about a belief that is fitted on the
    way, as ``auto-gp-ucb`` has one.
    """
    spec = AgentSpec.parse(agent)
    if spec.name in DRAWS or defaults_of(spec.name).get("beta") != SCHEDULE:
        return None
    return str(AgentSpec(spec.name, {**spec.settings, "beta": "theorem"}))


def cut_agents() -> list[str]:
    """The agents of the sweep that see a box as ``box_arms`` points, but for baselines."""
    listed = [name for name in sweep_agents() if name not in FAMILIES[BASELINES]]
    return [n for n in listed if "box_arms" in (settings_of(find_class(n.partition(":")[0])) or ())]


def with_few_arms(agent: str) -> str:
    """The same agent with fewer points."""
    return f"{agent}:box_arms={FEW_ARMS}"


def resets(protocol: Protocol) -> dict[str, list[int]]:
    """How often et-gp-ucb starts afresh in each run: what a store does not tell."""
    found: dict[str, list[int]] = {}
    for entry in protocol.envs:
        env = WorldSpec(entry.spec.env_id, protocol.arguments(entry)).make()
        for seed in protocol.seeds_of(entry):
            agent = play(env, AgentSpec(ETGPUCB.name), seed).agent
            assert isinstance(agent, ETGPUCB)
            found.setdefault(entry.label, []).append(agent.resets)
    return found
