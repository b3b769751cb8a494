"""Decide in production: ask what to do, tell what came of it, from one file."""

from __future__ import annotations

import io
import json
import re
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.cli.shared import (
    CommandError,
    check_picture,
    save_picture,
    say,
    say_prose,
)
from periodic_decisions.cli.decide_learn import AgentOption, StateArgument, learn
from periodic_decisions.deciding.decider import Choice, Decider
from periodic_decisions.deciding.settings import DEFAULT_REMEMBERED

if TYPE_CHECKING:  # pandas takes half a second, and asking and telling need none of it
    import pandas as pd

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)

_COMMA = re.compile(r"[-+]?\d+,\d+", re.ASCII)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
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
    objective: Annotated[
        str, typer.Option(help="Whether more is better (max) or less (min).")
    ] = "max",
    explore: Annotated[
        float, typer.Option(help="Share of choices that are made at random, from 0 to 1.")
    ] = 0.0,
    remember: Annotated[
        int, typer.Option(help="How many choices, and how many rewards, are kept.")
    ] = DEFAULT_REMEMBERED,
    start: Annotated[
        str | None, typer.Option(help="The first time; by default that of the first choice.")
    ] = None,
) -> None:
    """Make a decider, and the file that it is kept in."""
    if state.exists():
        raise CommandError(f"{str(state)!r} is there already: remove it first, or take another")
    decider = Decider(
        arms,
        step=step,
        seasons=seasons or [],
        agent=agent,
        timezone=timezone,
        objective=objective,
        explore=explore,
        remember=remember,
        start=start,
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
    with Decider.opened(state, agent=agent) as decider:
        choice = decider.choose(at)
    if as_json:  # only now is the choice on the disk
        typer.echo(json.dumps(asdict(choice), default=str))
        return
    say(f"arm          {choice.arm}")
    say(f"id           {choice.id}")
    say(f"time         {choice.time}")
    say(f"expected     {_expected(choice)}")
    say(f"probability  {'unknown' if choice.probability is None else f'{choice.probability:g}'}")


def _expected(choice: Choice) -> str:
    if choice.expected is None or choice.interval is None:
        return "unknown"
    low, high = choice.interval
    return f"{choice.expected:.4g} (95 %: {low:.4g} to {high:.4g})"


@app.command(context_settings={"ignore_unknown_options": True})
def tell(
    state: StateArgument,
    choice: Annotated[
        str, typer.Argument(metavar="ID", help="The id that ask printed; open lists them.")
    ],
    reward: Annotated[str, typer.Argument(metavar="REWARD", help="What came of it, a number.")],
    agent: AgentOption = None,
) -> None:
    """Tell the reward of a choice."""
    value = _number(reward)
    with Decider.opened(state, agent=agent) as decider:
        decider.tell(choice, value)
    say(f"Learned that {choice} gave {value:g}")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        point = text.replace(",", ".")
        meant = f", did you mean {point}?" if _COMMA.fullmatch(text) else ""
        raise CommandError(f"a reward is a number such as 28.5, got {text!r}{meant}") from None


@app.command("open")
def list_open(state: StateArgument, agent: AgentOption = None, as_json: JsonOption = False) -> None:
    """List the choices whose rewards were not told yet, with their ids."""
    log = Decider.load(state, agent=agent).log
    waiting = log.loc[log["reward"].isna(), ["choice_id", "time", "arm"]]
    if as_json:
        typer.echo(json.dumps(waiting.to_dict("records"), default=str))
    elif waiting.empty:
        say("No choice is open: all rewards were told.")
    else:
        say(waiting.to_string(index=False))


app.command()(learn)


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
    if picture is not None:
        check_picture(picture)
    if csv is not None:
        _check_free(csv, overwrite)
    found = Decider.load(state, agent=agent).plan(at, steps=steps)
    if csv is None:
        say(found.text())
    else:
        _write_csv(found.table, csv)
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
    """Let an arm be chosen from now on."""
    with Decider.opened(state, agent=agent) as decider:
        decider.add_arm(arm)
    say(f"Arms: {', '.join(decider.arms)}")


@app.command("retire-arm")
def retire_arm(
    state: StateArgument,
    arm: Annotated[str, typer.Argument(help="The arm.")],
    agent: AgentOption = None,
) -> None:
    """Let an arm be chosen no more; its choices may still be told."""
    with Decider.opened(state, agent=agent) as decider:
        decider.retire_arm(arm)
    say(f"Arms: {', '.join(decider.arms)}")


def _check_free(path: Path, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise CommandError(
            f"{str(path)!r} is there already: take another name, or replace it with --overwrite"
        )


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    from periodic_envs.files import write_atomically

    file = io.StringIO()
    table.to_csv(file, index=False)
    try:
        write_atomically(path, file.getvalue().encode())
    except OSError as error:
        raise CommandError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
