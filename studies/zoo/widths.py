"""How widely should agents explore?

    python -m studies.zoo.widths [--seeds 1000:1010] [--workers 1] [--write]

A search for the controls of docs/zoo.md, the same for everybody who has a width: the default times
each factor of two grids, in all worlds of the protocol ``standard``, on seeds that no page is made
from. The factor with the least regret, as a mean share of that of choosing at random over all
worlds, is chosen; with ``--write`` it is kept in ``widths.json``, where the controls find it, with
the code that it was chosen by (``periodic-gp stale``). Interrupted, the same command goes on where
it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agents.base import Problem
from agents.registry import AgentSpec
from evaluation.protocol import Protocol
from evaluation.specs import parse_seeds
from periodic_envs.files import write_atomically
from studies.lab import Lab, study_lab, study_parser
from studies.stamp import Stamp
from studies.zoo.by_world import Names, Problems, problems_of, sweep_by_world
from studies.zoo.families import sweep_agents
from studies.zoo.rules import SCHEDULES, defaults_of, ruled

GRID = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0)
"""Factors of a width, as they were declared first."""
LOWER_GRID = (0.01, 0.03)
"""Factors that were declared when the best of many turned out to lie at the first grid's edge."""
FACTORS = (*LOWER_GRID, *GRID)
SEEDS = "1000:1010"
CHOSEN = Path(__file__).with_name("widths.json")
COMMAND = "python -m studies.zoo.widths --write"
POWERS = {"width": 1, "bonus": 1, "xi": 2}
"""Settings that are a width, or as a width to this power, whoever has them."""
OWN_POWERS = {"sw-ts": ("gamma", -2), "adswitch": ("c", 2), "glr-ucb": ("exploration", 1)}
"""Settings that are so for one agent: the precision of its draws, the constant of the bound by
which it drops arms, how often it explores by force."""
SCHEDULE = SCHEDULES[0]
"""The default of ``beta`` where it is a schedule of exploration."""
DRAWS = ("gp-thompson",)
"""Agents whose ``beta`` changes nothing: they draw instead."""
BY_RULE = {"auto-gp-ucb": "beta"} | dict.fromkeys(
    (
        *("kl-ucb", "thompson", "phase-ucb", "phase-ts", "cab1", "siri", "ucb-air"),
        *("master", "fourier-period-ucb"),
    ),
    "scale",
)
"""Agents without a number for a width: it is in proportion to a setting that a rule chooses by the
world at hand, the deviation of the noise for all but one."""
LEFT_OUT = {
    "gp-thompson": "draws from its belief, as wide as that is",
    "exp3-s": "explores by a share of chance that follows from a number of switches",
    "rexp3": "explores by a share of chance that follows from the length of its batches",
    "periodic-exp4": "draws by weights alone, whose only rate is one of learning",
    "fixed": "does not explore",
    "random": "does nothing else",
}
"""Agents that have no width, and why."""


def with_width(agent: str, factor: float) -> str | None:
    """An agent whose width is its default's times a factor, by name; None if it has none.

    The name is the agent's notation, but where the width follows from the world at hand
    (:func:`in_world`) it says what is multiplied.

    >>> with_width("ucb1", 0.5), with_width("gp-ucb", 0.5), with_width("fixed", 0.5)
    ('ucb1:xi=0.5', 'gp-ucb:beta=paper*0.5', None)
    >>> with_width("thompson", 0.5)
    'thompson:scale*0.5'
    """
    spec = AgentSpec.parse(agent)
    if spec.name in BY_RULE:
        return agent if factor == 1.0 else f"{agent}:{BY_RULE[spec.name]}*{factor:g}"
    change = None if spec.name in LEFT_OUT else _scaled(spec.name, factor)
    if change is None or factor == 1.0:
        return None if change is None else agent
    return _changed(spec, *change)


def _scaled(name: str, factor: float) -> tuple[str, Any] | None:
    """A setting that is a width, and its value for a factor."""
    defaults = defaults_of(name)
    if defaults.get("beta") == SCHEDULE:
        return "beta", f"{SCHEDULE}*{factor:g}"
    shared = ((n, power) for n, power in POWERS.items() if isinstance(defaults.get(n), float))
    found = OWN_POWERS.get(name) or next(shared, None)
    if found is None:
        return None
    setting, power = found
    return setting, float(f"{defaults[setting] * factor**power:.4g}")


def in_world(agent: str, factor: float, problem: Problem) -> str:
    """The same in the command line's notation, for what a world tells.

    Where it tells no noise, an agent whose width follows from it is left as it is: it takes the
    deviation of the rewards so far, which no setting multiplies.
    """
    spec = AgentSpec.parse(agent)
    if factor == 1.0 or spec.name not in BY_RULE:
        return with_width(agent, factor) or agent
    setting = BY_RULE[spec.name]
    usual = ruled(agent, setting, problem)
    if usual is None:
        return agent
    if isinstance(usual, str):  # a schedule
        return _changed(spec, setting, f"{usual}*{factor:g}")
    return _changed(spec, setting, float(f"{usual * factor:.4g}"))


def _changed(spec: AgentSpec, setting: str, value: Any) -> str:
    return str(AgentSpec(spec.name, {**spec.settings, setting: value}))


