"""How far a small transformer gets that has learned to explore from draws of a prior.

    python -m evaluation.studies.in_context [--docs docs] [--store in_context.sqlite] [--workers 2]

Runs the protocol ``in-context``, and in other seeds of its first three worlds the widths that the
agent's own was chosen from; what is in the store is not run again. With ``--docs`` the page
DOCS/in-context.md is written, which is only printed else.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

import pandas as pd

from agents.rl.in_context.weights import SHIPPED, read_weights
from evaluation.protocol.protocol import Protocol
from evaluation.results import Results
from evaluation.studies.comparison import Comparison
from evaluation.studies.lab import FailedRunError, Lab, regrets, study_lab, study_parser
from evaluation.studies.markdown import markdown_table, shown
from evaluation.studies.pages import write_page

STUDY, PROTOCOL = "evaluation.studies.in_context", "in-context"
TUNED = "in-context-ucb, tuned"
AGENT, RIVALS = "in-context-ucb", ("periodic-gp-ucb", "auto-gp-ucb")
WIDTHS, WIDTH_SEEDS = (0.5, 1.0, 1.5, 2.0, 3.0), "1000:1010"
"""What the width was chosen from, and seeds on which nobody is judged."""
KNOWN_WORLDS = 3
"""The first worlds of the protocol are those that its prior is meant for."""
TEXT = """# A learner in context

`in-context-ucb` is a transformer of {count:,} weights that has learned to learn: it was trained to
tell the mean reward of every arm, and how sure that is, from the rewards so far, in worlds drawn
from a prior of its own ([agents/rl/in_context/prior.py](../agents/rl/in_context/prior.py)): seasons
that are smooth or sharp, arms that are alike or not, things that persist, noise of any size. It has
seen no world of this suite, and nobody's `info`. In a life nothing is fitted any more: it reads
what happened, and takes the arm with the highest mean plus `width` deviations. The weights that are
shipped were made by

    {trained}

with torch {torch}. Run again from beginning to end (38 minutes of one thread of a
busy machine), it gave the same weights to the last bit. This page is written by

    {command}

Mean regret with 95 % intervals over seeds {seeds}, ratios of mean regrets paired on common seeds,
and the agent's own milliseconds a step, on a machine that had other work to do. The two rivals have
one life each, as it has. "Tuned" went on learning from the rewards of its own choices in other
worlds of the same kind ({tuning:,} interactions, the track "pretrained"), and recurrent PPO was
trained there alone ({ppo:,}).

## Worlds of the kind that its prior is meant for

{known}

## Worlds that it was not trained for

No known season, which its prior has in one world of twelve; and what is not in it at all: a wrong
season; two of them, of which it looks at the first; one that drifts; and a life nine times as long
as any in its training.

{unknown}

## Against the two rivals

{verdicts}

{words}

## How the width was chosen

On seeds {width_seeds} of the first three worlds, which are not those above: mean regret.

{widths}
"""
WORDS = """\
It is a match for `auto-gp-ucb` in RideShare and in simulated Madrid, where nobody is told the scale
of the rewards, and clearly ahead of the paper's method there: what that fixes beforehand, it
infers. Where rewards are a draw of the paper's own kernel, with noise as large as the differences,
both GP agents beat it; the paper's method is given that kernel. A wrong period costs it about as
much as it costs the paper's method. It fails in two places: a hidden period it cannot search for,
and is then no better than `gp-ucb`; and in long lives it is far behind `auto-gp-ucb`, and behind
`linucb`, which has more regret in short ones. A step takes several times as long as a
GP agent's. Whether more training closes these gaps was not tried.

Fine-tuning on rewards alone is not told apart from no tuning in any of the three worlds. Recurrent
PPO, which has to learn all of this from one kind of world, learns nothing in SyntheticDiscrete and
is behind every GP agent that knows the season in the others.

