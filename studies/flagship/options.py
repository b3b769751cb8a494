"""The command line: which parts, and on whose data."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path

from studies.flagship.table_windows import DEFAULT_STEPS
from studies.lab import study_parser

BY_NAME = ("madrid-2018",)
"""Parts that are run only when they are asked for: every look at 2018 makes it less blind."""


def parse_years(text: str) -> tuple[int, ...]:
    """Years, as a range with both ends or as a list.

    >>> parse_years("2019:2021"), parse_years("2016,2018")
    ((2019, 2020, 2021), (2016, 2018))
    """
    first, colon, last = text.partition(":")
    try:
        years = range(int(first), int(last) + 1) if colon else [int(y) for y in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"years are written 2016:2017 or 2016,2018, got {text!r}") from None
    if not years:
        raise ArgumentTypeError(f"years {text} are none: the last must not be before the first")
    return tuple(sorted(set(years)))


def parse_periods(text: str) -> tuple[float, ...]:
    """One season or several, in steps, the main one first.

    >>> parse_periods("24"), parse_periods("168,24")
    ((24.0,), (168.0, 24.0))
    """
    try:
        return tuple(float(part) for part in text.strip("[]").split(","))
    except ValueError:
        raise ArgumentTypeError(f"periods are written 24 or 168,24, got {text!r}") from None


def flagship_parser(about: str, parts: Sequence[str]) -> ArgumentParser:
    """All options of the study."""
    parser = study_parser(about, store="auto-gp.sqlite", seeds="0:40", parts=parts)
    parser.epilog = f"Run only when it is named: {', '.join(BY_NAME)}."
    words = "Folder of the page; docs by default, and none with --table or --years."
    parser.add_argument("--docs", type=Path, help=words)
    words = "Only these worlds of core; the others keep their rows."
    parser.add_argument("--worlds", nargs="*", help=words)
    words = "Years of Madrid, as 2019:2021 or 2016,2018, in the place of 2016 and 2017."
    parser.add_argument("--years", type=parse_years, help=words)
    words = "A table to judge on in the place of ours, wide or long; may be given several times."
    parser.add_argument("--table", type=Path, action="append", default=[], help=words)
    words = "The tables' season in steps, or several, as 168,24; needed with --table."
    parser.add_argument("--period", type=parse_periods, help=words)
    words = "Length of the tables' windows, the warm start included; 384 by default."
    parser.add_argument("--steps", type=int, default=DEFAULT_STEPS, help=words)
    words = "Days from the beginning of a window to that of the next; by default one follows the "
    words += "other in tables, and Madrid has one every five days."
    parser.add_argument("--every", type=float, help=words)
    words = "Steps of the tables' warm start; two seasons by default, 0 for none."
    parser.add_argument("--warm", type=int, help=words)
    words = "When the tables' first window begins; with the table by default."
    parser.add_argument("--start", help=words)
    return parser


def parsed(parser: ArgumentParser, arguments: Sequence[str] | None = None) -> Namespace:
    """The options, with what they leave open filled in; ends with a sentence if they do not fit."""
    options = parser.parse_args(arguments)
    if options.table and options.period is None:
        parser.error("--table needs --period: 'periodic-gp data check FILE' estimates it")
    if options.every is not None and not options.every > 0:
        parser.error(f"--every must be positive, got {options.every:g}")
    other_data = ["tables"] * bool(options.table) + ["madrid"] * bool(options.years)
    if options.docs is None and not other_data:
        options.docs = Path("docs")
    options.parts = options.parts or other_data
    return options
