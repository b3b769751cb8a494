"""The command ``backtest``."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.cli.shared import (
    CommandError,
    ProcessesOption,
    Reporter,
    check_picture,
    save_picture,
    say,
    say_prose,
)
from periodic_decisions.cli.options import (
    ArmColumnOption,
    ArmsOption,
    AsLogOption,
    DecimalOption,
    DuplicatesOption,
    EncodingOption,
    JsonOption,
    NaValuesOption,
    ObjectiveOption,
    RewardColumnOption,
    SeparatorOption,
    TableArgument,
    TimeColumnOption,
    TimeFormatOption,
    TimezoneOption,
    check_folder,
    given,
    in_a_shell,
    is_log,
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
            help="An agent to try: name, name:setting=value, module:Class or file.py:Class; give "
            "the option several times for several agents. By default a few of the zoo."
        ),
    ] = None,
    period: Annotated[
        list[float] | None,
        typer.Option(
            help="A season in steps; give the option several times for several, the main one "
            "first. By default those that are found."
        ),
    ] = None,
    windows: Annotated[
        int | None,
        typer.Option(min=1, help="How many windows the table is cut into; 1 for all of it."),
    ] = None,
    window_steps: Annotated[
        int | None, typer.Option(min=1, help="How many decisions a window has.")
    ] = None,
    warm_start: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Steps before each window of which every agent is told the best arm and its "
            "reward; by default two seasons.",
        ),
    ] = None,
    baseline: Annotated[
        str, typer.Option(help="The agent or reference that the others are compared with.")
    ] = "best-fixed",
    objective: ObjectiveOption = "max",
    picture: Annotated[
        Path | None, typer.Option(help="Draw the gains over the baseline into this file.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write a page of all results, by regret, into this file.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="A file to keep results in: what is there is not run again."),
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
    """Try agents on your own data, window by window, and say which one to use."""
    from evaluation.cli.shared import working
    from evaluation.specs import agent_entries
    from periodic_decisions.backtest.recommend import recommend
    from periodic_decisions.backtest.run import Backtest

    _check(objective, period, picture, page)
    list(agent_entries(agents or []))  # reports a misspelt name before the table is read
    reading = given(
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
    with working(f"Reading {table.name} and looking for its seasons", quiet=as_json):
        tested = Backtest(
            table,
            periods=period,
            objective=objective,
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
    advice = recommend(result)
    if as_json:
        print(json.dumps({**result.content(), "recommendation": asdict(advice)}, indent=1))
    else:
        _print_rows(result)
        for note in tested.failed:
            say_prose(f"Left out: {note}")
        for line, is_prose in advice.lines():
            (say_prose if is_prose else say)(line)
    if picture is not None:
        save_picture(result.figure(), picture)
    if page is not None:
        _write_page(page, results)
    for path in (picture, page):
        if path is not None and not as_json:
            say(f"Wrote {path}")
    if results.failures:
        raise typer.Exit(1)


def _check(
    objective: str, period: list[float] | None, picture: Path | None, page: Path | None
) -> None:
    """Refuse bad options before a long run, not after it."""
    from periodic_envs import checks
    from periodic_envs.data.recording import OBJECTIVES

    try:
        checks.one_of("objective", objective, OBJECTIVES)
        for one in period or []:
            if checks.positive("period", one) < 2.0:
                raise ValueError(f"period must be at least 2 steps, got {one!r}")
    except ValueError as error:
        raise CommandError(str(error)) from error
    if picture is not None:
        check_picture(picture)
    if page is not None:
        check_folder(page)


def plan_lines(tested: Backtest) -> list[str]:
    """Describe the table, its seasons and the windows."""
    from periodic_decisions.backtest.windows import MIN_REPEATS
    from periodic_decisions.seasons.check import sentence, sum_of_others
    from periodic_decisions.tables.values import count

    plan, series, periods = tested.plan, tested.series, tested.periods
    told = [period for period in periods if period in plan.periods]
    untold = [f"{period:,.6g}" for period in periods if period not in plan.periods]
    wholes = plan.steps / plan.season if plan.season else 0.0
    whole = f" ({wholes:,.4g} season{'s' * (wholes != 1)} of {plan.season:,.6g})" if wholes else ""
    lines = [
        f"{tested.table.name}: {len(series.values):,} steps of {series.grid.step_text()}, "
        f"{len(series.names):,} arms, {series.span()}.",
        "Seasons in steps, the main one first: "
        f"{', '.join(f'{period:,.6g}' for period in periods) or 'none'}.",
        f"{count(len(plan.firsts), 'window')} of {plan.steps:,} steps{whole}, one after the other "
        "up to the end.",
        *(f"Left out: {refused.removesuffix('.')}." for refused in tested.refused),
    ]
    if plan.warm:
        lines.append(
            f"Before each window every agent is told the best arm of each of {plan.warm:,} steps, "
            "and its reward."
        )
    left = plan.firsts[0] - plan.warm
    if left:
        lines.append(
            f"The first {left:,} steps fill no window; learned-fixed and learned-schedule use them."
        )
    if untold:
        lines.append(f"Longer than a window, so agents are not told: {', '.join(untold)}.")
    if told != list(plan.periods):
        lines.append(
            f"Agents are told {plan.periods[0]:,.6g} first: a window and its warm start have fewer "
            f"than {MIN_REPEATS} seasons of {told[0]:,.6g}, too few for agents that look at one "
            "season only."
        )
    if untold and periods[0] not in plan.periods:
        lines.append(
            f"The season of {untold[0]} steps gains most of all: give --window-steps "
            f"{periods[0]:.0f} for agents that know it, in fewer windows."
        )
    troubles = [*series.report.troubles(), *sum_of_others(series)]
    return [*lines, *(in_a_shell(sentence(trouble)) for trouble in troubles)]


def _print_rows(result: BacktestResult) -> None:
    from periodic_decisions.backtest.references import HINDSIGHT, MEANINGS, ORACLE

    word = "cost" if result.objective == "min" else "reward"
    rows = [("agent", f"total {word}", "per step", f"gain over {result.baseline}", "ms a step")]
    for row in (*result.ranking, *result.references):
        gain = "" if row == result.baseline else result.gain(row).text()
        time = f"{result.milliseconds[row]:.2f}" if row in result.milliseconds else ""
        rows.append((row, _figure(result.total(row)), _figure(result.per_step(row)), gain, time))
    say(f"{result.source}: {word}")
    say_table(rows)
    for name in result.references:
        say(f"  {name}: {MEANINGS[name]}")
    if HINDSIGHT in result.totals and result.plan.steps <= result.plan.periods[0]:
        say_prose(
            f"{HINDSIGHT} is the {ORACLE} here: each phase comes once in a window of one season."
        )
    say_prose(
        "Intervals cover 95 %, paired over windows; the best of several agents is a little worse "
        "than it looks.\n"
    )


def _figure(value: float) -> str:
    """Return four digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:,.4g}"


def _write_page(path: Path, results: Results) -> None:
    from evaluation.page import write_page
    from evaluation.page.content import store_content

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gaps were reported, of the whole table
        write_page(path, store_content(results))
