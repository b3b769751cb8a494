"""Runs of the learner in context beside GP bandits, and the page of them."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from agents.registry import AgentSpec
from agents.rl.in_context.weights import SHIPPED, read_weights
from evaluation.protocol.protocol import Protocol
from evaluation.results import Results
from evaluation.studies.comparison import Comparison
from evaluation.studies.in_context.words import (
    AGENT,
    CHOSEN,
    KNOWN,
    PPO,
    RIVALS,
    TUNED,
    conclusions,
    short,
)
from evaluation.studies.lab import FailedRunError, Lab, regrets, study_lab, study_parser
from evaluation.studies.markdown import markdown_table, shown
from evaluation.studies.pages import write_page
from evaluation.studies.zoo import widths

STUDY, PROTOCOL = "evaluation.studies.in_context", "in-context"
WIDTHS, WIDTH_SEEDS = (0.5, 1.0, 1.5, 2.0, 3.0), "1000:1010"
"""What the width was chosen from, and seeds on which nobody is judged."""
TEXT = """# A learner in context

`in-context-ucb` is a transformer of {count:,} weights that has learned to learn: it was trained to
tell the mean reward of every arm, and how sure that is, from the rewards so far, in worlds drawn
from a prior of its own ([agents/rl/in_context/prior.py](../agents/rl/in_context/prior.py)): seasons
that are smooth or sharp, arms that are alike or not, things that persist, noise of any size. It has
seen no world of this suite, and nobody's `info`; but functions as SyntheticDiscrete draws them,
with a periodic kernel, are among those that its prior can draw. In a life nothing is fitted any
more: it reads what happened, and takes the arm with the highest mean plus `width` deviations. The
weights that are shipped were made by

    {trained}

with torch {torch}. Run again from beginning to end (38 minutes of one thread of a
busy machine), it gave the same weights to the last bit. This page is written by

    {command}

Mean regret with 95 % intervals over seeds {seeds}, ratios of mean regrets paired on common seeds,
and the agent's own milliseconds a step, on a machine that had other work to do. The rivals have one
life each, as it has: `periodic-gp-ucb` with the paper's time length-scale, l = 10, and with l = 1,
which is that of SyntheticDiscrete; and `auto-gp-ucb`. "Width chosen" are rivals with the width that
was chosen for them on seeds {width_seeds} of the protocol `standard`, where that is not their
default. "Tuned" went on learning from the rewards of its own choices in other
worlds of the same kind ({tuning:,} interactions, the track "pretrained"), and recurrent PPO was
trained there alone ({ppo:,}).

## Worlds of the kind that its prior is meant for

{known}

## Worlds that it was not trained for

No known season, which its prior has in one world of twelve; and what is not in it at all: a wrong
season; two of them, of which it looks at the first; one that drifts; and a life nine times as long
as any in its training.

{unknown}

## In words

Its own width, and twice its prior and its training, were chosen while looking at seeds from 1000 on
of {chosen_in}. The rivals are at their defaults, but for those that are marked "width chosen";
`auto-gp-ucb` was developed while looking at RideShare and Madrid, too. So those worlds are no blind
test of it, though its weights have not seen them. Whether more training would help was not tried.

{words}

## How the width was chosen

On seeds {width_seeds} of the first three worlds, which are not those above: mean regret.

{widths}
"""


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


def comparisons(results: Results) -> dict[str, Comparison]:
    """Of every world, by its label."""
    return {world: comparison(results, world) for world in results.tasks}


def step_times(results: Results, worlds: Sequence[str]) -> dict[str, float]:
    """Mean milliseconds of a step of every agent that was timed, over some worlds."""
    totals = results.totals
    times = totals[totals["env"].isin(worlds)].groupby("agent")["ms_per_step"].mean().dropna()
    return {str(agent): float(each) for agent, each in times.items()}


def with_chosen_widths(protocol: Protocol, worlds: Sequence[str]) -> Protocol:
    """Rivals once more in some worlds, with widths that were chosen on other seeds, as its was.

    They are those that the search for the controls of docs/zoo.md has chosen (``widths.json``);
    where that is the default, nothing is added.
    """
    chosen, added = widths.chosen(), []
    for entry in protocol.agents:
        found = chosen.get(str(entry.spec), str(entry.spec))
        if found != str(entry.spec) and not entry.training_steps:
            spec = AgentSpec.parse(found)
            label = f"{entry.label}{CHOSEN}"
            added.append(replace(entry, label=label, spec=spec, envs=tuple(worlds)))
    return replace(protocol, agents=(*protocol.agents, *added))


def width_table(lab: Lab[Namespace], worlds: list[str]) -> str:
    """Regret by width on seeds of their own."""
    agents = [
        {"name": AGENT, "settings": {"width": w}, "label": f"{w:g}", "track": "pretrained"}
        for w in WIDTHS
    ]
    found = regrets(lab.run("width", envs=worlds, agents=agents, seeds=WIDTH_SEEDS))
    means: pd.DataFrame = found.groupby("env").mean()
    rows = [[f"{w:g}", *(f"{means.loc[world, f'{w:g}']:,.0f}" for world in worlds)] for w in WIDTHS]
    return markdown_table(["width", *map(short, worlds)], rows)


def page(lab: Lab[Namespace], command: str) -> tuple[str, dict[str, dict[str, Any]]]:
    """The text, and the mean regrets for machines."""
    protocol = with_chosen_widths(Protocol.load(PROTOCOL), KNOWN)
    results = lab.sweep(protocol)
    for failed in results.failures:
        raise FailedRunError(
            f"{failed.agent} in {failed.env}, seed {failed.seed}, failed: {failed.reason}"
        )
    worlds = [entry.label for entry in protocol.envs]
    parts = [f"### {short(world)}\n\n{table_of(results, world)}" for world in worlds]
    said: Mapping[str, Any] = json.loads(SHIPPED.with_suffix(".json").read_text(encoding="utf-8"))
    steps = {entry.label: entry.training_steps for entry in protocol.agents}
    text = TEXT.format(
        count=sum(array.size for array in read_weights().values()),
        trained=said["command"],
        torch=said["torch"],
        command=command,
        seeds=f"{protocol.seeds[0]} to {protocol.seeds[-1]}",
        tuning=steps[TUNED],
        ppo=steps[PPO],
        known="\n\n".join(parts[: len(KNOWN)]),
        unknown="\n\n".join(parts[len(KNOWN) :]),
        words=conclusions(comparisons(results), step_times(results, KNOWN)),
        width_seeds=WIDTH_SEEDS,
        chosen_in=", ".join(map(short, KNOWN)),
        widths=width_table(lab, list(KNOWN)),
    )
    means = regrets(results).groupby("env").mean().round(3)
    return text, {str(w): means.loc[w].dropna().to_dict() for w in worlds}


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
