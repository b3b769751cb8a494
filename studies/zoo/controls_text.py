"""The section of controls in words and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from studies.comparison import Comparison
from studies.markdown import folded, markdown_table, shown
from studies.zoo.argument import fares
from studies.zoo.controls import (
    FEW_ARMS,
    Controls,
    by_theorem,
    cut_agents,
    with_few_arms,
)
from studies.zoo.families import LINEAR, LOCAL, PERIODIC, REPEATING, short_name
from studies.zoo.widths import (
    BY_RULE,
    COMMAND,
    FACTORS,
    GRID,
    LEFT_OUT,
    LOWER_GRID,
    SEEDS,
    at_edge,
    chosen,
    chosen_factors,
    unfinished,
)

WITHOUT_THEOREM = ("auto-gp-ucb",)
"""Agents that no theorem is about: left out where widths are those of theorems."""


def _listed(factors: Iterable[float]) -> str:
    return ", ".join(f"{factor:g}" for factor in factors)


def _ticked(names: Iterable[str], between: str = ", ") -> str:
    return between.join(f"`{name}`" for name in names)


INTRODUCTION = f"""\
How much of the order above is due to how widely the agents explore? Here every agent that has a
width, under whatever name, is given the factor of its default with the least regret over all
worlds, chosen on seeds {SEEDS}, from which nothing on this page was made (`{COMMAND}`).
The grid that was declared first has the factors {_listed(GRID)}.
{{edge}}

By width is meant `beta` of the agents of Gaussian processes (its square root), `width`, `bonus`,
the root of `xi`, for `sw-ts` the deviation of its draws (`gamma`), for `adswitch` the root of the
constant by which it drops arms (`c`), for `glr-ucb` how often it explores by force
(`exploration`), and for {_ticked(n for n, s in BY_RULE.items() if s == "scale")} the deviation of
the noise that their bounds, draws and tests are in units of (`scale`). Where a world tells no noise
(RideShare and MadridSim), these take the deviation of the rewards so far, which no setting
multiplies: there they are as they are by default. Left out are
{"; ".join(f"`{agent}`, which {why}" for agent, why in LEFT_OUT.items())}.{{open}}