def names_of(factors: Mapping[str, Sequence[float]], problems: Problems) -> Names:
    """What agents with some factors of their widths are called, and what they are in each world.

    The rules of widths are the same in all runs of a world, whose first one is asked.
    """
    return {
        with_width(agent, factor) or agent: {
            world: in_world(agent, factor, runs[0]) for world, runs in problems.items()
        }
        for agent, tried in factors.items()
        for factor in tried
    }


def agents_with_width() -> list[str]:
    """Those of the sweep, family by family."""
    return [agent for agent in sweep_agents() if with_width(agent, 1.0) is not None]


def chosen_factors() -> Mapping[str, float]:
    """Every agent whose width was chosen, with its factor."""
    found: dict[str, float] = written()["chosen"]
    return found


def chosen() -> Mapping[str, str]:
    """Every agent whose width was chosen, with the name that it has with it."""
    return {agent: with_width(agent, f) or agent for agent, f in chosen_factors().items()}


def written() -> dict[str, Any]:
    """What the last search has left."""
    found: dict[str, Any] = json.loads(CHOSEN.read_text(encoding="utf-8"))
    return found


def tried() -> dict[str, dict[float, float]]:
    """For every agent of the last search the mean regret with each factor."""
    return {
        agent: {float(factor): mean for factor, mean in by_factor.items()}
        for agent, by_factor in written()["regret"].items()
    }


def at_edge() -> list[str]:
    """Agents whose best factor of the first grid is one of its ends."""
    first = {a: {f: m for f, m in means.items() if f in GRID} for a, means in tried().items()}
    return [agent for agent, factor in choose(first).items() if factor in (GRID[0], GRID[-1])]


def unfinished() -> list[str]:
    """What the last search has left open, in words: agents and factors that are declared since."""
    found = tried()
    missing = [agent for agent in agents_with_width() if agent not in found]
    factors = [factor for factor in FACTORS if any(factor not in means for means in found.values())]
    words = [f"the widths of {', '.join(missing)} are not chosen yet"] if missing else []
    if factors:
        some = " and ".join(f"{factor:g}" for factor in factors)
        words.append(f"the factors {some} have not been tried with all agents")
    return words


def choose(means: Mapping[str, Mapping[float, float]]) -> dict[str, float]:
    """The factor of each agent with the least mean regret; of several the one nearest to 1."""
    return {
        agent: min(found, key=lambda factor: (found[factor], abs(factor - 1.0)))
        for agent, found in means.items()
    }


def search(
    agents: Sequence[str], seeds: str, lab: Lab[Any]
) -> tuple[dict[str, dict[float, float]], int]:
    """Mean regret of agents with every factor, over all worlds; and how many runs failed."""
    protocol = Protocol.load("standard").restricted(seeds=parse_seeds(seeds))
    problems = problems_of(protocol, lab)
    names = names_of(dict.fromkeys(agents, FACTORS), problems)
    bench, failures = sweep_by_world(protocol, lab, names)
    shares = bench.pooled(list(bench.shares)).regret.mean()
    by_agent = {agent: {f: with_width(agent, f) or agent for f in FACTORS} for agent in agents}
    means = {
        agent: {f: float(shares[name]) for f, name in by_factor.items() if name in shares}
        for agent, by_factor in by_agent.items()
    }
    return {agent: found for agent, found in means.items() if found}, len(failures)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, and write what is to be written."""
    parser = study_parser(__doc__ or "", store="zoo_widths.sqlite", seeds=SEEDS)
    parser.add_argument("--write", action="store_true", help="Keep what is chosen.")
    parser.add_argument("--agents", nargs="*", help="Instead of all that have a width.")
    options = parser.parse_args(arguments)
    for agent in options.agents or ():
        if with_width(agent, 1.0) is None:
            parser.error(f"{agent} has no width; those that have: {', '.join(agents_with_width())}")
    with study_lab("zoo", options) as lab:
        means, failed = search(options.agents or agents_with_width(), options.seeds, lab)
        stamp = stamp_of(lab)
    best = choose(means)
    for agent, by_factor in means.items():
        row = "  ".join(f"{f:g}: {m:.3f}{'*' * (f == best[agent])}" for f, m in by_factor.items())
        print(f"{agent:36} {row}")
    if failed:
        print(f"{failed} runs failed: what has such runs is left out, and not chosen")
    if options.write:
        content = {"stamp": msgspec.to_builtins(stamp), "seeds": options.seeds}
        content |= {"grid": GRID, "lower_grid": LOWER_GRID, "chosen": best, "regret": means}
        write_atomically(CHOSEN, f"{json.dumps(content, indent=1)}\n".encode())


def stamp_of(lab: Lab[Any]) -> Stamp:
    """The stamp of a search: agents, worlds and runner.

    Without the study, of whose code ``widths.json`` is a part: no file can have a hash of itself.
    What a search has not tried is told by ``unfinished``.
    """
    stamp = lab.stamp(COMMAND, study=__name__)
    code = {kind: names for kind, names in stamp.code.items() if kind != "study"}
    return msgspec.structs.replace(stamp, code=code)


if __name__ == "__main__":
    main()
