"""Import, download, list and check measurements."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.cli.shared import CommandError, check_picture, save_picture, write
from evaluation.console import say, say_prose
from periodic_decisions.cli.evaluate_log import evaluate_log
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
    RewardColumnOption,
    SeparatorOption,
    TableArgument,
    TimeColumnOption,
    TimeFormatOption,
    TimezoneOption,
    in_a_shell,
    is_log,
    options_set,
)

if TYPE_CHECKING:
    from periodic_envs.data.madrid.cache import YearEntry
    from periodic_envs.data.madrid.importing import Imported

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)
app.command("log")(evaluate_log)


@app.command("import")
def import_files(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Files from Madrid's open-data portal (csv, txt or zip), or folders with these "
            "files."
        ),
    ],
) -> None:
    """Import files from Madrid's open-data portal into the local data folder."""
    from evaluation.console import draw
    from periodic_envs.data.madrid.importing import import_paths

    imported = import_paths(paths, on_file=lambda source: draw(f"Reading {source.name}"))
    draw("")
    _report(imported)


@app.command()
def download(
    source: Annotated[
        str, typer.Argument(help="Source to download from; the only source is madrid.")
    ],
    year: Annotated[
        list[int],
        typer.Option(help="Year to download; repeat the option for several years."),
    ],
    url: Annotated[
        str | None,
        typer.Option(help="URL of the zip file; default: the known URL for the year."),
    ] = None,
) -> None:
    """Download years of measurements from Madrid's open-data portal and import them."""
    from evaluation.console import draw
    from periodic_envs.data.madrid.download import addresses, download_year

    if source != "madrid":
        raise CommandError(
            "unknown-source", f"unknown source {source!r}: the only source is madrid"
        )
    if url is not None and len(year) > 1:
        raise CommandError(
            "conflicting-options",
            f"--url is the URL for a single year: give --year once, got {len(year)} years",
        )
    for number in year:
        address = url or addresses().get(number)
        say(f"Madrid {number}" + (f" from {address}" if address else ""))
        imported = download_year(
            number, address=url, on_bytes=lambda done, _: draw(f"{done / 1e6:,.1f} MB")
        )
        draw("")
        _report(imported)


@app.command("list")
def list_data(
    provenance: Annotated[
        bool,
        typer.Option("--provenance", help="Show all imported files with their SHA-256 hashes."),
    ] = False,
) -> None:
    """List the imported years, their files and the data folder."""
    from periodic_envs.data import DataError
    from periodic_envs.data.madrid import cache
    from periodic_envs.files import DATA_VARIABLE, data_folder

    say(f"Data folder: {data_folder()}  (change it with the environment variable {DATA_VARIABLE})")
    if cache.absence():
        say(f"Note: {cache.absence()}; an import creates the folder.")
    years, damaged = cache.years(), []
    if not years:
        say(
            "No data have been imported. Download the Madrid data with: periodic-gp data download "
            "madrid --year 2018\n"
            "or import files that you already have with: periodic-gp data import PATH..."
        )
    for year in years:
        try:
            _say_entry(cache.entry(year), provenance)
        except DataError as error:
            damaged.append(str(error))
    if damaged:
        raise DataError("damaged-file", "; ".join(damaged))


def _say_entry(entry: YearEntry, provenance: bool) -> None:
    from periodic_envs.data.madrid.stations import magnitude_name

    say(_entry_line(entry))
    say(f"    magnitudes {', '.join(magnitude_name(m) for m in entry.magnitudes)}")
    archives = dict.fromkeys(source["file"].partition(":")[0] for source in entry.imports)
    say(f"    {len(entry.imports)} files, from {', '.join(archives)}")
    for source in entry.imports if provenance else ():
        origin = f", from {source['from']}" if "from" in source else ""
        about = f"{source['imported']}  {source['file']}, {source['lines']:,} lines"
        say(f"    {about}, sha256 {source['sha256'][:12]}{origin}")


def _entry_line(entry: YearEntry) -> str:
    return (
        f"Madrid {entry.year}: {entry.days[2]} days from {entry.days[0]} to {entry.days[1]}, "
        f"{len(entry.stations)} stations, {len(entry.magnitudes)} magnitudes, "
        f"fingerprint {entry.fingerprint[:12]}"
    )


def _report(imported: Imported) -> None:
    from periodic_envs.files import data_folder

    for entry in imported.entries:
        say(_entry_line(entry))
    if imported.ignored:
        say(f"Ignored files that are not from the portal: {', '.join(imported.ignored)}")
    say(f"Stored in {data_folder()}")


@app.command()
def check(
    file: TableArgument,
    period: Annotated[
        float | None,
        typer.Option(min=2.0, help="Length of the season in steps; default: the detected season."),
    ] = None,
    objective: ObjectiveOption = ObjectiveName.max,
    picture: Annotated[
        Path | None, typer.Option(help="File for a figure of the data and the season.")
    ] = None,
    schedule: Annotated[
        Path | None,
        typer.Option(
            help="CSV file for the schedule. For each slot (such as an hour of the day), it "
            "contains the arm and the gain over the best fixed arm."
        ),
    ] = None,
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
    """Describe your own data: readings, seasons, the gain from knowing the season, and a schedule.

    The schedule names the best arm of each hour, weekday or month.
    """
    from evaluation.console import Reporter
    from periodic_decisions.backtest.result import as_options
    from periodic_decisions.seasons.check import check_series
    from periodic_decisions.tables.series import read_series

    if picture is not None:
        check_picture(picture)
    if schedule is not None and schedule.suffix.lower() != ".csv":
        raise CommandError(
            "unknown-file-type",
            f"the file name of --schedule must end in .csv, got {schedule.name!r}",
        )
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
    if is_log(file, as_log, reading):
        return
    with Reporter(f"Reading {file.name} and looking for its seasons"):
        series = read_series(file, **reading)
        result = check_series(series, source=file.name, period=period, objective=objective.value)
    for line in result.lines():
        (say if line.startswith(" ") else say_prose)(in_a_shell(line))
    costs = {} if objective is ObjectiveName.max else {"objective": objective.value}
    options = as_options({**costs, **reading})
    say(f"\nTo choose an agent: periodic-gp backtest {shlex.quote(str(file))}{options}")
    if schedule is not None:
        write(schedule, result.schedule.csv().encode())
        say(f"Wrote the schedule to {schedule}")
    if picture is not None:
        from periodic_decisions.seasons.figure import check_figure

        save_picture(check_figure(result), picture)
        say(f"Wrote the figure to {picture}")


@app.command()
def example(
    file: Annotated[Path, typer.Argument(help="File to write, for example demand.csv.")],
) -> None:
    """Write the example table: four weeks of synthetic hourly demand at five places."""
    from periodic_envs.worlds.replay import EXAMPLE

    content = EXAMPLE.read_bytes()
    if file.exists() and not (file.is_file() and file.read_bytes() == content):
        raise CommandError("file-exists", f"{str(file)!r} already exists: choose another name")
    write(file, content)
    say(f"Wrote {file}. Describe the table with: periodic-gp data check {shlex.quote(str(file))}")
