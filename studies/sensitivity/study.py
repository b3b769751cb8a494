"""The runs, and the page of them."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import Any

from evaluation.protocol import Protocol
from evaluation.specs import parse_seeds
from periodic_envs.files import write_figure
from studies.lab import Lab, study_lab, study_parser
from studies.pages import write_page
from studies.sensitivity.page import Sensitivity, numbers_of, picture_of, text_of
from studies.sensitivity.variants import left_alone, variants_of
from studies.zoo.by_world import everywhere, problems_of, sweep_by_world
from studies.zoo.families import sweep_agents

STUDY = "studies.sensitivity"
WORLDS = (
    "PeriodicGP-Synthetic-v0",
    "PeriodicGP-SyntheticDiscrete-v0",
    "PeriodicGP-Piecewise-v0",
    "PeriodicGP-RideShare-v0",
    "PeriodicGP-MadridSim-v0",
)
"""A box and four sets of arms; one world that does not repeat."""
SEEDS = "2000:2010"
QUICK_SEEDS, QUICK_HORIZON = "2000:2002", 30


def run_study(lab: Lab[Any], seeds: str, horizon: int | None, agents: list[str]) -> Sensitivity:
    """Run what is missing of it.

    Args:
        lab: Where it is run.
        seeds: Of the runs.
        horizon: Steps of a run; None for those of ``standard``.
        agents: As they are; all their variants are run.
    """
    standard = Protocol.load("standard").restricted(envs=WORLDS, seeds=parse_seeds(seeds))
    protocol = replace(standard, name="sensitivity", horizon=horizon or standard.horizon)
    problems = problems_of(protocol, lab)
    variants = [variant for agent in agents for variant in variants_of(agent, problems)]
    names = everywhere(agents, list(problems))
    names |= {name: by_world for v in variants for name, by_world in v.names.items()}
    bench, failures = sweep_by_world(protocol, lab, names)
    failed = sorted({f"`{run.agent}`: {run.reason}" for run in failures})
    left = {agent: left_alone(agent, problems) for agent in agents}
    return Sensitivity(bench, variants, agents, failed, left)


def main(arguments: list[str] | None = None) -> None:
    """Run, print, and write what is to be written."""
    about = "How much every agent depends on its settings."
    parser = study_parser(about, store="sensitivity.sqlite", seeds=SEEDS, page="sensitivity.md")
    parser.add_argument("--quick", action="store_true", help="Two short runs of each: a trial.")
    parser.add_argument("--agents", nargs="*", help="Instead of the whole zoo.")
    options: Namespace = parser.parse_args(arguments)
    seeds = QUICK_SEEDS if options.quick else options.seeds
    horizon = QUICK_HORIZON if options.quick else None
    command = f"python -m {STUDY} --docs docs{' --quick' if options.quick else ''}"
    command += "" if seeds == SEEDS or options.quick else f" --seeds {seeds}"
    with study_lab("sensitivity", options) as lab:
        found = run_study(lab, seeds, horizon, options.agents or sweep_agents())
        text = text_of(found, command=command, worlds=WORLDS, seeds=seeds)
        if options.docs is None:
            print(text)
            return
        (options.docs / "sensitivity").mkdir(parents=True, exist_ok=True)
        write_figure(picture_of(found), options.docs / "sensitivity" / "ranges.png")
        stamp = lab.stamp(command, study=STUDY)
        print(write_page(options.docs, "sensitivity", text, numbers_of(found), [stamp]))
