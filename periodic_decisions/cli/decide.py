"""Decide in production: ask for a choice, tell its reward, from one file."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from evaluation.cli.shared import CommandError, check_picture, save_picture, say, say_prose
from periodic_decisions.cli.options import (
    ArmColumnOption,
    ArmsOption,
    DecimalOption,
    DuplicatesOption,
    EncodingOption,
    JsonOption,
    NaValuesOption,
    ObjectiveName,
    ObjectiveOption,
    RewardColumnOption,
    SeparatorOption,
    TimeColumnOption,
    TimeFormatOption,
    given,
    write,
)

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)

StateArgument = Annotated[Path, typer.Argument(help="The file that the decider is kept in.")]
AgentOption = Annotated[
    str | None,
    typer.Option(
        help="The agent that the decider was made with, if it comes from a file of yours "
        "(mine.py:Mine): the decider does not import it unless you name it again."
    ),
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace the file if it is there already.")
]
AtOption = Annotated[
    str | None, typer.Option(help="The time, such as '2026-11-16 09:00'; by default now.")
]


@app.command()
def init(
    state: StateArgument,
    arms: Annotated[
        list[str], typer.Option(help="What can be chosen; give the option for each arm.")
    ],
    step: Annotated[str, typer.Option(help="How often choices differ, such as 15min or 1h.")],
    seasons: Annotated[
        list[str] | None,
        typer.Option(
            help="What repeats, such as '1 day'; give the option for each season, the main one "
            "first."
        ),
    ] = None,
    agent: Annotated[
        str, typer.Option(help="The agent that decides; periodic-gp agents lists them.")
    ] = "auto-gp-ucb",
    timezone: Annotated[
        str | None,
        typer.Option(help="The time zone whose clocks you go by, such as Europe/Madrid."),
    ] = None,
    objective: ObjectiveOption = ObjectiveName.max,
    explore: Annotated[
        float, typer.Option(help="Share of choices that are made at random, from 0 to 1.")
    ] = 0.0,
    remember: Annotated[
        int | None, typer.Option(help="How many choices, and how many rewards, are kept.")
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="The first time; by default that of the first choice.")
    ] = None,
) -> None:
    """Make a decider, and the file that it is kept in."""
    from periodic_decisions.decider.decider import Decider

    if state.exists():
        raise CommandError(f"{str(state)!r} is there already: remove it first, or take another")
    decider = Decider(
        arms,
        step=step,
        seasons=seasons or [],
        agent=agent,
        timezone=timezone,
        objective=objective.value,
        explore=explore,
        start=start,
        **given(remember=remember),
    )
    decider.save(state)
    say(f"Made {state}: {', '.join(decider.arms)}, every {decider.settings['step']}")
    file = shlex.quote(str(state))
    say_prose(
        f"Next: periodic-gp decide learn {file} TABLE if there is a past; then ask {file}, and "
        f"tell {file} ID REWARD when it is known."
    )


@app.command()
def ask(
    state: StateArgument,
    at: AtOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose an arm, and print it with the id under which its reward is told."""
    from periodic_decisions.decider.decider import Decider

    with Decider.opened(state, agent=agent) as decider:
        choice = decider.choose(at)
    if as_json:  # only now is the choice on the disk
        typer.echo(json.dumps(asdict(choice), default=str))
        return
    say(f"arm          {choice.arm}")
    say(f"id           {choice.id}")
    say(f"time         {choice.time}")
    low, high = choice.interval or (None, None)
    bounds = f"{choice.expected:.4g} (95 %: {low:.4g} to {high:.4g})" if choice.interval else ""
    say(f"expected     {bounds or 'unknown'}")
    say(f"probability  {'unknown' if choice.probability is None else f'{choice.probability:g}'}")


