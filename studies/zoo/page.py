"""The page of the zoo: which family wins where, the paper's argument, every agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from evaluation.statistics import MIN_RUNS
from evaluation.store import StoredRun
from studies.claims import Claim
from studies.comparison import Comparison
from studies.lab import StudySize
from studies.markdown import folded, markdown_table, shown
from studies.zoo.bench import Bench, best_and_alike
from studies.zoo.controls import Controls
from studies.zoo.controls_text import controls_numbers, controls_parts
from studies.zoo.families import FAMILIES, GROUPS, PERIODIC, family_of, short_name

INTRODUCTION = """\
All agents of the zoo that learn within one life, in the worlds of the protocol `standard`: {agents}
agents, {worlds} worlds, {runs} of each, {steps}.
Written by `{command}` ({scale}), version {version}.

Numbers are regret as a share of the regret of choosing at random: 0 is the oracle, 1 is chance.
Behind each stands its 95 % interval, resampled over whole runs (from five runs on). Every agent
meets the same worlds and the same noise, and "clearly" means that the interval of the paired
difference is clear of zero; intervals are one by one, not corrected for how many there are.

Everything here is said **at these settings and these horizons**. Each agent has the parameters of
its paper, or the defaults of this package; where a constant could not be confirmed, its docstring
says so. None was tuned on these worlds, and that is not equally kind to all: the GP agents
explore by the schedule of the Periodic-GP paper's experiments (sqrt(beta) below 2), the others
mostly by the widths of their theorems, which are made for the worst case; the section Controls
turns that round. Linear bandits are judged by `linucb` and `lints`, with the constant width that
practitioners give them; `fourier-linucb` is the same with the theorem's width. Methods for arms see
a box as 20 points: with 20 phases that is 400 cells, more than there are steps, so a table of
phases and arms never leaves its first pass, and in short runs greed (`fixed`) is hard to beat."""

COMMAND = "periodic-gp zoo"
PICTURE = """\
![Regret of every agent in every world](zoo/heat_map.png)

*Regret as a share of choosing at random's, every agent in every world; lines part the families.*"""

FAMILY_NOTE = """\
A family is judged by its best agent, chosen anew for every run on all *other* runs in that world,
so that a large family has no advantage by its size. **Bold**: the least regret. **=**: not told
apart from it."""


TOO_FEW = f"Fewer than {MIN_RUNS} runs tell nothing apart: no verdicts here."


def zoo_numbers(bench: Bench, controls: Controls, judged: Sequence[Claim]) -> dict[str, Any]:
    """The figures of the page by themselves, for machines."""
    return {
        "claims": [claim.record() for claim in judged],
        "normalised": bench.means(),
        "ms_per_step": dict(bench.ms_per_step),
        "controls": controls_numbers(controls),
    }


def zoo_text(
    bench: Bench,
    controls: Controls,
    judged: Sequence[Claim],
    *,
    size: StudySize,
    horizon: int | None,
) -> str:
    """The whole page."""
    runs = {len(frame) for frame in bench.shares.values()}
    parts = [
        "# The zoo on one bench",
        INTRODUCTION.format(
            command=COMMAND + size.option,
            scale=size.words,
            steps=f"{horizon:,} steps long" if horizon else "as long as the world has it",
            version=version("periodic-gp"),
            agents=len(bench.agents),
            worlds=len(bench.shares),
            runs=" or ".join(f"{n} runs" for n in sorted(runs)),
        ),
        "## Which family wins where",
        _winners(bench) if min(runs) >= MIN_RUNS else TOO_FEW,
        FAMILY_NOTE,
        _family_table(bench),
        PICTURE,
        "## What the paper's argument gets right and wrong",
        *argument_parts(judged, decided=min(runs) >= MIN_RUNS),
        *controls_parts(controls),
        "## Every agent",
        "Over the worlds that repeat, nearly repeat and do not repeat; the mean time of a step, "
        "act and update together, on the machine that ran the sweep.",
        _agent_table(bench),
        "## World by world",
        *(_world(bench, world) for world in bench.shares),
    ]
    return "\n\n".join(parts) + "\n"


