"""The command ``backtest``."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from evaluation.cli.shared import (
    CommandError,
    ProcessesOption,
    Reporter,
    check_picture,
    save_picture,
    say,
    say_prose,
)
from evaluation.cli.sweeps import JsonOption
from evaluation.cli.tables import print_table
from evaluation.cli.waiting import working
from evaluation.results import Results
from evaluation.specs import agent_entries
from periodic_decisions.backtest.judged import Judged
from periodic_decisions.backtest.recommend import Recommendation, recommend
from periodic_decisions.backtest.rewards import FIXED, HINDSIGHT, MEANINGS, ORACLE
from periodic_decisions.backtest.running import Backtest
from periodic_decisions.backtest.windows import MIN_REPEATS
from periodic_decisions.cli.advice import say_advice
from periodic_decisions.cli.logs import AsLogOption, is_log
from periodic_decisions.cli.reading import (
    ArmColumnOption,
    ArmsOption,
    DecimalOption,
    DuplicatesOption,
    EncodingOption,
    NaValuesOption,
    ObjectiveOption,
    RewardColumnOption,
    SeparatorOption,
    TableArgument,
    TimeColumnOption,
    TimeFormatOption,
    TimezoneOption,
    given,
    in_a_shell,
)
from periodic_decisions.seasons.check import sum_of_others
from periodic_decisions.tables.report import count
from periodic_envs import checks
from periodic_envs.data.recording import OBJECTIVES


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
    ] = FIXED,
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
    _check_asked(objective, period, picture, page)
    list(agent_entries(agents or []))  # says which name is mistyped, before the table is read
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
        judged, results = tested.run(
            agents, baseline=baseline, store=store, workers=workers, on_progress=report
        )
    advice = recommend(judged)
    if as_json:
        print(json.dumps({**judged.content(), "recommendation": asdict(advice)}, indent=1))
    else:
        _print(judged, advice, tested.failed)
    _draw(judged, results, picture, page, quiet=as_json)
    if results.failures:
        raise typer.Exit(1)


def _check_asked(
    objective: str, period: list[float] | None, picture: Path | None, page: Path | None
) -> None:
    """Before a long run, not after it."""
    try:
        checks.one_of("objective", objective, OBJECTIVES)
        for one in period or []:
            if checks.positive("period", one) < 2.0:
                raise ValueError(f"period must be at least 2 steps, got {one!r}")
    except ValueError as error:
        raise CommandError(str(error)) from error
    if picture is not None:
        check_picture(picture)
    if page is not None and not page.parent.is_dir():
        raise CommandError(f"cannot write {str(page)!r}: there is no folder {str(page.parent)!r}")


def plan_lines(tested: Backtest) -> list[str]:
    """What is about to be run, and why so."""
    plan, series = tested.plan, tested.series
    text = f"{tested.table.name}: {len(series.values):,} steps of {series.clock.step_text()}, "
    text += f"{len(series.names):,} arms, {series.span()}."
    untold = [f"{period:,.6g}" for period in tested.periods if period not in plan.periods]
    seasons = ", ".join(f"{period:,.6g}" for period in tested.periods) or "none"
    lines = [text, f"Seasons in steps, the main one first: {seasons}."]
    wholes = plan.steps / plan.season if plan.season else 0.0
    whole = f" ({wholes:,.4g} season{'s' * (wholes != 1)} of {plan.season:,.6g})" if wholes else ""
    lines.append(
        f"{count(len(plan.firsts), 'window')} of {plan.steps:,} steps{whole}, one after the other "
        "up to the end."
    )
    lines += [f"Left out: {_ended(refused)}" for refused in tested.refused]
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
    lines += _told_otherwise(tested)
    if untold and tested.periods[0] not in plan.periods:
        lines.append(
            f"The season of {untold[0]} steps gains most of all: give --window-steps "
            f"{tested.periods[0]:.0f} for agents that know it, in fewer windows."
        )
    troubles = [*series.report.troubles(), *sum_of_others(series)]
    return lines + [in_a_shell(trouble[0].upper() + trouble[1:] + ".") for trouble in troubles]


def _told_otherwise(tested: Backtest) -> list[str]:
    """Why agents are told seasons in another order, if they are."""
    told = tested.plan.periods
    if told == tuple(period for period in tested.periods if period in told):
        return []
    main = next(period for period in tested.periods if period in told)
    return [
        f"Agents are told {told[0]:,.6g} first: a window and its warm start have fewer than "
        f"{MIN_REPEATS} seasons of {main:,.6g}, too few for agents that look at one season only."
    ]


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith(".") else f"{sentence}."


def _print(judged: Judged, advice: Recommendation, failed: list[str]) -> None:
    word = "cost" if judged.objective == "min" else "reward"
    shown = Table(title=f"{judged.source}: {word}", title_justify="left", box=box.SIMPLE_HEAD)
    shown.add_column("agent", no_wrap=True)
    for heading in (f"total {word}", "per step", f"gain over {judged.baseline}", "ms a step"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for rows, style in ((judged.ranking, None), (judged.references, "dim")):
        for row in rows:
            gain = "" if row == judged.baseline else judged.gain(row).text()
            spent = judged.milliseconds.get(row)
            time = "" if spent is None else f"{spent:.2f}"
            cells = (_figure(judged.total(row)), _figure(judged.per_step(row)), gain, time)
            shown.add_row(row, *cells, style=style)
        shown.add_section()
    print_table(shown)
    for name in judged.references:
        say(f"  {name}: {MEANINGS[name]}")
    if HINDSIGHT in judged.totals and judged.plan.steps <= judged.plan.periods[0]:
        say_prose(
            f"{HINDSIGHT} is the {ORACLE} here: each phase comes once in a window of one season."
        )
    say_prose(
        "Intervals cover 95 %, paired over windows; the best of several agents is a little worse "
        "than it looks.\n"
    )
    for note in failed:
        say_prose(f"Left out: {note}")
    say_advice(advice)


def _figure(value: float) -> str:
    """Four digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:,.4g}"


def _draw(
    judged: Judged, results: Results, picture: Path | None, page: Path | None, *, quiet: bool
) -> None:
    """The picture and the page, where they are asked for."""
    if picture is not None:
        from periodic_decisions.backtest.figure import gains_figure

        save_picture(gains_figure(judged), picture)
    if page is not None:
        from evaluation.report.content import store_content
        from evaluation.report.page import render
        from evaluation.report.sheet import Pictures
        from periodic_envs.files import write_atomically

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # gaps were said, of the whole table
                content = store_content(results, Pictures())
            write_atomically(page, render(content).encode())
        except OSError as error:
            raise CommandError(f"cannot write {str(page)!r}: {error.strerror}") from error
    for path in (picture, page):
        if path is not None and not quiet:
            say(f"Wrote {path}")
