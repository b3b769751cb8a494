"""Commands that compare: ``run``, ``show``, ``compare``, ``plot``, ``export``."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluation.cli.shared import (
    CommandError,
    ProcessesOption,
    Reporter,
    StoreOption,
    check_picture,
    save_picture,
    say,
)
from evaluation.cli.tables import check_known, comparison_lines, print_table
from evaluation.cli.waiting import working
from evaluation.exclusions import parts, rankings, remarks
from evaluation.protocol import Protocol
from evaluation.results import Results
from evaluation.runner import Progress, run
from evaluation.specs import REFERENCE_ROWS
from evaluation.store import Store
from evaluation.tables import ResultsTable, overall_table, task_table

SweepOption = Annotated[
    str | None,
    typer.Option(
        "--sweep",
        help="The sweep to show, by its protocol's name or by its number; by default the last one.",
    ),
]
BaselineOption = Annotated[
    str | None,
    typer.Option(help="Compare every agent with this one, on the same worlds and seeds."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
DEFAULT_STORE = Path("results.sqlite")


def run_protocol(
    protocol: Annotated[str, typer.Argument(help="The name of a protocol, or a .toml file.")],
    agents: Annotated[
        list[str] | None,
        typer.Option(
            help="An agent to run instead of the protocol's; give the option several times for "
            "several agents."
        ),
    ] = None,
    envs: Annotated[
        list[str] | None,
        typer.Option(
            help="An environment to run instead of the protocol's; give the option several times "
            "for several environments."
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(help="Seeds to run instead of the protocol's, written 0:100 or 1,4,9."),
    ] = None,
    workers: ProcessesOption = None,
    dask: Annotated[
        str | None,
        typer.Option(help="Run on the Dask cluster at tcp://host:port, or on a local one: local."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try runs that failed before again.")
    ] = False,
    baseline: BaselineOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a protocol: what is in the store already is not run again."""
    if baseline is not None:
        wanted = Protocol.load(protocol).restricted(agents=agents)
        names = [entry.label for entry in wanted.agents]
        if baseline not in (*names, *REFERENCE_ROWS):
            raise CommandError(f"there is no {baseline!r} in {protocol}: {', '.join(names)}")
    results = None
    seen: list[Progress] = []
    with Reporter(quiet=as_json) as report, contextlib.suppress(KeyboardInterrupt):

        def on_progress(progress: Progress) -> None:
            seen[:] = [progress]
            report(progress)

        results = run(
            protocol,
            agents=agents,
            envs=envs,
            seeds=seeds,
            store=store,
            workers=workers,
            dask=dask,
            retry_failed=retry_failed,
            on_progress=on_progress,
        )
    if results is None:
        done = f"{seen[0].done:,} of {seen[0].runs:,} runs" if seen else "nothing yet"
        text = f"Stopped. In {store}: {done}. Run the same command again to go on."
        say(text) if not as_json else print(json.dumps({"stopped": text}))
        raise typer.Exit(130)
    _print(results, baseline, as_json)
    if results.failures:
        raise typer.Exit(1)


