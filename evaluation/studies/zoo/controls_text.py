"""The section of controls in words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluation.studies.comparison import Comparison
from evaluation.studies.markdown import folded, markdown_table, shown
from evaluation.studies.zoo.argument import fares
from evaluation.studies.zoo.controls import (
    FEW_ARMS,
    Controls,
    by_theorem,
    cut_agents,
    with_few_arms,
)
from evaluation.studies.zoo.families import LINEAR, LOCAL, PERIODIC, REPEATING, short_name
from evaluation.studies.zoo.widths import GRID, SEEDS, chosen

INTRODUCTION = f"""\
How much of the order above is due to how widely the agents explore? Here every agent that has a
width is given the one that suits it best of {", ".join(f"{factor:g}" for factor in GRID)} times its
default, over all worlds, chosen on seeds {SEEDS}, from which nothing on this page was made
(`python -m evaluation.studies.zoo.widths --write`). And the agents of Gaussian processes are given
the width of their theorems, Eq. (7) for finitely many actions and Eq. (8) with c1 = c2 = 1 for a
box, at delta = 0.1, which is what most of the others have by default. The defaults of the linear
bandits {" and ".join(f"`{name}`" for name in LINEAR)} are what practitioners give such models."""

ARMS_NOTE = """\
On a line of actions, agents for arms with {few} points instead of 20 (world Synthetic): of {count}
agents {better} do clearly better with {few}, {worse} clearly worse."""


def controls_parts(controls: Controls) -> list[str]:
    """Paragraphs and tables, under a heading."""
    bench = controls.widths
    everywhere, repeating = bench.pooled(list(bench.shares)), bench.pooled(REPEATING)
    parts = ["## Controls", INTRODUCTION, _widths_table(everywhere, repeating)]
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


def _widths_table(everywhere: Comparison, repeating: Comparison) -> str:
    """A line for each agent, the least regret at the chosen width first."""
    best, rows = chosen(), []
    run = [agent for agent in best if {agent, best[agent]} <= set(everywhere.regret)]
    run.sort(key=lambda agent: float(everywhere.regret[best[agent]].mean()))
    for agent in run:
        wide = by_theorem(agent)
        theorem = _means(wide, everywhere)[0] if wide else ""
        gain = "" if best[agent] == agent else _minus(everywhere, best[agent], agent)
        gap = "" if agent == PERIODIC else _minus(everywhere, best[agent], best[PERIODIC])
        setting = "as it is" if best[agent] == agent else best[agent].partition(":")[2]
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
    """Both sides by their theorems, both sides with the width that suits them."""
    best, lines = chosen(), []
    for agent in (PERIODIC, LOCAL):
        others = [other for other in best if other not in (PERIODIC, LOCAL, *LINEAR)]
        wide = _fares(comparison, by_theorem(agent) or agent, [by_theorem(o) or o for o in others])
        lines.append(f"{where}, **by the theorems**: {wide}")
        others = [best[other] for other in best if other not in (PERIODIC, LOCAL)]
        even = _fares(comparison, best[agent], others)
        lines.append(f"{where}, **each with the width that suits it**: {even}")
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