def _winners(bench: Bench) -> str:
    """Who is best or not told apart from the best, in how many worlds; computed."""
    first: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    for world in bench.shares:
        best, alike = best_and_alike(bench.families(bench.world(world)))
        first.update([best, *alike])
        alone.update([best] if not alike else [])
    worlds = len(bench.shares)
    lines = [
        f"- **{family}**: best or not told apart from the best in {count} of {worlds} worlds"
        + (f", clearly ahead of all other families in {alone[family]}" if alone[family] else "")
        + "."
        for family, count in first.most_common()
    ]
    never = [f for f in _present(bench) if f not in first]
    if never:
        lines.append(f"- Clearly behind the best family everywhere: {'; '.join(never)}.")
    return "\n".join(lines)


def _present(bench: Bench) -> list[str]:
    """Families that finished some world."""
    found = [bench.families(bench.world(world)).regret.columns for world in bench.shares]
    return [family for family in FAMILIES if any(family in columns for columns in found)]


def _family_table(bench: Bench) -> str:
    families = _present(bench)
    rows = []
    for world in bench.shares:
        comparison = bench.families(bench.world(world))
        best, alike = best_and_alike(comparison)
        cells = [_marked(comparison, family, best, alike) for family in families]
        rows.append([short_name(world), *cells])
    return markdown_table(["world", *families], rows)


def _marked(comparison: Comparison, family: str, best: str, alike: Sequence[str]) -> str:
    if family not in comparison.regret:
        return ""
    text = shown(comparison.mean(family), 2)
    if family == best:
        return f"**{text}**"
    return f"= {text}" if family in alike else text


def argument_parts(judged: Sequence[Claim], *, decided: bool) -> list[str]:
    """The claims one by one, with verdicts where there are enough runs for any."""
    texts = [claim.written(number) for number, claim in enumerate(judged, 1)]
    if not decided:
        return [TOO_FEW, *texts]
    ends = [f"**Verdict: {claim.verdict.value}.**" for claim in judged]
    pairs = zip(texts, ends, strict=True)
    return [_verdicts(judged), *(f"{text}\n\n{end}" for text, end in pairs)]


def _verdicts(judged: Sequence[Claim]) -> str:
    rows = [[f"{n}. {claim.says}", claim.verdict.value] for n, claim in enumerate(judged, 1)]
    return markdown_table(["claim", "verdict"], rows, texts=2)


def _agent_table(bench: Bench) -> str:
    pools = {name: bench.pooled(worlds) for name, worlds in GROUPS.items()}
    pools = {name: pool for name, pool in pools.items() if pool.runs}
    everything = bench.pooled(list(bench.shares))
    rows = []
    for agent in bench.agents:
        cells = [
            shown(pool.mean(agent), 2) if agent in pool.regret else ""
            for pool in (everything, *pools.values())
        ]
        rows.append([family_of(agent), agent, *cells, _ms(bench.ms_per_step[agent])])
    header = ["family", "agent", "all worlds", *pools, "ms per step"]
    return markdown_table(header, rows, texts=2)


def _world(bench: Bench, world: str) -> str:
    """All agents in a world, folded away: the best first."""
    comparison = bench.world(world)
    rows = []
    for agent in comparison.order(list(comparison.regret)):
        gap = ""
        if PERIODIC in comparison.regret and agent != PERIODIC:
            gap = shown(comparison.minus(agent, PERIODIC), 2, sign=True)
        name = agent if agent in bench.ms_per_step else f"*{agent}*"
        rows.append([name, shown(comparison.mean(agent), 2), gap])
    table = markdown_table(["agent", "regret", f"minus {PERIODIC}"], rows)
    return folded(short_name(world), table)


def failures_note(failed: Sequence[StoredRun]) -> str:
    """One line for each agent and world that failed."""
    kinds = Counter((run.agent, run.env, run.reason) for run in failed)
    return "\n".join(f"- {a} in {e}: {reason} ({n} runs)" for (a, e, reason), n in kinds.items())


def _ms(value: float) -> str:
    return f"{value:.3f}"