The weights have seen no world of the suite. Those who made them have: the prior and the training
were changed twice after looking at seeds from 1000 on of the first three worlds. The last seventh
of the training was run in a process of its own, by the function that the command calls."""
WORD_FOR = {None: "not told apart from", True: "less than", False: "more than"}


def table_of(results: Results, world: str) -> str:
    """Regret, ratios to both rivals and time: a row for each agent, the best first."""
    found = comparison(results, world)
    totals = results.totals
    times = totals[totals["env"] == world].groupby("agent")["ms_per_step"].mean()
    rows = []
    for agent in found.order(list(found.regret.columns)):
        ratios = ["" if agent == rival else shown(found.ratio(agent, rival), 2) for rival in RIVALS]
        time = "" if times[agent] != times[agent] else f"{times[agent]:.2f}"
        rows.append([agent, shown(found.mean(agent)), *ratios, time])
    return markdown_table(["agent", "regret", *(f"to {rival}" for rival in RIVALS), "ms"], rows)


def comparison(results: Results, world: str) -> Comparison:
    """Agents and the best fixed arm on the runs of a world."""
    regret = regrets(results).loc[world].dropna(axis="columns", how="all")
    return Comparison(regret.drop(columns=["oracle", "uniform-random", "best-per-phase"]))


def verdicts(results: Results) -> str:
    """A line for each world: against which rival it has less regret, or more."""
    lines, tuned = [], []
    for world in results.tasks:
        found = comparison(results, world)
        parts = []
        for rival in RIVALS:
            better = found.better(AGENT, rival)
            word = (
                "not told apart from" if better is None else "less than" if better else "more than"
            )
            parts.append(f"{word} {rival} ({shown(found.ratio(AGENT, rival), 2)})")
        lines.append(f"- {_short(world)}: {', '.join(parts)}.")
        if TUNED in found.regret:
            ratio = shown(found.ratio(TUNED, AGENT), 2)
            tuned.append(f"- {_short(world)}, tuned: {ratio} of the regret without tuning.")
    lines += tuned
    return "\n".join(lines)


def width_table(lab: Lab[Namespace], worlds: list[str]) -> str:
    """Regret by width on seeds of their own."""
    agents = [
        {"name": AGENT, "settings": {"width": w}, "label": f"{w:g}", "track": "pretrained"}
        for w in WIDTHS
    ]
    found = regrets(lab.run("width", envs=worlds, agents=agents, seeds=WIDTH_SEEDS))
    means: pd.DataFrame = found.groupby("env").mean()
    rows = [[f"{w:g}", *(f"{means.loc[world, f'{w:g}']:,.0f}" for world in worlds)] for w in WIDTHS]
    return markdown_table(["width", *map(_short, worlds)], rows)


def page(lab: Lab[Namespace], command: str) -> tuple[str, dict[str, dict[str, Any]]]:
    """The text, and the mean regrets for machines."""
    protocol = Protocol.load(PROTOCOL)
    results = lab.sweep(protocol)
    for failed in results.failures:
        raise FailedRunError(
            f"{failed.agent} in {failed.env}, seed {failed.seed}, failed: {failed.reason}"
        )
    worlds = [entry.label for entry in protocol.envs]
    parts = [f"### {_short(world)}\n\n{table_of(results, world)}" for world in worlds]
    said: Mapping[str, Any] = json.loads(SHIPPED.with_suffix(".json").read_text(encoding="utf-8"))
    steps = {entry.label: entry.training_steps for entry in protocol.agents}
    text = TEXT.format(
        count=sum(array.size for array in read_weights().values()),
        trained=said["command"],
        torch=said["torch"],
        command=command,
        seeds=f"{protocol.seeds[0]} to {protocol.seeds[-1]}",
        tuning=steps[TUNED],
        ppo=steps["recurrent-ppo, trained"],
        known="\n\n".join(parts[:KNOWN_WORLDS]),
        unknown="\n\n".join(parts[KNOWN_WORLDS:]),
        verdicts=verdicts(results),
        words=WORDS,
        width_seeds=WIDTH_SEEDS,
        widths=width_table(lab, worlds[:KNOWN_WORLDS]),
    )
    means = regrets(results).groupby("env").mean().round(3)
    return text, {str(w): means.loc[w].dropna().to_dict() for w in worlds}


def _short(world: str) -> str:
    return world.removeprefix("PeriodicGP-").removesuffix("-v0")


def main(arguments: list[str] | None = None) -> None:
    """Run, print, and write what is to be written."""
    parser = study_parser(__doc__ or "", store="in_context.sqlite", page="in-context.md")
    options = parser.parse_args(arguments)
    command = f"python -m {STUDY} --docs docs"
    with study_lab("in-context", options) as lab:
        text, numbers = page(lab, command)
        print(text)
        stamp = lab.stamp(command, study=STUDY)
    if options.docs:
        write_page(options.docs, "in-context", text, numbers, [stamp])


if __name__ == "__main__":
    main()
