"""The sweep of the zoo, its controls, and the page of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.protocol import Protocol
from evaluation.store import Store
from periodic_envs.files import write_atomically, write_figure
from studies.lab import Lab, Reporting, StudySize, silent
from studies.pages import stamped, write_page
from studies.zoo.argument import claims
from studies.zoo.bench import Bench
from studies.zoo.controls import run_controls
from studies.zoo.controls_text import controls_parts
from studies.zoo.families import sweep_agents
from studies.zoo.page import COMMAND, failures_note, zoo_numbers, zoo_text
from studies.zoo.picture import heat_map

STUDY = "studies.zoo"


@dataclass(frozen=True)
class ZooSize(StudySize):
    """How much of the zoo is run.

    Attributes:
        seeds: Runs of each agent in each world; None for the protocol's.
        horizon: Steps of a run; None for the protocol's.
        worlds: Labels of the protocol's worlds; None for all.
    """

    seeds: int | None = None
    horizon: int | None = None
    worlds: tuple[str, ...] | None = None


FULL = ZooSize("full")
QUICK = ZooSize(
    "quick",
    seeds=2,
    horizon=30,
    worlds=(
        "PeriodicGP-Synthetic-v0",
        "PeriodicGP-SyntheticDiscrete-v0",
        "PeriodicGP-Piecewise-v0",
        "PeriodicGP-RideShare-v0",
    ),
)


def write_zoo(
    size: ZooSize,
    *,
    store: Store,
    out: Path,
    workers: int | None = None,
    agents: Sequence[str] | None = None,
    reporting: Reporting = silent,
) -> Path:
    """Run the sweep, or what is missing of it, and write the page; its path.

    Args:
        size: How much is run.
        store: Where results are kept: what is in it is not run again.
        out: Folder for the page; the picture goes into a folder beside it.
        workers: Processes; 0 for this one; None for one per core.
        agents: Instead of the whole zoo.
        reporting: Given the title of what is run, a context that takes its progress.
    """
    lab = Lab(size, store, out / "zoo", workers, reporting)
    protocol = _protocol(size, sweep_agents() if agents is None else agents)
    results = lab.sweep(protocol)
    controls = run_controls(protocol, lab)
    bench = Bench.of(results)
    lab.pictures.mkdir(parents=True, exist_ok=True)
    write_figure(heat_map(bench), lab.pictures / "heat_map.png")
    judged = claims(bench)
    text = zoo_text(bench, controls, judged, size=size, horizon=protocol.horizon)
    if results.failures:
        text += f"\n## Runs that failed\n\n{failures_note(results.failures)}\n"
    stamp = lab.stamp(f"{COMMAND}{size.option}", study=STUDY)
    return write_page(out, "zoo", text, zoo_numbers(bench, controls, judged), [stamp])


def write_controls(
    size: ZooSize,
    *,
    store: Store,
    out: Path,
    workers: int | None = None,
    reporting: Reporting = silent,
) -> Path:
    """The controls by themselves, on a page of their own; its path. Arguments as above."""
    lab = Lab(size, store, out, workers, reporting)
    controls = run_controls(_protocol(size, []), lab)
    page = out / "zoo-controls.md"
    command = f"{COMMAND}{size.option} --controls"
    written = f"Written by `{command}`; for docs/zoo.md, which says the rest."
    text = "\n\n".join([*controls_parts(controls), written]) + "\n"
    write_atomically(page, stamped(text, [lab.stamp(command, study=STUDY)]).encode())
    return page


def _protocol(size: ZooSize, agents: Sequence[str]) -> Protocol:
    """The standard protocol, or as much of it as the size allows."""
    standard = Protocol.load("standard")
    seeds = None if size.seeds is None else range(size.seeds)
    some = standard.restricted(agents=agents or None, envs=size.worlds, seeds=seeds)
    return replace(some, name="zoo", horizon=size.horizon or standard.horizon)
