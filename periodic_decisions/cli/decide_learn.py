"""The command ``decide learn``: what is known of the past."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evaluation.cli.shared import Reporter, say
from periodic_decisions.cli.reading import (
    ArmColumnOption,
    ArmsOption,
    DecimalOption,
    DuplicatesOption,
    EncodingOption,
    NaValuesOption,
    RewardColumnOption,
    SeparatorOption,
    TimeColumnOption,
    TimeFormatOption,
    given,
)
from periodic_decisions.deciding.decider import Decider

StateArgument = Annotated[Path, typer.Argument(help="The file that the decider is kept in.")]
AgentOption = Annotated[
    str | None,
    typer.Option(
        help="The agent that the decider was made with, if it comes from a file of yours "
        "(mine.py:Mine): the decider does not import it unless you name it again."
    ),
]


def learn(
    state: StateArgument,
    table: Annotated[
        Path, typer.Argument(help="A table of all arms, or a log: .csv, .tsv, .txt or .parquet.")
    ],
    agent: AgentOption = None,
    time_column: TimeColumnOption = None,
    arm_column: ArmColumnOption = None,
    reward_column: RewardColumnOption = None,
    time_format: TimeFormatOption = None,
    separator: SeparatorOption = None,
    decimal: DecimalOption = None,
    encoding: EncodingOption = None,
    na_values: NaValuesOption = None,
    arms: ArmsOption = None,
    duplicates: DuplicatesOption = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Let rewards count that are known already, instead of skipping them."
        ),
    ] = False,
) -> None:
    """Learn from a table of all arms, wide or long, or from a log of choices.

    What is known already is skipped, so that a table that grows can be learned every day.
    """
    from evaluation.runner import Progress

    reading = given(
        time_column=time_column,
        arm_column=arm_column,
        reward_column=reward_column,
        time_format=time_format,
        separator=separator,
        decimal=decimal,
        encoding=encoding,
        na_values=na_values,
        arms=arms,
        duplicates=duplicates,
    )
    reporter = Reporter(quiet=False, title="learning", things="rewards")
    with Decider.opened(state, agent=agent) as decider, reporter as report:

        def on_progress(done: int, of: int) -> None:
            report(Progress(of, done, 0))

        count = decider.learn(table, again=again, on_progress=on_progress, **reading)
    say(f"Learned {count:,} rewards from {table}")
