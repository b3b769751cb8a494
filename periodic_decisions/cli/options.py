"""Options of all commands that read a user's table, and what they share."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluation.cli.shared import CommandError, say

TableArgument = Annotated[
    Path,
    typer.Argument(help="The table to look at: .csv, .tsv, .txt or .parquet, long or wide."),
]


class ObjectiveName(str, Enum):
    """Values of ``--objective``."""

    max = "max"
    min = "min"


ObjectiveOption = Annotated[
    ObjectiveName, typer.Option(help="Whether more is better (max) or less (min).")
]
PeriodOption = Annotated[
    list[float] | None,
    typer.Option(
        min=2.0,
        help="A season in steps; give the option several times for several, the main one first. By "
        "default those that are found.",
    ),
]
TimeColumnOption = Annotated[str | None, typer.Option(help="The name of the column of times.")]
ArmColumnOption = Annotated[
    str | None, typer.Option(help="The name of the column of arms, in a long table.")
]
RewardColumnOption = Annotated[
    str | None, typer.Option(help="The name of the column of rewards, in a long table.")
]
ArmsOption = Annotated[
    list[str] | None,
    typer.Option(help="An arm to keep; give the option several times for several arms."),
]
TimeFormatOption = Annotated[
    str | None, typer.Option(help="How times are written, for example %d.%m.%Y %H:%M.")
]
DuplicatesOption = Annotated[
    str | None,
    typer.Option(help="Treatment of repeated values: mean averages them; by default an error."),
]
SeparatorOption = Annotated[
    str | None, typer.Option(help="The sign between the values of a CSV file.")
]
DecimalOption = Annotated[str | None, typer.Option(help="The decimal sign of a CSV file.")]
EncodingOption = Annotated[
    str | None, typer.Option(help="The encoding of a CSV file, for example cp1252.")
]
NaValuesOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A word or number that stands for a missing value; give the option several times for "
        "several words."
    ),
]
TimezoneOption = Annotated[
    str | None,
    typer.Option(help="The zone whose clocks give the times, for example Europe/Madrid."),
]
AsLogOption = Annotated[
    bool | None,
    typer.Option(
        "--log/--table",
        help="Insist that the file is a log of decisions, or a table with the rewards of all arms; "
        "by default it is a log if only one arm has a reward at most times.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]

_ARGUMENTS = re.compile(  # arguments of readers and deciders that are options of commands
    r"(?<![-\w])(?:(time_column|arm_column|reward_column|time_format|na_values|probability_column"
    r"|context_columns)\b|(arms|duplicates|separator|decimal|encoding|timezone|start|agent)(?==))=?"
    r"(\[[^]]*\])?"
)


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def in_a_shell(sentence: str) -> str:
    """Return a sentence about arguments of Python with the options of a command.

    >>> in_a_shell("give na_values=['-', 'no data'], or name them as arms=[...]")
    "give --na-values - --na-values 'no data', or name them as --arms ..."
    >>> in_a_shell("give time_format='%d/%m'; then give arm_column")
    "give --time-format '%d/%m'; then give --arm-column"
    """

    def option(found: re.Match[str]) -> str:
        name = f"--{(found[1] or found[2]).replace('_', '-')}".replace("-columns", "")
        values = re.findall(r"'([^']*)'", found[3] or "")
        if values:
            return " ".join(f"{name} {shlex.quote(value)}" for value in values)
        return f"{name} {'...' if found[3] else ''}" if "=" in found[0] else name

    return _ARGUMENTS.sub(option, re.sub(r"\b(partial|again)=True", r"--\1", sentence))


def is_log(file: Path, as_log: bool | None, reading: dict[str, Any]) -> bool:
    """Return whether a file is a log; if so, print the command that looks at it."""
    from periodic_decisions.logs.reading import tell_kind

    found, why = (False, "") if as_log is False else tell_kind(file, **reading)
    if not (as_log or found):
        return False
    say(f"This is a log of decisions, not a table of all rewards{f' ({why})' if found else ''}.")
    say(f"Look at it: periodic-gp data log {shlex.quote(str(file))}")
    say("If it has the rewards of all arms, say so with --table.")
    return True


def say_table(rows: Sequence[Sequence[str]], words: int = 1) -> None:
    """Print rows in columns, the first ones of words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            f"{cell:<{width}}" if i < words else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say("  ".join(cells).rstrip())


def check_folder(path: Path) -> None:
    """Refuse a file to write whose folder is missing, before the work."""
    if path.is_dir() or not path.parent.is_dir():
        raise CommandError(f"cannot write {str(path)!r}: give a file in a folder that exists")


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    from periodic_envs.files import write_atomically

    try:
        write_atomically(path, content)
    except OSError as error:
        raise CommandError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