@app.command(context_settings={"ignore_unknown_options": True})
def tell(
    state: StateArgument,
    choice: Annotated[
        str, typer.Argument(metavar="ID", help="The id that ask printed; open lists them.")
    ],
    reward: Annotated[float, typer.Argument(metavar="REWARD", help="Its reward, a number.")],
    agent: AgentOption = None,
) -> None:
    """Tell the reward of a choice."""
    from periodic_decisions.decider.decider import Decider

    with Decider.opened(state, agent=agent) as decider:
        decider.tell(choice, reward)
    say(f"Learned that {choice} gave {reward:g}")


@app.command("open")
def list_open(state: StateArgument, agent: AgentOption = None, as_json: JsonOption = False) -> None:
    """List the choices whose rewards were not told yet, with their ids."""
    from periodic_decisions.decider.decider import Decider

    log = Decider.load(state, agent=agent).log
    waiting = log.loc[log["reward"].isna(), ["choice_id", "time", "arm"]]
    if as_json:
        typer.echo(json.dumps(waiting.to_dict("records"), default=str))
    elif waiting.empty:
        say("No choice is open: all rewards were told.")
    else:
        say(waiting.to_string(index=False))


@app.command()
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
    from evaluation.progress import Reporter
    from evaluation.runner import Progress
    from periodic_decisions.decider.decider import Decider

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
        count = decider.learn(
            table,
            again=again,
            on_progress=lambda done, of: report(Progress(of, done, 0)),
            **reading,
        )
    say(f"Learned {count:,} rewards from {table}")


@app.command()
def plan(
    state: StateArgument,
    at: AtOption = None,
    steps: Annotated[int, typer.Option(help="How many steps to plan.")] = 24,
    csv: Annotated[
        Path | None, typer.Option(help="Write the plan into this CSV file instead.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the plan into this file.")] = None,
    agent: AgentOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Show what would be chosen from a time on if no more rewards came, and change nothing.

    Steps marked as a trial are taken to learn: another arm is expected to be better.
    """
    from periodic_decisions.decider.decider import Decider

    if picture is not None:
        check_picture(picture)
    if csv is not None:
        _check_free(csv, overwrite)
    found = Decider.load(state, agent=agent).plan(at, steps=steps)
    if csv is None:
        say(found.text())
    else:
        write(csv, found.table.to_csv(index=False).encode())
        say(f"Wrote {len(found):,} steps into {csv}")
    if picture is not None:
        save_picture(found.plot(), picture)
        say(f"Drew it into {picture}")
    for note in found.notes:
        say_prose(note)


@app.command("log")
def write_log(
    state: StateArgument,
    out: Annotated[Path, typer.Argument(help="The CSV file to write.")],
    agent: AgentOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write all choices that are remembered, with rewards, probabilities and ids."""
    from periodic_decisions.decider.decider import Decider

    _check_free(out, overwrite)
    decider = Decider.load(state, agent=agent)
    decider.export_log(out)
    waiting = len(decider.open_choices)
    untold = "1 reward is" if waiting == 1 else f"{waiting:,} rewards are"
    say(f"Wrote the log into {out}; {untold} not told yet")


@app.command("add-arm")
def add_arm(
    state: StateArgument,
    arm: Annotated[str, typer.Argument(help="The arm: a new one, or one that was retired.")],
    agent: AgentOption = None,
) -> None:
    """Add an arm, or one that was retired."""
    from periodic_decisions.decider.decider import Decider

    with Decider.opened(state, agent=agent) as decider:
        decider.add_arm(arm)
    say(f"Arms: {', '.join(decider.arms)}")


@app.command("retire-arm")
def retire_arm(
    state: StateArgument,
    arm: Annotated[str, typer.Argument(help="The arm.")],
    agent: AgentOption = None,
) -> None:
    """Retire an arm; the rewards of its choices may still be told."""
    from periodic_decisions.decider.decider import Decider

    with Decider.opened(state, agent=agent) as decider:
        decider.retire_arm(arm)
    say(f"Arms: {', '.join(decider.arms)}")


def _check_free(path: Path, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise CommandError(
            f"{str(path)!r} is there already: take another name, or replace it with --overwrite"
        )
