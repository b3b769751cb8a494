"""Options of all commands that read somebody's own table."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

TableArgument = Annotated[
    Path,
    typer.Argument(help="The table to look at: .csv, .tsv, .txt or .parquet, long or wide."),
]
ObjectiveOption = Annotated[str, typer.Option(help="Whether more is better (max) or less (min).")]
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
    typer.Option(
        help="What to do with values that are there twice: mean averages them; by default "
        "they are an error."
    ),
]
SeparatorOption = Annotated[
    str | None, typer.Option(help="The sign between the values of a CSV file.")
]
DecimalOption = Annotated[str | None, typer.Option(help="The decimal sign of a CSV file.")]

EncodingOption = Annotated[
    str | None,
    typer.Option(help="How the letters of a CSV file are written, for example cp1252."),
]
NaValuesOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A word or number that says that nothing was measured; give the option several "
        "times for several words."
    ),
]
TimezoneOption = Annotated[
    str | None,
    typer.Option(help="The zone whose clocks give the times, for example Europe/Madrid."),
]


def given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


ARGUMENTS = (
    *("time_column", "arm_column", "reward_column", "time_format", "na_values"),
    *("arms", "duplicates", "separator", "decimal", "encoding", "timezone"),
    *("probability_column", "context_columns", "start", "agent"),
)
"""Arguments of readers and deciders that are options of commands."""
OTHERWISE = {"context_columns": "--context"}
"""Options that are called otherwise than the argument."""
_VALUED = re.compile(rf"\b({'|'.join(ARGUMENTS)})=(\[[^]]*\])?")
_NAMED = re.compile(rf"(?<![-\w])({'|'.join(name for name in ARGUMENTS if '_' in name)})\b")


def in_a_shell(sentence: str) -> str:
    """A sentence of the reader, which names arguments of Python, with the options of a command.

    >>> in_a_shell("give na_values=['-', 'no data'], or name them as arms=[...]")
    "give --na-values - --na-values 'no data', or name them as --arms ..."
    >>> in_a_shell("give time_format='%d/%m'; then give arm_column")
    "give --time-format '%d/%m'; then give --arm-column"
    """
    sentence = sentence.replace("partial=True", "--partial").replace("again=True", "--again")
    return _NAMED.sub(lambda found: _option(found[1]), _VALUED.sub(_with_values, sentence))


def _with_values(found: re.Match[str]) -> str:
    name, listed = _option(found[1]), found[2]
    try:
        values = ast.literal_eval(listed) if listed else []
    except (ValueError, SyntaxError):
        values = []
    if not values or values == [...]:
        return f"{name} {'...' if listed else ''}"
    return " ".join(f"{name} {shlex.quote(str(value))}" for value in values)


def _option(name: str) -> str:
    return OTHERWISE.get(name, f"--{name.replace('_', '-')}")
