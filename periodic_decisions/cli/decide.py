"""Decide in production: ask for a choice and report its reward, with all state in one file."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from evaluation.cli.shared import CommandError, JsonOption, check_picture, save_picture, write
from evaluation.console import say, say_prose
from periodic_decisions.cli.options import (
    ArmColumnOption,
    ArmsOption,
    DecimalOption,
    DuplicatesOption,
    EncodingOption,
    NaValuesOption,
    ObjectiveName,
    ObjectiveOption,
    RewardColumnOption,
    SeparatorOption,
    TimeColumnOption,
    TimeFormatOption,
    options_set,
)

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)

StateArgument = Annotated[Path, typer.Argument(help="File of the decider.")]
AgentOption = Annotated[
    str | None,
    typer.Option(
        help="Agent of the decider; required if the agent comes from your own file "
        "(my_agent.py:MyAgent). For safety, a command imports this file only if you name the agent."
    ),
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace the file if it already exists.")
]
AtOption = Annotated[
    str | None, typer.Option(help="Time of the decision, such as '2026-11-16 09:00'; default: now.")
]


@app.command()
def init(
    state: StateArgument,
    arms: Annotated[
        list[str],
        typer.Option(
            help="Name of an arm, one of the alternatives to choose from; repeat the option for "
            "each arm."
        ),
    ],
    step: Annotated[str, typer.Option(help="Length of a step, such as 15min or 1h.")],
    seasons: Annotated[
        list[str] | None,
        typer.Option(
            help="Length of a season, such as '1 day'; repeat the option for several seasons, the "
            "main season first. Default: no season."
        ),
    ] = None,
    agent: Annotated[
        str,
        typer.Option(help="Agent that decides; 'periodic-gp agents' lists the available agents."),
    ] = "auto-gp-ucb",
    timezone: Annotated[
        str | None,
        typer.Option(help="Time zone of times without an offset, such as Europe/Madrid."),
    ] = None,
    objective: ObjectiveOption = ObjectiveName.max,
    explore: Annotated[
        float, typer.Option(help="Share of the choices that are made at random, from 0 to 1.")
    ] = 0.0,
    remember: Annotated[
        int | None,
        typer.Option(help="Maximum number of choices, and of rewards, that the file stores."),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="Earliest time of choices and rewards; default: the time of the first choice or "
            "of the first learned reward."
        ),
    ] = None,
) -> None:
    """Create a decider and its file."""
    from periodic_decisions.decider.decider import Decider

    if state.exists():
        raise CommandError(
            "file-exists", f"{str(state)!r} already exists: remove it, or choose another name"
        )
    decider = Decider(
        arms,
        step=step,
        seasons=seasons or [],
        agent=agent,
        timezone=timezone,
        objective=objective.value,
        explore=explore,
        start=start,
        **options_set(remember=remember),
    )
    decider.save(state)
    say(
        f"Created {state} with steps of {decider.settings['step']} and the arms "
        f"{', '.join(decider.arms)}"
    )
    file = shlex.quote(str(state))
    say_prose(
        f"Next: if you have past rewards, run 'periodic-gp decide learn {file} TABLE'. Then run "
        f"'periodic-gp decide ask {file}' for each choice, and 'periodic-gp decide tell {file} ID "
        "REWARD' when its reward is known."
    )


@app.command()
def ask(
    state: StateArgument,
    at: AtOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose an arm and print it with the id of the choice."""
    from periodic_decisions.decider.decider import Decider

    with Decider.opened(state, agent=agent) as decider:
        choice = decider.choose(at)
    if as_json:  # print only after the choice is on disk
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
        str,
        typer.Argument(
            metavar="ID",
            help="Id of the choice, as printed by 'ask'; 'open' lists the ids of open choices.",
        ),
    ],
    reward: Annotated[
        float, typer.Argument(metavar="REWARD", help="Reward of the choice, a number.")
    ],
    agent: AgentOption = None,
) -> None:
    """Report the reward of a choice."""
    from periodic_decisions.decider.decider import Decider

    with Decider.opened(state, agent=agent) as decider:
        decider.tell(choice, reward)
    say(f"Recorded the reward {reward:g} for choice {choice}")


