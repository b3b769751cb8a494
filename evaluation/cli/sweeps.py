"""Commands ``run``, ``show``, ``compare``, ``plot`` and ``export``."""

import contextlib
import json
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluation.cli.shared import (
    CommandError,
    JsonOption,
    ProcessesOption,
    StoreOption,
    check_folder,
    check_picture,
    save_picture,
    writing,
)
from evaluation.console import Reporter, say
from evaluation.protocol import Protocol
from evaluation.results import Results, load
from evaluation.runner import run
from evaluation.specs import REFERENCE_ROWS, check_known
from evaluation.tables import overall_table, remarks, tables_of, task_table

SweepOption = Annotated[
    str | None,
    typer.Option(
        "--sweep", help="Number of a sweep, or name of its protocol; by default the last sweep."
    ),
]
BaselineOption = Annotated[
    str | None,
    typer.Option(help="Agent or reference row with which to compare every agent, on common seeds."),
]
DEFAULT_STORE = Path("results.sqlite")


def run_protocol(
    protocol: Annotated[str, typer.Argument(help="Name of a protocol, or a .toml file.")],
    agents: Annotated[
        list[str] | None,
        typer.Option(help="Agent to run instead of the protocol's agents. May be repeated."),
    ] = None,
    envs: Annotated[
        list[str] | None,
        typer.Option(
            help="Environment to run instead of the protocol's environments. May be repeated."
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(help="Seeds to run instead of the protocol's seeds, such as 0:100 or 1,4,9."),
    ] = None,
    workers: ProcessesOption = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Run on a Dask cluster: tcp://host:port, or local for a cluster on this machine."
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Repeat failed runs.")
    ] = False,
    baseline: BaselineOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a protocol. Finished runs in the store are not repeated."""
    if baseline is not None:
        entries = Protocol.load(protocol).restricted(agents=agents).agents
        labels = [entry.label for entry in entries]
        check_known("baseline", baseline, [*labels, *REFERENCE_ROWS], f"in {protocol}")
    results = None
    # KeyboardInterrupt is suppressed, so that no traceback keeps the Dask client alive.
    with Reporter(quiet=as_json) as report, contextlib.suppress(KeyboardInterrupt):
        results = run(
            protocol,
            agents=agents,
            envs=envs,
            seeds=seeds,
            store=store,
            workers=workers,
            dask=dask,
            retry_failed=retry_failed,
            on_progress=report,
        )
    if results is None:
        text = f"Stopped. Finished runs are in {store}. Run the same command again to continue."
        say(text, error=as_json)
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
    """Show the tables of a sweep with intervals, and optionally comparisons with a baseline."""
    _print(load(store, sweep), baseline, as_json)


def compare(
    first: Annotated[str, typer.Argument(help="Label of the first agent.")],
    second: Annotated[
        str, typer.Argument(help="Label of the second agent, or of a reference row.")
    ],
    store: StoreOption = DEFAULT_STORE,
    sweep: SweepOption = None,
) -> None:
    """Compare two agents on common seeds: paired differences with intervals, task by task."""
    table = load(store, sweep).compare(first, second).content
    say(
        f"Regret of {first} minus regret of {second} over the worlds and seeds that both have "
        f"finished (negative: {first} is better)"
    )
    (difference,) = [column for column in table.columns if column.interval]
    for row in table.rows:
        gap, p_value = difference.text(row), row["p_value"]
        say(f"  {row['task']}: {gap}, {row['runs']} runs, sign-flip p = {p_value:.3g}")
    if not table.rows:
        say("  no world and seed that both have finished")


def plot(
    out: Annotated[Path, typer.Argument(help="File to write: .png, .svg, .pdf or .jpg.")],
    kind: Annotated[
        str,
        typer.Option(
            help="Kind of figure: curves (regret over time), phases (regret by phase) or profiles "
            "(performance profiles)."
        ),
    ] = "curves",
    agents: Annotated[
        list[str] | None,
        typer.Option(help="Agent to draw; by default all agents. May be repeated."),
    ] = None,
    envs: Annotated[
        list[str] | None,
        typer.Option(help="Environment to draw; by default all environments. May be repeated."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    sweep: SweepOption = None,
) -> None:
    """Draw regret curves with bands, regret by phase, or performance profiles."""
    from evaluation.plots import FIGURES

    check_picture(out)
    if kind not in FIGURES:
        raise CommandError(
            "invalid-option", f"--kind must be one of {', '.join(FIGURES)}, got {kind!r}"
        )
    selected = load(store, sweep).select(agents=agents, envs=envs)
    with Reporter(f"Drawing {kind}"):
        save_picture(FIGURES[kind](selected), out)
    say(f"Wrote a figure ({kind}) to {out}")


def export(
    out: Annotated[Path, typer.Argument(help="File to write: .parquet or .csv.")],
    store: StoreOption = DEFAULT_STORE,
    sweep: SweepOption = None,
) -> None:
    """Write every step of every run: agent, env, seed, t, action, reward, regret."""
    if out.suffix not in (".parquet", ".csv"):
        raise CommandError(
            "unknown-file-type", f"OUT must end in .parquet or .csv, got {str(out)!r}"
        )
    check_folder(out)
    with writing(out):
        rows = load(store, sweep).save_steps(out)
    say(f"Wrote {rows:,} rows to {out}")


def _print(results: Results, baseline: str | None, as_json: bool) -> None:
    if baseline is not None:
        agents = [entry["label"] for entry in results.entries]
        check_known("agent", baseline, [*agents, *REFERENCE_ROWS], "in this sweep")
    if as_json:
        print(json.dumps(_content(results, baseline), indent=1))
        return
    say(f"Protocol {results.sweep.name}, hash {results.sweep.hash[:12]}, sweep {results.sweep.id}")
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 1000
    with Reporter("Computing intervals"):
        tables = [table.text(width) for table in tables_of(results, baseline=baseline)]
    for table in tables:
        say(f"\n{table}")
    say("")
    for remark in remarks(results, more="see --json", again="--retry-failed"):
        say(remark)


def _content(results: Results, baseline: str | None) -> dict[str, Any]:
    """Return the tables as plain data."""
    return {
        "protocol": results.sweep.name,
        "hash": results.sweep.hash,
        "runs": results.size,
        "finished": len(results.runs) + len(results.trainings),
        "tracks": {track: _tables(results, baseline, track) for track in results.tracks},
        "failures": [
            {"env": run.env, "agent": run.agent, "seed": run.seed, "reason": run.reason}
            for run in results.failures
        ],
    }


def _tables(results: Results, baseline: str | None, track: str) -> dict[str, Any]:
    tables = {
        "tasks": task_table(results, baseline=baseline, track=track),
        "overall": overall_table(results, baseline=baseline, track=track),
    }
    return {
        name: [{key: None if x != x else x for key, x in row.items()} for row in table.rows]
        for name, table in tables.items()
    }
