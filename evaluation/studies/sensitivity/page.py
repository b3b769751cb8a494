"""What is said of the runs: the page, its picture, its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matplotlib.figure import Figure

from evaluation.studies.comparison import Comparison
from evaluation.studies.markdown import folded, markdown_table, shown
from evaluation.studies.pictures import BLUE, ORANGE, new_figure
from evaluation.studies.sensitivity.variants import FACTOR, Variant, left_alone
from evaluation.studies.zoo.bench import champions
from evaluation.studies.zoo.families import FAMILIES, short_name

TEXT = """# How much agents depend on their settings

Was a rival held down by a setting that does not suit these worlds? Here every number among the
settings of every agent is a third of its default and {factor} times as large, one at a time, in
{worlds}. Regret is a share of that of choosing at random, the
worlds counting alike; with 95 % intervals over {runs} runs of each (seeds {seeds}, from which no
ranking is made). Written by

    {command}

## Each agent with the setting that suits it best

The best of an agent's settings is chosen for each run on all *other* runs, so that having many
settings is no advantage by itself. "Gain" is the paired difference to the defaults.

{best}

![How far settings move each agent](sensitivity/ranges.png)

*Regret at the defaults (dots), and the range over all settings of the page (lines).*

## What would be clearly better than the default

{better}

## Setting by setting

**Bold**: clearly less regret than at the default. *Slanted*: clearly more.

{tables}
{failed}"""


@dataclass(frozen=True)
class Sensitivity:
    """What came of the runs.

    Attributes:
        pooled: Regret of all agents and variants that finished, over the worlds.
        variants: What was tried.
        agents: As they are.
        failed: What did not finish, and why.
    """

    pooled: Comparison
    variants: Sequence[Variant]
    agents: Sequence[str]
    failed: Sequence[str]

    @cached_property
    def teams(self) -> Mapping[str, list[str]]:
        """Every agent that finished, with all its variants that did."""
        teams: dict[str, list[str]] = {}
        for agent in (name for name in self.agents if name in self.pooled.regret):
            tried = [n for v in self.variants if v.agent == agent for n in (v.less, v.more)]
            teams[agent] = [agent, *(name for name in tried if name in self.pooled.regret)]
        return teams


def text_of(found: Sensitivity, *, command: str, worlds: Sequence[str], seeds: str) -> str:
    """The page."""
    failed = "\n".join(f"- {line}" for line in found.failed)
    return TEXT.format(
        factor={3: "three"}[FACTOR],
        worlds=", ".join(map(short_name, worlds)),
        runs=found.pooled.runs,
        seeds=seeds,
        command=command,
        best=_best(found),
        better=_better(found),
        tables="\n\n".join(_tables(found)),
        failed=f"\n## Values that were refused\n\n{failed}\n" if failed else "",
    )


def numbers_of(found: Sensitivity) -> dict[str, Any]:
    """Mean regrets, for machines."""
    means = found.pooled.regret.mean()
    return {agent: {n: float(means[n]) for n in names} for agent, names in found.teams.items()}


def picture_of(found: Sensitivity) -> Figure:
    """A line for each agent, the least regret at the defaults on top."""
    means = found.pooled.regret.mean()
    ranked = sorted(found.teams, key=lambda agent: float(means[agent]), reverse=True)
    figure, (axes,) = new_figure(7.0, 1.0 + 0.22 * len(ranked))
    for row, agent in enumerate(ranked):
        tried = means[found.teams[agent]]
        axes.plot([tried.min(), tried.max()], [row, row], color=BLUE, linewidth=2.0)
        axes.plot(means[agent], row, "o", color=ORANGE, markersize=5)
    axes.set_yticks(range(len(ranked)), ranked, fontsize=8)
    axes.set_xlabel("regret (0: oracle, 1: chance)")
    axes.grid(axis="x", alpha=0.3)
    return figure


def _best(found: Sensitivity) -> str:
    best = champions(found.pooled, found.teams)
    rows = []
    for agent in best.order(list(best.regret)):
        both = Comparison(found.pooled.regret[[agent]].assign(best=best.regret[agent].to_numpy()))
        names = found.teams[agent]
        chosen = found.pooled.order(names)[0]
        gain = shown(both.minus("best", agent), 2, sign=True) if len(names) > 1 else ""
        setting = "as it is" if chosen == agent else chosen.partition(":")[2]
        means = [shown(mean, 2) for mean in (found.pooled.mean(agent), best.mean(agent))]
        rows.append([agent, setting, *means, gain])
    header = ["agent", "best setting over all runs", "default", "best setting", "gain"]
    return markdown_table(header, rows, texts=2)


def _better(found: Sensitivity) -> str:
    """Settings whose default is clearly beaten, largest gain first."""
    gains = []
    for variant in found.variants:
        for name in (variant.less, variant.more):
            there = {name, variant.agent} <= set(found.pooled.regret)
            if there and found.pooled.better(name, variant.agent):
                gap = found.pooled.minus(name, variant.agent)
                gains.append((gap.estimate, f"- `{name}`: {shown(gap, 2, sign=True)}"))
    return "\n".join(line for _, line in sorted(gains)) or "Nothing."


def _tables(found: Sensitivity) -> list[str]:
    """A table for each family."""
    tables = []
    for family, names in FAMILIES.items():
        rows = [_row(found.pooled, v) for v in found.variants if v.agent in names]
        rows = [row for row in rows if row]
        if rows:
            header = ["agent", "setting", "default", "a third", "as it is", "three times"]
            note = _ruled([name for name in names if name in found.agents])
            tables.append(folded(family, f"{markdown_table(header, rows, texts=3)}\n\n{note}"))
    return tables


def _ruled(agents: Sequence[str]) -> str:
    """What was left alone, once for all agents that have the same."""
    groups: dict[str, list[str]] = {}
    for agent in agents:
        groups.setdefault(", ".join(left_alone(agent)), []).append(f"`{agent}`")
    said = [f"{settings} of {', '.join(who)}" for settings, who in groups.items() if settings]
    return f"Not numbers, or chosen by a rule: {'; '.join(said)}." if said else ""


def _row(pooled: Comparison, variant: Variant) -> list[str]:
    if variant.agent not in pooled.regret:
        return []
    cells = [variant.agent, variant.setting, variant.default]
    for name in (variant.less, variant.agent, variant.more):
        cells.append(_cell(pooled, name, variant.agent))
    return cells


def _cell(pooled: Comparison, name: str, default: str) -> str:
    if name not in pooled.regret:
        return "refused"
    text = shown(pooled.mean(name), 2)
    better = None if name == default else pooled.better(name, default)
    return {True: f"**{text}**", False: f"*{text}*", None: text}[better]