And the agents of Gaussian processes are given the width of their theorems, Eq. (7) for finitely
many actions and Eq. (8) with c1 = c2 = 1 for a box, at delta = 0.1, which is what most of the
others have by default. The defaults of the linear bandits {_ticked(LINEAR, " and ")} are what
practitioners give such models."""

EDGE_NOTE = f"""\
{{count}} of {{all}} agents have their best of these at an end of it ({{names}}; *edge* in the
table). So that nobody is held down by where a grid ends, a second one of {_listed(LOWER_GRID)} was
declared for all alike, and each has the best of both.{{lowest}}"""
NO_EDGE_NOTE = f"""\
Nobody has the best of these at an end of it; a second, lower grid of {_listed(LOWER_GRID)} was
declared for all alike as well, and each has the best of both."""
LOWEST_NOTE = """ At the lowest of all are {names}: they would explore as good as not at all."""

ARMS_NOTE = """\
On a line of actions, agents for arms with {few} points instead of 20 (world Synthetic): of {count}
agents {better} do clearly better with {few}, {worse} clearly worse."""


def controls_parts(controls: Controls) -> list[str]:
    """Paragraphs and tables, under a heading."""
    bench = controls.widths
    everywhere, repeating = bench.pooled(list(bench.shares)), bench.pooled(REPEATING)
    introduction = INTRODUCTION.format(edge=_edge(), open=_open())
    parts = ["## Controls", introduction, _widths_table(everywhere, repeating)]
    parts.append(_even(everywhere, "Over all worlds"))
    if repeating.runs:
        parts.append(_even(repeating, "Where the world repeats"))
    if controls.arms is not None:
        parts += _arms(controls.arms)
    return [*parts, _resets(controls)]


def controls_numbers(controls: Controls) -> dict[str, Any]:
    """The figures by themselves, for machines."""
    arms = controls.arms
    return {
        "widths": controls.widths.means(),
        "arms": {} if arms is None else arms.numbers(list(arms.regret)),
        "resets": {world: list(counts) for world, counts in controls.resets.items()},
    }


def _edge() -> str:
    """Whose best lies at an end of the first grid, and at that of both."""
    ends, factors = at_edge(), chosen_factors()
    if not ends:
        return NO_EDGE_NOTE
    lowest = [agent for agent, factor in factors.items() if factor == min(FACTORS)]
    words = LOWEST_NOTE.format(names=_ticked(lowest)) if lowest else ""
    return EDGE_NOTE.format(count=len(ends), all=len(factors), names=_ticked(ends), lowest=words)


def _open() -> str:
    """What the last search has left open."""
    words = unfinished()
    return f"\n\n**The search is not finished:** {'; '.join(words)}." if words else ""


def _widths_table(everywhere: Comparison, repeating: Comparison) -> str:
    """A line for each agent, the least regret at the chosen width first."""
    best, edge, rows = chosen(), at_edge(), []
    run = [agent for agent in best if {agent, best[agent]} <= set(everywhere.regret)]
    run.sort(key=lambda agent: float(everywhere.regret[best[agent]].mean()))
    for agent in run:
        wide = by_theorem(agent)
        theorem = _means(wide, everywhere)[0] if wide else ""
        gain = "" if best[agent] == agent else _minus(everywhere, best[agent], agent)
        gap = "" if agent == PERIODIC else _minus(everywhere, best[agent], best[PERIODIC])
        setting = "as it is" if best[agent] == agent else best[agent].partition(":")[2]
        setting += ", *edge*" if agent in edge else ""
        means = [*_means(agent, everywhere), *_means(best[agent], everywhere, repeating)]
        rows.append([agent, setting, *means, gain, gap, theorem])
    header = ["agent", "chosen", "default", "at the chosen", "the same where the world repeats"]
    header += ["gain", f"chosen minus {PERIODIC}'s", "by the theorem"]
    return markdown_table(header, rows, texts=2)


def _means(agent: str, *pools: Comparison) -> list[str]:
    return [shown(pool.mean(agent), 2) if agent in pool.regret else "" for pool in pools]


def _minus(comparison: Comparison, agent: str, other: str) -> str:
    there = agent in comparison.regret and other in comparison.regret
    return shown(comparison.minus(agent, other), 2, sign=True) if there else ""


def _even(comparison: Comparison, where: str) -> str:
    """Both sides by their theorems, both sides with the widths that were chosen."""
    best, lines = chosen(), []
    for agent in (PERIODIC, LOCAL):
        others = [o for o in best if o not in (PERIODIC, LOCAL, *LINEAR, *WITHOUT_THEOREM)]
        wide = _fares(comparison, by_theorem(agent) or agent, [by_theorem(o) or o for o in others])
        lines.append(f"{where}, **by the theorems**: {wide}")
        others = [best[other] for other in best if other not in (PERIODIC, LOCAL)]
        even = _fares(comparison, best[agent], others)
        lines.append(f"{where}, **each with the width that was chosen for it**: {even}")
    return "\n".join(f"- {line}" for line in lines)


def _fares(comparison: Comparison, agent: str, others: Sequence[str]) -> str:
    """How one agent does against some others."""
    run = [other for other in others if other in comparison.regret]
    if agent not in comparison.regret or not run:
        return "not run."
    answers = {other: comparison.better(agent, other) for other in run}
    return f"`{agent}` is {fares(answers)}"


def _arms(comparison: Comparison) -> list[str]:
    """One table, the agents with the least regret first."""
    run = [a for a in cut_agents() if {a, with_few_arms(a)} <= set(comparison.regret)]
    gaps = {agent: comparison.better(with_few_arms(agent), agent) for agent in run}
    better, worse = (sum(gap is found for gap in gaps.values()) for found in (True, False))
    note = ARMS_NOTE.format(few=FEW_ARMS, count=len(run), better=better, worse=worse)
    rows = []
    for agent in comparison.order(run):
        few = with_few_arms(agent)
        means = [shown(comparison.mean(name), 2) for name in (agent, few)]
        rows.append([agent, *means, _minus(comparison, few, agent)])
    table = markdown_table(["agent", "20 points", f"{FEW_ARMS} points", "difference"], rows)
    return [note, folded("Agent by agent", table)]


def _resets(controls: Controls) -> str:
    """What kind of agent et-gp-ucb is here."""
    found = {world: sum(counts) for world, counts in controls.resets.items()}
    total, runs = sum(found.values()), sum(map(len, controls.resets.values()))
    where = ", ".join(f"{short_name(world)} {n}" for world, n in found.items() if n)
    never = sum(n == 0 for n in found.values())
    return (
        "`et-gp-ucb`, which starts afresh when a reward contradicts its belief, "
        f"{'hardly ever did so' if total < runs / 2 else 'did so'}: {total} times in {runs} runs "
        f"({where or 'none'}). In {never} of {len(found)} worlds it never did, and was `gp-ucb` "
        "under another name."
    )