@app.command("open")
def list_open(state: StateArgument, agent: AgentOption = None, as_json: JsonOption = False) -> None:
    """List the choices without a reward, with their ids."""
    from periodic_decisions.decider.decider import Decider

    log = Decider.load(state, agent=agent).log
    waiting = log.loc[log["reward"].isna(), ["choice_id", "time", "arm"]]
    if as_json:
        typer.echo(json.dumps(waiting.to_dict("records"), default=str))
    elif waiting.empty:
        say("No choice is open: all rewards are known.")
    else:
        say(waiting.to_string(index=False))


@app.command()
def learn(
    state: StateArgument,
    table: Annotated[
        Path,
        typer.Argument(
            help="Table with the rewards of all arms, or log of choices: a .csv, .tsv, .txt or "
            ".parquet file."
        ),
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
            "--again",
            help="Learn again from rewards that are already known, instead of skipping them.",
        ),
    ] = False,
) -> None:
    """Learn from a table with the rewards of all arms, wide or long, or from a log of choices.

    Rewards that are already known are skipped, so you can learn from a growing table repeatedly.
    """
    from evaluation.console import Reporter
    from evaluation.runner import Progress
    from periodic_decisions.decider.decider import Decider

    reading = options_set(
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
    steps: Annotated[int, typer.Option(help="Number of steps to plan.")] = 24,
    csv: Annotated[
        Path | None,
        typer.Option(help="CSV file for the plan, which is then not printed."),
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="File for a figure of the plan.")] = None,
    agent: AgentOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Show the choices that the decider would make if no further rewards arrived.

    The decider stays unchanged. A step is marked as a trial if the decider would choose an arm to
    learn about it, although another arm has a higher expected reward.
    """
    from periodic_decisions.decider.decider import Decider

    if picture is not None:
        check_picture(picture)
    if csv is not None:
        _check_free(csv, overwrite)
    result = Decider.load(state, agent=agent).plan(at, steps=steps)
    if csv is None:
        say(result.text())
    else:
        write(csv, result.table.to_csv(index=False).encode())
        say(f"Wrote {len(result):,} steps to {csv}")
    if picture is not None:
        save_picture(result.plot(), picture)
        say(f"Wrote the figure to {picture}")
    for note in result.notes:
        say_prose(note)


@app.command("log")
def write_log(
    state: StateArgument,
    out: Annotated[Path, typer.Argument(help="CSV file to write.")],
    agent: AgentOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write all stored choices to a CSV file, with their rewards, probabilities and ids."""
    from periodic_decisions.decider.decider import Decider

    _check_free(out, overwrite)
    decider = Decider.load(state, agent=agent)
    decider.export_log(out)
    waiting = len(decider.open_choices)
    unknown = "1 reward is" if waiting == 1 else f"{waiting:,} rewards are"
    say(f"Wrote the log to {out}; {unknown} not known yet")


@app.command("add-arm")
def add_arm(
    state: StateArgument,
    arm: Annotated[str, typer.Argument(help="Name of the new or retired arm.")],
    agent: AgentOption = None,
) -> None:
    """Add a new arm, or make a retired arm available again."""
    from periodic_decisions.decider.decider import Decider

    with Decider.opened(state, agent=agent) as decider:
        decider.add_arm(arm)
    say(f"Arms: {', '.join(decider.arms)}")


@app.command("retire-arm")
def retire_arm(
    state: StateArgument,
    arm: Annotated[str, typer.Argument(help="Name of the arm to retire.")],
    agent: AgentOption = None,
) -> None:
    """Stop choosing an arm; rewards of its past choices can still be reported."""
    from periodic_decisions.decider.decider import Decider

    with Decider.opened(state, agent=agent) as decider:
        decider.retire_arm(arm)
    say(f"Arms: {', '.join(decider.arms)}")


def _check_free(path: Path, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise CommandError(
            "file-exists",
            f"{str(path)!r} already exists: choose another name, or replace it with --overwrite",
        )