def show(
    store: StoreOption = DEFAULT_STORE,
    sweep: SweepOption = None,
    baseline: BaselineOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the table of a sweep with intervals, paired against a baseline if wanted."""
    with Store(store, create=False) as opened:
        _print(chosen_results(opened, sweep), baseline, as_json)


def compare(
    first: Annotated[str, typer.Argument(help="The first agent, as the table names it.")],
    second: Annotated[str, typer.Argument(help="The second agent, or a reference row.")],
    store: StoreOption = DEFAULT_STORE,
    sweep: SweepOption = None,
) -> None:
    """Compare two agents on common seeds: paired differences with intervals, task by task."""
    with Store(store, create=False) as opened:
        for line in comparison_lines(chosen_results(opened, sweep), first, second):
            say(line)


def plot(
    out: Annotated[Path, typer.Argument(help="The file to draw into: .png, .svg, .pdf or .jpg.")],
    kind: Annotated[
        str, typer.Option(help="What to draw: curves (regret over time), phases or profiles.")
    ] = "curves",
    agents: Annotated[
        list[str] | None,
        typer.Option(
            help="An agent to draw, as the table names it; give the option several times for "
            "several agents. By default all are drawn."
        ),
    ] = None,
    envs: Annotated[
        list[str] | None,
        typer.Option(
            help="An environment to draw, as the table names it; give the option several times "
            "for several environments. By default all are drawn."
        ),
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="Draw for a dark page.")] = False,
    store: StoreOption = DEFAULT_STORE,
    sweep: SweepOption = None,
) -> None:
    """Draw regret curves with bands, regret by phase, or performance profiles."""
    from evaluation.plots import FIGURES, NothingToDrawError

    check_picture(out)
    if kind not in FIGURES:
        raise CommandError(f"--kind must be one of {', '.join(FIGURES)}, got {kind!r}")
    with Store(store, create=False) as opened:
        results = chosen_results(opened, sweep)
        try:
            selected = results.select(agents=agents, envs=envs)
        except ValueError as error:
            raise CommandError(str(error)) from error
        try:
            with working(f"Drawing {kind} into {out}"):
                save_picture(FIGURES[kind](selected, dark=dark), out)
        except NothingToDrawError as error:
            raise CommandError(str(error)) from error
    say(f"Drew {kind} into {out}")


def export(
    out: Annotated[Path, typer.Argument(help="The file to write: .parquet or .csv.")],
    store: StoreOption = DEFAULT_STORE,
    sweep: SweepOption = None,
) -> None:
    """Write every step of every run: agent, env, seed, t, action, reward, regret."""
    if out.suffix not in (".parquet", ".csv"):
        raise CommandError(f"the name must end in .parquet or .csv, got {str(out)!r}")
    with Store(store, create=False) as opened:
        try:
            rows = chosen_results(opened, sweep).save_steps(out)
        except OSError as error:
            raise CommandError(f"cannot write {str(out)!r}: {error.strerror or error}") from error
    say(f"Wrote {rows:,} rows into {out}")


def chosen_results(store: Store, wanted: str | None) -> Results:
    """The sweep that is asked for, by default the last."""
    try:
        return Results(store.source(store.find(wanted).id))
    except LookupError as error:
        raise CommandError(str(error)) from error


def _print(results: Results, baseline: str | None, as_json: bool) -> None:
    check_known(results, baseline, *results.tracks)
    if as_json:
        print(json.dumps(_content(results, baseline), indent=1))
        return
    say(f"Protocol {results.sweep.name}, hash {results.sweep.hash[:12]}, sweep {results.sweep.id}")
    with working("Computing intervals"):
        tables = [shown for track in results.tracks for shown in _tables(results, baseline, track)]
    for shown in tables:
        print_table(shown)
    for remark in remarks(results, more="see --json", again="--retry-failed"):
        say(remark)


def _tables(results: Results, baseline: str | None, track: str) -> Iterator[ResultsTable]:
    yield task_table(results, baseline=baseline, track=track)
    yield from rankings(results, baseline=baseline, track=track)


def _apart(part: Results, baseline: str | None, track: str) -> dict[str, Any]:
    """The ranking over the tasks that some agents are limited to."""
    ranked = overall_table(part, baseline=baseline, track=track)
    return {"tasks": list(part.tasks), "overall": json.loads(ranked.to_json(orient="records"))}


def _content(results: Results, baseline: str | None) -> dict[str, Any]:
    """All of it as plain data."""
    return {
        "protocol": results.sweep.name,
        "hash": results.sweep.hash,
        "runs": results.size,
        "finished": len(results.runs) + len(results.trainings),
        "tracks": {
            track: {
                name: json.loads(
                    made(results, baseline=baseline, track=track).to_json(orient="records")
                )
                for name, made in {"tasks": task_table, "overall": overall_table}.items()
            }
            | {"apart": [_apart(part, baseline, track) for _, part in parts(results, track)]}
            for track in results.tracks
        },
        "failures": [
            {"env": c.env, "agent": c.agent, "seed": c.seed, "reason": c.reason}
            for c in results.failures
        ],
    }
