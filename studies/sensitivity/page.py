"""What is said of the runs: the page, its picture, its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from evaluation.statistics import MIN_RUNS, holm
from evaluation.statistics.paired import sign_flip_tests
from studies.comparison import Comparison
from studies.markdown import folded, markdown_table, shown
from studies.pictures import BLUE, ORANGE, new_figure
from studies.sensitivity.variants import (
    ABOUT_WORLD,
    FACTOR,
    IN_RUN,
    NO_EFFECT,
    NO_NUMBER,
    TOGETHER,
    ZERO,
    Variant,
)
from studies.zoo.bench import Bench, champions
from studies.zoo.families import FAMILIES, short_name

TEXT = """# How much agents depend on their settings

Was a rival held down by a setting that does not suit these worlds? Here every number among the
settings of every agent is a third of its default and {factor} times as large, one at a time, in
{worlds}. Where the default is a rule, that is a third and {factor} times the number that the rule
gives in the world at hand; a discount per step is changed by the memory that it allows, 1 / (1 -
discount). "Not in" a world: there rewards set the number, before the run or in it, and no setting
multiplies that; the agent is as it is. Regret is a share of that of choosing at random, the worlds
counting alike; with 95 % intervals over {runs} runs of each (seeds {seeds}, from which no ranking
is made). Written by

    {command}

## Each agent with the setting that suits it best

The best of an agent's settings is chosen for each run on all *other* runs, so that having many
settings is no advantage by itself. "Gain" is the paired difference to the defaults.

{best}

![How far settings move each agent](sensitivity/ranges.png)

*Regret at the defaults (dots), and the range over all settings of the page (lines).*

## What would be clearly better than the default

{tried}

{better}

## Setting by setting

**Bold**: clearly less regret than at the default. *Slanted*: clearly more. Both as above; intervals
are one by one.

{tables}
{failed}"""

TRIED = """\
{count} values were tried. Of so many, some look better or worse by chance: {expected} intervals
would be clear of zero if nothing were to be found, half of them on either side. "Clearly" on this
page is therefore said by the sign-flip test of the paired differences of all {pairs} runs (world by
world and seed by seed), corrected by Holm's method over all {count} values: the chance of any false
one among the verdicts is at most 5 %. One by one, the intervals of {alone} more lie below zero,
which may be chance."""

REASONS = {
    NO_NUMBER: "Words and switches, or nothing by default",
    ZERO: "Zero by default, which no factor changes",
    ABOUT_WORLD: "Told by the world",
    IN_RUN: "Learned in the run, in all of these worlds",
    NO_EFFECT: "Without effect as long as the others have their defaults",
    TOGETHER: "Given with `prior_scale` only, and left as it is with that",
}
"""Why a setting was not changed, in words."""
LEVEL = 0.05
"""Chance of any wrong verdict on the page."""
RESAMPLES = 99_999
"""Patterns of signs: enough that the least p-value survives the correction for many values."""


@dataclass(frozen=True)
class Sensitivity:
    """What came of the runs.

    Attributes:
        bench: Regret of all agents and variants in each world.
        variants: What was tried.
        agents: As they are.
        failed: What did not finish, and why.
        left: Of every agent the settings that were not changed, and why.
    """

    bench: Bench
    variants: Sequence[Variant]
    agents: Sequence[str]
    failed: Sequence[str]
    left: Mapping[str, Mapping[str, str]]

    @cached_property
    def pooled(self) -> Comparison:
        """Regret of all that finished, over the worlds."""
        return self.bench.pooled(list(self.bench.shares))

    @cached_property
    def tried(self) -> Mapping[str, str]:
        """Every variant that finished everywhere, with the agent that it is one of."""
        there = self.pooled.regret
        pairs = [(n, v.agent) for v in self.variants for n in (v.less, v.more) if v.agent in there]
        return {name: agent for name, agent in pairs if name in there}

    @cached_property
    def verdicts(self) -> Mapping[str, bool | None]:
        """Whether each variant is better than the default; None if that is not clear."""
        if self.pooled.runs < MIN_RUNS or not self.tried:
            return dict.fromkeys(self.tried)
        gaps = np.concatenate([self._gaps(frame) for frame in self.bench.shares.values()])
        corrected = holm(sign_flip_tests(gaps, seed=0, resamples=RESAMPLES))
        clear = zip(self.tried, corrected <= LEVEL, gaps.mean(axis=0) < 0, strict=True)
        return {name: bool(less) if found else None for name, found, less in clear}

    def _gaps(self, frame: pd.DataFrame) -> np.ndarray:
        """Variants minus defaults in a world, shape (runs, variants)."""
        variants, defaults = list(self.tried), list(self.tried.values())
        gaps: np.ndarray = frame[variants].to_numpy() - frame[defaults].to_numpy()
        return gaps

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
        tried=_tried(found),
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


def _tried(found: Sensitivity) -> str:
    """How many values were tried, and what that means for verdicts."""
    count, pooled = len(found.tried), found.pooled
    if pooled.runs < MIN_RUNS:
        return f"{count} values were tried. Fewer than {MIN_RUNS} runs tell nothing apart."
    alone = [name for name, agent in found.tried.items() if pooled.better(name, agent)]
    return TRIED.format(
        count=count,
        expected=f"about {round(LEVEL * count)}",
        pairs=sum(len(frame) for frame in found.bench.shares.values()),
        alone=sum(found.verdicts[name] is None for name in alone),
    )


def _better(found: Sensitivity) -> str:
    """Settings whose default is clearly beaten, largest gain first."""
    gains = []
    for name, agent in found.tried.items():
        if found.verdicts[name]:
            gap = found.pooled.minus(name, agent)
            gains.append((gap.estimate, f"- `{name}`: {shown(gap, 2, sign=True)}"))
    return "\n".join(line for _, line in sorted(gains)) or "Nothing."


def _tables(found: Sensitivity) -> list[str]:
    """A table for each family."""
    tables = []
    for family, names in FAMILIES.items():
        rows = [_row(found, v) for v in found.variants if v.agent in names]
        rows = [row for row in rows if row]
        if rows:
            header = ["agent", "setting", "default", "a third", "as it is", "three times"]
            notes = _left([name for name in names if name in found.agents], found.left)
            table = markdown_table(header, rows, texts=3)
            tables.append(folded(family, "\n\n".join([table, *notes])))
    return tables


def _left(agents: Sequence[str], left: Mapping[str, Mapping[str, str]]) -> list[str]:
    """What was left alone: a line for each reason, once for all agents that have the same."""
    lines = []
    for reason, words in REASONS.items():
        groups: dict[str, list[str]] = {}
        for agent in agents:
            mine = ", ".join(s for s, why in left.get(agent, {}).items() if why == reason)
            groups.setdefault(mine, []).append(f"`{agent}`")
        said = [f"{settings} of {', '.join(who)}" for settings, who in groups.items() if settings]
        lines += [f"{words}: {'; '.join(said)}."] if said else []
    return lines


def _row(found: Sensitivity, variant: Variant) -> list[str]:
    if variant.agent not in found.pooled.regret:
        return []
    cells = [variant.agent, variant.setting, variant.default]
    return cells + [_cell(found, name) for name in (variant.less, variant.agent, variant.more)]


def _cell(found: Sensitivity, name: str) -> str:
    if name not in found.pooled.regret:
        return "refused"
    text = shown(found.pooled.mean(name), 2)
    return {True: f"**{text}**", False: f"*{text}*", None: text}[found.verdicts.get(name)]
