"""All agents in all worlds, and what the paper says about them: ``periodic-gp zoo``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.protocol.protocol import Protocol
from evaluation.running.sweep import Progress, run
from evaluation.store import Store
from evaluation.studies.zoo.bench import Bench
from evaluation.studies.zoo.controls import run_controls
from evaluation.studies.zoo.controls_text import controls_parts
from evaluation.studies.zoo.families import sweep_agents
from evaluation.studies.zoo.page import failures_note, write_page
from evaluation.studies.zoo.picture import heat_map

__all__ = ["FULL", "QUICK", "Bench", "Scale", "write_controls", "write_zoo"]

Report = Callable[[Progress], object]


@dataclass(frozen=True)
class Scale:
    """How much is run.

    Attributes:
        name: "full" or "quick".
        seeds: Runs of each agent in each world; None for the protocol's.
        horizon: Steps of a run; None for the protocol's.
        worlds: Labels of the protocol's worlds; None for all.
    """

    name: str
    seeds: int | None = None
    horizon: int | None = None
    worlds: tuple[str, ...] | None = None


FULL = Scale("full")
QUICK = Scale(
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


def _silent(title: str) -> AbstractContextManager[Report]:
    return nullcontext(lambda progress: None)


def write_zoo(
    scale: Scale,
    *,
    store: Store,
    out: Path,
    workers: int | None = None,
    agents: Sequence[str] | None = None,
    reporting: Callable[[str], AbstractContextManager[Report]] = _silent,
) -> Path:
    """Run the sweep, or what is missing of it, and write the page; its path.

    Args:
        scale: How much is run.
        store: Where results are kept: what is in it is not run again.
        out: Folder for the page; the picture goes into a folder beside it.
        workers: Processes; 0 for this one; None for one per core.
        agents: Instead of the whole zoo.
        reporting: Given the title of what is run, a context that takes its progress.
    """
    protocol = _protocol(scale, sweep_agents() if agents is None else agents)
    with reporting("zoo") as report:
        results = run(protocol, store=store, workers=workers, on_progress=report)
    controls = run_controls(protocol, store=store, workers=workers, reporting=reporting)
    bench = Bench.of(results)
    pictures = out / "zoo"
    pictures.mkdir(parents=True, exist_ok=True)
    heat_map(bench).savefig(pictures / "heat_map.png")
    page = write_page(
        out,
        "zoo",
        bench,
        controls,
        command=_command(scale),
        scale="in full" if scale.name == "full" else "the quick version: too few runs to decide",
        horizon=protocol.horizon,
        picture="![Regret of every agent in every world](zoo/heat_map.png)\n\n*Regret as a share "
        "of choosing at random's, every agent in every world; lines part the families.*",
    )
    if results.failures:
        with page.open("a", encoding="utf-8") as file:
            file.write(f"\n## Runs that failed\n\n{failures_note(results.failures)}\n")
    return page


def write_controls(
    scale: Scale,
    *,
    store: Store,
    out: Path,
    workers: int | None = None,
    reporting: Callable[[str], AbstractContextManager[Report]] = _silent,
) -> Path:
    """The controls by themselves, on a page of their own; its path. Arguments as above."""
    protocol = _protocol(scale, [])
    controls = run_controls(protocol, store=store, workers=workers, reporting=reporting)
    page = out / "zoo-controls.md"
    written = f"Written by `{_command(scale)} --controls`; for docs/zoo.md, which says the rest."
    page.write_text("\n\n".join([*controls_parts(controls), written]) + "\n", encoding="utf-8")
    return page


def _protocol(scale: Scale, agents: Sequence[str]) -> Protocol:
    """The standard protocol, or as much of it as the scale allows."""
    standard = Protocol.load("standard")
    seeds = None if scale.seeds is None else range(scale.seeds)
    some = standard.restricted(agents=agents or None, envs=scale.worlds, seeds=seeds)
    return replace(some, name="zoo", horizon=scale.horizon or standard.horizon)


def _command(scale: Scale) -> str:
    return "periodic-gp zoo" + ("" if scale.name == "full" else f" --{scale.name}")
