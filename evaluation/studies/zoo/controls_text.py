"""The section of controls in words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluation.studies.comparison import Comparison
from evaluation.studies.markdown import folded, markdown_table, shown
from evaluation.studies.zoo.argument import fares
from evaluation.studies.zoo.controls import (
    CONSTANT,
    FEW_ARMS,
    NARROW,
    WIDE,
    Controls,
    cut_agents,
    with_few_arms,
)
from evaluation.studies.zoo.families import PERIODIC, REPEATING, short_name

INTRODUCTION = f"""\
How much of the order above is due to how widely the agents explore? Here the GP agents have the
width of their theorems, Eq. (7) for finitely many actions and Eq. (8) with c1 = c2 = 1 for a box,
at delta = 0.1; and three agents for arms have a narrower one than theirs. These were chosen by
`python -m evaluation.studies.zoo.widths`: of the theorem's width times 1, 1/2, ..., 1/256 the one
with the least regret over all worlds, on seeds 1000 to 1009, from which nothing on this page was
made; for `d-ucb` and `fourier-linucb` that is the narrowest, next to greed. So these three are
tuned to the worlds and the horizon, and `{PERIODIC}` is not. `fourier-linucb` is LinUCB with the
theorem's width; `linucb` and `lints` have the constant one that practitioners give such models,
tuned to nothing, and stand for linear bandits."""

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
    """Each agent as it is, and below it with another width."""
    rows = []
    for usual, other in {**WIDE, **NARROW}.items():
        widths = ("experiments", "theorem") if usual in WIDE else ("theorem", "chosen")
        for agent, width in zip((usual, other), widths, strict=True):
            if agent not in everywhere.regret:
                continue
            own = "" if agent == usual else _minus(everywhere, agent, usual)
            gap = "" if agent == PERIODIC else _minus(everywhere, agent, PERIODIC)
            rows.append([agent, width, *_means(agent, everywhere, repeating), own, gap])
    for agent in (name for name in CONSTANT if name in everywhere.regret):
        gap = _minus(everywhere, agent, PERIODIC)
        rows.append([agent, "constant", *_means(agent, everywhere, repeating), "", gap])
    header = ["agent", "width", "all worlds", "repeating", "minus its default", f"minus {PERIODIC}"]
    return markdown_table(header, rows, texts=2)


def _means(agent: str, *pools: Comparison) -> list[str]:
    return [shown(pool.mean(agent), 2) if agent in pool.regret else "" for pool in pools]


def _minus(comparison: Comparison, agent: str, other: str) -> str:
    there = agent in comparison.regret and other in comparison.regret
    return shown(comparison.minus(agent, other), 2, sign=True) if there else ""


def _even(comparison: Comparison, where: str) -> str:
    """Both sides by their theorems, both sides narrow."""
    wide = _fares(comparison, WIDE[PERIODIC], [WIDE["gp-ucb"], *NARROW])
    narrow = _fares(comparison, PERIODIC, [*NARROW.values(), *CONSTANT])
    return f"{where}, **by the theorems**: {wide}\n**Narrow on both sides**: {narrow}"


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
