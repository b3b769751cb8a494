"""Options and functions that are shared by the commands that read a user's table."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluation.console import say

TableArgument = Annotated[
    Path,
    typer.Argument(help="Table to read: a .csv, .tsv, .txt or .parquet file, long or wide."),
]


class ObjectiveName(str, Enum):
    """Values of ``--objective``."""

    max = "max"
    min = "min"


ObjectiveOption = Annotated[
    ObjectiveName,
    typer.Option(help="max if larger values are better, min if smaller values are better."),
]
PeriodOption = Annotated[
    list[float] | None,
    typer.Option(
        min=2.0,
        help="Length of a season in steps; repeat the option for several seasons, the main season "
        "first. Default: the detected seasons.",
    ),
]
TimeColumnOption = Annotated[str | None, typer.Option(help="Name of the column with the times.")]
ArmColumnOption = Annotated[
    str | None, typer.Option(help="Name of the column with the arms in a long table.")
]
RewardColumnOption = Annotated[
    str | None, typer.Option(help="Name of the column with the rewards in a long table.")
]
ArmsOption = Annotated[
    list[str] | None,
    typer.Option(help="Arm to use; repeat the option for several arms. Default: all arms."),
]
TimeFormatOption = Annotated[
    str | None,
    typer.Option(help="Format of the times, such as %d.%m.%Y %H:%M. Default: the detected format."),
]
DuplicatesOption = Annotated[
    str | None,
    typer.Option(
        help="Treatment of different values for the same arm and time: mean averages them; error, "
        "the default, rejects the table."
    ),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(
        help="Separator of the fields of a CSV file: a comma, semicolon or tab. Default: the "
        "detected separator."
    ),
]
DecimalOption = Annotated[
    str | None,
    typer.Option(help="Decimal mark of a CSV file, point or comma. Default: the detected mark."),
]
EncodingOption = Annotated[
    str | None,
    typer.Option(help="Encoding of a CSV file, such as cp1252. Default: the detected encoding."),
]
NaValuesOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Word or number that marks missing values, in addition to common words such as NaN; "
        "repeat the option for several words."
    ),
]
TimezoneOption = Annotated[
    str | None,
    typer.Option(help="Time zone of the times, for example Europe/Madrid."),
]
AsLogOption = Annotated[
    bool | None,
    typer.Option(
        "--log/--table",
        help="Read the file as a log of decisions, or as a table with the rewards of all arms. "
        "Default: a log if the file has probabilities of choices, or if usually only one arm has "
        "a reward at a time.",
    ),
]

_ARGUMENTS = re.compile(  # Python arguments that are also options of commands
    r"(?<![-\w])(?:(time_column|arm_column|reward_column|time_format|na_values|probability_column"
    r"|context_columns)\b|(arms|duplicates|separator|decimal|encoding|timezone|start|agent)(?==))=?"
    r"(\[[^]]*\])?"
)


def options_set(**options: Any) -> dict[str, Any]:
    """Return the options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def in_a_shell(sentence: str) -> str:
    """Return a sentence with Python arguments replaced by command-line options.

    >>> in_a_shell("give na_values=['-', 'no data'], or name them as arms=[...]")
    "give --na-values - --na-values 'no data', or name them as --arms ..."
    >>> in_a_shell("give time_format='%d/%m'; then give arm_column")
    "give --time-format '%d/%m'; then give --arm-column"
    """

    def option(match: re.Match[str]) -> str:
        name = f"--{(match[1] or match[2]).replace('_', '-')}".replace("-columns", "")
        values = re.findall(r"'([^']*)'", match[3] or "")
        if values:
            return " ".join(f"{name} {shlex.quote(value)}" for value in values)
        return f"{name} {'...' if match[3] else ''}" if "=" in match[0] else name

    return _ARGUMENTS.sub(option, re.sub(r"\b(partial|again)=True", r"--\1", sentence))


def is_log(file: Path, as_log: bool | None, reading: dict[str, Any]) -> bool:
    """Return whether a file is a log; if so, print the command that describes it."""
    from periodic_decisions.tables.roles import detect_kind

    has_log, why = (False, "") if as_log is False else detect_kind(file, **reading)
    if not (as_log or has_log):
        return False
    say(
        "This is a log of decisions, not a table with the rewards of all arms"
        f"{f' ({why})' if has_log else ''}."
    )
    say(f"Describe the log with: periodic-gp data log {shlex.quote(str(file))}")
    say("If the file is a table with the rewards of all arms, pass --table.")
    return True


def say_table(rows: Sequence[Sequence[str]], words: int = 1) -> None:
    """Print rows with aligned columns: the first ``words`` to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            f"{cell:<{width}}" if i < words else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say("  ".join(cells).rstrip())
