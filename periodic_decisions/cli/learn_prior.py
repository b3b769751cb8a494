"""The command ``learn-prior``, which learns a prior for ``auto-gp-ucb:prior=FILE``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluation.cli.shared import CommandError, check_folder, write
from evaluation.console import say
from periodic_decisions.cli.options import (
    ArmColumnOption,
    ArmsOption,
    DecimalOption,
    DuplicatesOption,
    RewardColumnOption,
    SeparatorOption,
    TimeColumnOption,
    TimeFormatOption,
    options_set,
)

MADRID = "madrid"
MADRID_YEARS = "2016:2017"  # years of the shipped prior
Learned = tuple[dict[str, Any], float, str]  # content of the file, number of seasons, first time


def learn_prior(
    table: Annotated[
        str,
        typer.Argument(
            help="Table to learn from (.csv, .tsv, .txt or .parquet, long or wide), or madrid for "
            "the imported measurements of Madrid."
        ),
    ],
    out: Annotated[Path, typer.Option(help="JSON file to write.")],
    period: Annotated[
        float | None,
        typer.Option(
            help="Length of the season in steps; required for a table, always 24 for the Madrid "
            "data."
        ),
    ] = None,
    transform: Annotated[
        str | None,
        typer.Option(
            help="Transformation of the measurements: identity, sqrt, log1p, or auto (the "
            "default), which uses the most likely of the three."
        ),
    ] = None,
    years: Annotated[
        str | None,
        typer.Option(
            help="Years of the Madrid data, such as 2016,2018 or 2016:2018 (2016 to 2018); "
            f"default: {MADRID_YEARS}."
        ),
    ] = None,
    arm_features: Annotated[
        Path | None,
        typer.Option(
            help="Table with the coordinates of the arms, by which the arms of a world are matched "
            "with the arms of the prior. Default: arms are matched by their order."
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="First time to learn from, as written in the table.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Number of steps to learn from; default: all.")
    ] = None,
    time_column: TimeColumnOption = None,
    arm_column: ArmColumnOption = None,
    reward_column: RewardColumnOption = None,
    arms: ArmsOption = None,
    time_format: TimeFormatOption = None,
    duplicates: DuplicatesOption = None,
    separator: SeparatorOption = None,
    decimal: DecimalOption = None,
) -> None:
    """Learn a prior for auto-gp-ucb from past measurements of the arms."""
    options = options_set(
        period=period,
        transform=transform,
        arm_features=arm_features,
        start=start,
        steps=steps,
        time_column=time_column,
        arm_column=arm_column,
        reward_column=reward_column,
        arms=arms,
        time_format=time_format,
        duplicates=duplicates,
        separator=separator,
        decimal=decimal,
    )
    check_folder(out)
    if table != MADRID and years is not None:
        raise CommandError(
            "conflicting-options",
            "--years applies only to the Madrid data: select rows of a table with --start and "
            "--steps",
        )
    madrid = table == MADRID
    learned = _madrid(years or MADRID_YEARS, options) if madrid else _table(Path(table), **options)
    _write(out, *learned)


def _madrid(years: str, options: dict[str, Any]) -> Learned:
    from periodic_decisions.priors import MADRID_HOURS, learn_madrid

    if options.pop("period", MADRID_HOURS) != MADRID_HOURS:
        raise CommandError(
            "conflicting-options",
            f"the season of the Madrid data has {MADRID_HOURS} steps: remove --period",
        )
    for option in options:
        raise CommandError(
            "conflicting-options",
            f"--{option.replace('_', '-')} applies only to tables: remove it when learning from "
            "the Madrid data",
        )
    first, colon, last = years.partition(":")
    try:
        numbers = range(int(first), int(last) + 1) if colon else sorted(map(int, years.split(",")))
    except ValueError:
        raise CommandError(
            "invalid-years", f"--years must have the form 2016:2017 or 2016,2018, got {years!r}"
        ) from None
    if not numbers:
        raise CommandError(
            "invalid-years", f"--years {years} is empty: the last year must not precede the first"
        )
    return *learn_madrid(list(dict.fromkeys(numbers))), "midnight"


def _table(
    file: Path,
    *,
    period: float | None = None,
    transform: str = "auto",
    arm_features: Path | None = None,
    start: str | None = None,
    steps: int | None = None,
    **reading: Any,
) -> Learned:
    import pandas as pd

    from agents.auto.transform import TRANSFORMS
    from periodic_decisions.priors import learn, seasons_in
    from periodic_decisions.tables.series import read_series
    from periodic_envs.data.table import RewardTable, read_features

    if transform not in ("auto", *TRANSFORMS):
        known = ", ".join(("auto", *TRANSFORMS))
        raise CommandError(
            "invalid-option", f"--transform must be one of {known}, got {transform!r}"
        )
    series = read_series(file, **reading)
    times = pd.Index(series.times)
    first: Any = start
    if isinstance(times, pd.DatetimeIndex):
        times = times.tz_localize(None)  # in UTC
    elif start is not None:
        first = next(iter(times[times == pd.to_numeric(start, errors="coerce")]), start)
    table = RewardTable(times, series.names, series.values).window(first, steps)
    if period is None:
        raise CommandError(
            "missing-argument",
            "--period is required for a table: give the length of the season in steps, which "
            f"'periodic-gp data check {file}' estimates",
        )
    content = learn(
        [table.values],
        period=period,
        transform=transform,
        places=None if arm_features is None else read_features(arm_features, series.names),
        about=f"Prior for {file.name}: summary statistics of {table.span()}. Made by periodic-gp "
        "learn-prior; the names are documented in agents/auto/learned_prior.py.",
        extra={"names": list(series.names)},
    )
    return content, seasons_in([table.values], period), table.span().partition(" to ")[0]


def _write(path: Path, content: dict[str, Any], seasons: float, begin: str) -> None:
    from agents.auto.learned_prior import MAX_BYTES

    data = (json.dumps(content, separators=(",", ":"), allow_nan=False) + "\n").encode()
    if len(data) > MAX_BYTES:
        raise CommandError(
            "file-too-large",
            f"the prior would have {len(data):,} bytes, but agents read at most {MAX_BYTES:,}: "
            "learn from fewer arms, or give a shorter season",
        )
    write(path, data)
    arms, period = len(content["profile"][0]), content["period"]
    say(
        f"Learned from {seasons:,.4g} seasons of {period:g} steps, for {arms} arms, with the "
        f"transformation {content['transform']}."
    )
    say(f"Wrote {path}: {len(data):,} bytes.")
    say(
        f"Use the prior as auto-gp-ucb:prior={path}. The season of the prior begins at {begin}: "
        "use the prior only for runs that start at the same phase of the season."
    )
