"""The command ``backtest``."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.cli.shared import (
    JsonOption,
    ProcessesOption,
    check_folder,
    check_picture,
    save_picture,
)
from evaluation.console import say, say_prose
from periodic_decisions.cli.options import (
    ArmColumnOption,
    ArmsOption,
    AsLogOption,
    DecimalOption,
    DuplicatesOption,
    EncodingOption,
    NaValuesOption,
    ObjectiveName,
    ObjectiveOption,
    PeriodOption,
    RewardColumnOption,
    SeparatorOption,
    TableArgument,
    TimeColumnOption,
    TimeFormatOption,
    TimezoneOption,
    in_a_shell,
    is_log,
    options_set,
    say_table,
)

if TYPE_CHECKING:
    from evaluation.results import Results
    from periodic_decisions.backtest.result import BacktestResult
    from periodic_decisions.backtest.run import Backtest


def backtest(
    table: TableArgument,
    agents: Annotated[
        list[str] | None,
        typer.Option(
            help="Agent to test, written as name, name:setting=value, module:Class or "
            "file.py:Class; repeat the option for several agents. Default: a small set of the "
            "built-in agents."
        ),
    ] = None,
    period: PeriodOption = None,
    windows: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of windows; 1 for a single window over the whole table. Default: chosen "
            "automatically.",
        ),
    ] = None,
    window_steps: Annotated[
        int | None,
        typer.Option(min=1, help="Number of decisions in a window. Default: chosen automatically."),
    ] = None,
    warm_start: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Number of steps before each window for which all agents receive the best arm "
            "and its reward (the warm start). Default: two seasons.",
        ),
    ] = None,
    baseline: Annotated[
        str, typer.Option(help="Agent or reference policy with which the others are compared.")
    ] = "best-fixed",
    objective: ObjectiveOption = ObjectiveName.max,
    picture: Annotated[
        Path | None, typer.Option(help="File for a figure of the gains over the baseline.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            help="HTML file for a page with all results; the page reports regret instead of gains."
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="File that stores results; stored runs are not repeated."),
    ] = None,
    workers: ProcessesOption = None,
    as_json: JsonOption = False,
    time_column: TimeColumnOption = None,
    arm_column: ArmColumnOption = None,
    reward_column: RewardColumnOption = None,
    arms: ArmsOption = None,
    time_format: TimeFormatOption = None,
    duplicates: DuplicatesOption = None,
    separator: SeparatorOption = None,
    decimal: DecimalOption = None,
    encoding: EncodingOption = None,
    na_values: NaValuesOption = None,
    timezone: TimezoneOption = None,
    as_log: AsLogOption = None,
) -> None:
    """Test agents on your own data, window by window, and report which one to use."""
    from evaluation.console import Reporter
    from evaluation.specs import agent_entries
    from periodic_decisions.backtest.result import setup_commands
    from periodic_decisions.backtest.run import Backtest

    if picture is not None:
        check_picture(picture)
    if page is not None:
        check_folder(page)
    list(agent_entries(agents or []))  # reports a misspelled name before the table is read
    reading = options_set(
        time_column=time_column,
        arm_column=arm_column,
        reward_column=reward_column,
        arms=arms,
        time_format=time_format,
        duplicates=duplicates,
        separator=separator,
        decimal=decimal,
        encoding=encoding,
        na_values=na_values,
        timezone=timezone,
    )
    if is_log(table, as_log, reading):
        raise typer.Exit(1)
    with Reporter(f"Reading {table.name} and looking for its seasons", quiet=as_json):
        tested = Backtest(
            table,
            periods=period,
            objective=objective.value,
            windows=windows,
            window_steps=window_steps,
            warm_start=warm_start,
            reading=reading,
        )
    if not as_json:
        for line in plan_lines(tested):
            say_prose(line)
    with Reporter(quiet=as_json) as report:
        result, results = tested.run(
            agents, baseline=baseline, store=store, workers=workers, on_progress=report
        )
    commands = setup_commands(result)
    if as_json:
        advice = {"agent": next(iter(result.ranking), None), "commands": commands}
        print(json.dumps({**result.content(), "recommendation": advice}, indent=1))
    else:
        _print_rows(result)
        for note in tested.failed:
            say_prose(f"Left out: {note}")
        for row, lines in commands.items():
            say(f"Set up {row}{' (needs the rewards of all arms)' * (row not in result.agents)}:")
            say("\n".join(f"  {line}" for line in lines))
    if picture is not None:
        save_picture(result.figure(), picture)
    if page is not None:
        _write_page(page, results)
    for path in (picture, page):
        if path is not None and not as_json:
            say(f"Wrote {path}")
    if results.failures:
        raise typer.Exit(1)


def plan_lines(tested: Backtest) -> list[str]:
    """Return lines that describe the table, its seasons and the windows."""
    from periodic_decisions.tables.cells import count, sentence

    plan, series = tested.plan, tested.series
    seasons = [f"{period:,.6g}" for period in tested.periods]
    known = [f"{period:,.6g}" for period in plan.periods]
    troubles = [in_a_shell(sentence(trouble)) for trouble in series.troubles()]
    left_out = [f"{refused.removesuffix('.')}." for refused in tested.refused]
    return [
        f"{tested.table.name}: {len(series.values):,} steps of {series.grid.step_text()}, "
        f"{len(series.names):,} arms, {series.span()}.",
        *troubles,
        f"Seasons in steps, the main season first: {', '.join(seasons) or 'none'}. Agents know "
        f"the seasons that fit into a window (--window-steps): {', '.join(known) or 'none'}.",
        f"{count(len(plan.firsts), 'window')} of {plan.steps:,} consecutive steps; the last window "
        "ends with the table. Before each window, agents receive the best arm of each of "
        f"{plan.warm:,} steps and its reward (--warm-start).",
        *left_out,
    ]


def _print_rows(result: BacktestResult) -> None:
    from periodic_decisions.backtest.windows import MEANINGS

    word = "cost" if result.objective == "min" else "reward"
    rows = [("agent", f"total {word}", "per step", f"gain over {result.baseline}", "verdict")]
    for row in (*result.ranking, *result.references):
        gain = result.gain(row)
        figures = f"{result.total(row):,.6g}", f"{result.per_step(row):,.4g}"
        is_base = row == result.baseline
        rows.append((row, *figures, *(("", "") if is_base else (gain.text(), gain.verdict))))
    say(f"{result.table.name}: {word}")
    say_table(rows)
    for name in result.references:
        say(f"  {name}: {MEANINGS[name]}")
    say_prose(
        "Numbers in brackets are 95 % intervals from comparisons paired by window. The gain of the "
        "best of several agents is slightly optimistic, because this agent was selected with the "
        "same data.\n"
    )


def _write_page(path: Path, results: Results) -> None:
    from evaluation.page import write_page
    from evaluation.page.content import store_content

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the gaps of the whole table were already reported
        write_page(path, store_content(results))
