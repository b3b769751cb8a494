"""How widely should agents explore?

    python -m evaluation.studies.zoo.widths [--seeds 1000:1010] [--workers 1] [--write]

A search for the controls of docs/zoo.md, the same for everybody who has a width: the default times
each factor of one grid, in all worlds of the protocol ``standard``, on seeds that no page is made
from. The factor with the least regret, as a mean share of that of choosing at random over all
worlds, is chosen; with ``--write`` it is kept in ``widths.json``, where the controls find it.
Interrupted, the same command goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from agents.registry import AgentSpec, find_class, settings_of
from evaluation.protocol.entries import parse_seeds
from evaluation.protocol.protocol import Protocol
from evaluation.studies.lab import study_lab, study_parser
from evaluation.studies.zoo.bench import Bench
from evaluation.studies.zoo.families import sweep_agents
from periodic_envs.files import write_atomically

GRID = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0)
"""Factors of a width."""
SEEDS = "1000:1010"
CHOSEN = Path(__file__).with_name("widths.json")
POWERS = {"width": 1, "bonus": 1, "xi": 2}
"""Settings that are a width, or as a width to this power."""
SCHEDULE = "paper"
"""The default of ``beta`` where it is a schedule of exploration."""
DRAWS = ("gp-thompson",)
"""Agents whose ``beta`` changes nothing: they draw instead."""


def with_width(agent: str, factor: float) -> str | None:
    """An agent whose width is its default's times a factor; None if it has none.

    >>> with_width("ucb1", 0.5), with_width("gp-ucb", 0.5), with_width("fixed", 0.5)
    ('ucb1:xi=0.5', 'gp-ucb:beta=paper*0.5', None)
    """
    spec = AgentSpec.parse(agent)
    defaults = settings_of(find_class(spec.name)) or {}
    if defaults.get("beta") == SCHEDULE and spec.name not in DRAWS:
        changed: dict[str, Any] = {"beta": f"{SCHEDULE}*{factor:g}"}
    else:
        found = [name for name in POWERS if isinstance(defaults.get(name), float)]
        if not found:
            return None
        changed = {n: float(f"{defaults[n] * factor ** POWERS[n]:.4g}") for n in found[:1]}
    return agent if factor == 1.0 else str(AgentSpec(spec.name, {**spec.settings, **changed}))


def agents_with_width() -> list[str]:
    """Those of the sweep, family by family."""
    return [agent for agent in sweep_agents() if with_width(agent, 1.0) is not None]


@lru_cache(maxsize=1)
def chosen() -> Mapping[str, str]:
    """Every agent that has a width, with the one that was chosen."""
    factors: dict[str, float] = json.loads(CHOSEN.read_text(encoding="utf-8"))["chosen"]
    return {agent: with_width(agent, factor) or agent for agent, factor in factors.items()}


def choose(means: Mapping[str, Mapping[float, float]]) -> dict[str, float]:
    """The factor of each agent with the least mean regret; of several the one nearest to 1."""
    return {
        agent: min(tried, key=lambda factor: (tried[factor], abs(factor - 1.0)))
        for agent, tried in means.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, and write what is to be written."""
    parser = study_parser(__doc__ or "", store="zoo_widths.sqlite", seeds=SEEDS)
    parser.add_argument("--write", action="store_true", help="Keep what is chosen.")
    parser.add_argument("--agents", nargs="*", help="Instead of all that have a width.")
    options = parser.parse_args(arguments)
    tried = {
        agent: {factor: with_width(agent, factor) or agent for factor in GRID}
        for agent in options.agents or agents_with_width()
    }
    names = [name for by_factor in tried.values() for name in by_factor.values()]
    seeds = parse_seeds(options.seeds)
    protocol = Protocol.load("standard").restricted(agents=names, seeds=seeds)
    with study_lab("zoo", options) as lab:
        bench = Bench.of(lab.sweep(protocol))
    shares = bench.pooled(list(bench.shares)).regret.mean()
    means = {
        agent: {factor: float(shares[name]) for factor, name in by_factor.items()}
        for agent, by_factor in tried.items()
    }
    best = choose(means)
    for agent, by_factor in means.items():
        row = "  ".join(f"{f:g}: {m:.3f}{'*' * (f == best[agent])}" for f, m in by_factor.items())
        print(f"{agent:36} {row}")
    if options.write:
        written = {"seeds": options.seeds, "grid": GRID, "chosen": best, "regret": means}
        write_atomically(CHOSEN, f"{json.dumps(written, indent=1)}\n".encode())


if __name__ == "__main__":
    main()
