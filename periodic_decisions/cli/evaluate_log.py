"""The command ``data log``: estimates of other policies by a log of decisions."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluation.cli.shared import CommandError, say, say_prose
from periodic_decisions.cli.options import (
    ArmColumnOption,
    AsLogOption,
    DecimalOption,
    EncodingOption,
    NaValuesOption,
    RewardColumnOption,
    SeparatorOption,
    TimeColumnOption,
    TimeFormatOption,
    TimezoneOption,
    say_table,
)

if TYPE_CHECKING:  # pandas and SciPy are too slow for a help text
    from periodic_decisions.logs.evaluate import Estimate, OffPolicy

HEADER = ("policy", "estimator", "value per step", "95 % interval", "effective rows", "no overlap")
LEGEND = (
    "Effective rows: so many rows of equal weight would say as much. No overlap: share of the "
    "steps in which the policy takes an arm that the log never chose at that time of the season; "
    "where probabilities are logged, only if that is no accident."
)


def evaluate_log(
    file: Annotated[
        Path,
        typer.Argument(
            help="The log: a long table of time, arm, reward and, if known, probability."
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help='A policy to judge: "arm:NAME", "schedule:FILE.csv", "best-per-phase" or '
            '"agent:NAME"; give the option several times for several.'
        ),
    ] = None,
    estimator: Annotated[
        list[str] | None,
        typer.Option(
            help="How to judge: dr (doubly robust, the default), sndr, ips, snips, or dm (the "
            "model alone); give the option several times for several. Agents are replayed."
        ),
    ] = None,
    period: Annotated[
        float | None,
        typer.Option(help="The period in steps; a day by default, where times are dated."),
    ] = None,
    phases: Annotated[
        int | None,
        typer.Option(help="How many phases of a season are told apart; by default one per step."),
    ] = None,
    block_seasons: Annotated[
        int, typer.Option(help="Whole seasons in a block that intervals are made of, at least.")
    ] = 1,
    partial: Annotated[
        bool, typer.Option("--partial", help="Answer for the steps that the log can tell about.")
    ] = False,
    estimate_probabilities: Annotated[
        bool,
        typer.Option(
            "--estimate-probabilities",
            help="Estimate probabilities by shares in phases even where they are logged.",
        ),
    ] = False,
    clip: Annotated[
        float | None, typer.Option(help="Cut weights to this; they are not cut by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of a replayed agent.")] = 0,
    step: Annotated[
        str | None, typer.Option(help="Round times down to steps of this length, such as 1h.")
    ] = None,
    time_column: TimeColumnOption = None,
    arm_column: ArmColumnOption = None,
    reward_column: RewardColumnOption = None,
    probability_column: Annotated[
        str | None, typer.Option(help="The name of the column of probabilities.")
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of the context; give the option several times for several. By default "
            "all columns of numbers that are nothing else."
        ),
    ] = None,
    time_format: TimeFormatOption = None,
    separator: SeparatorOption = None,
    decimal: DecimalOption = None,
    encoding: EncodingOption = None,
    na_values: NaValuesOption = None,
    timezone: TimezoneOption = None,
    as_log: AsLogOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the estimates as JSON, and nothing else.")
    ] = False,
) -> None:
    """Judge policies by a log of decisions that another one made, or refuse where it cannot tell.

    Without a policy it says what the log holds: what its policy did, and what it never did.
    """
    from agents import AgentSpec
    from periodic_decisions.logs.describe import describe, guess_period
    from periodic_decisions.logs.evaluate import OffPolicy, check_estimator
    from periodic_decisions.logs.policies import parse_policy
    from periodic_decisions.logs.reading import read_log

    policies, estimators = policy or [], estimator or ["dr"]
    columns = {
        "time_column": time_column,
        "arm_column": arm_column,
        "reward_column": reward_column,
        "time_format": time_format,
        "separator": separator,
        "encoding": encoding,
    }
    try:
        for one in estimators:
            check_estimator(one)
        for one in policies:
            agent = one.startswith("agent:")
            AgentSpec.parse(one.removeprefix("agent:")) if agent else parse_policy(one)
        _require_log(file, as_log, columns)
        log = read_log(
            file,
            **columns,
            probability_column=probability_column,
            context_columns=context,
            step=step,
            decimal=decimal,
            na_values=na_values,
            timezone=timezone,
        )
        length = guess_period(log) if period is None else period
        if length is None:
            raise CommandError("give the length of a season in steps, as --period 24")
        off_policy = OffPolicy(
            log=log,
            period=length,
            phases=phases,
            seasons_per_block=block_seasons,
            estimated=estimate_probabilities,
            clip=clip,
            partial=partial,
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    if not as_json:
        for line in describe(log, off_policy.seasons):
            (say if "  " in line else say_prose)(line)  # tables have columns
        if period is None:
            say("\nNo period was given: it is taken for a day.")
    if policies or as_json:
        _answer(off_policy, policies, estimators, seed, as_json)


def _require_log(file: Path, as_log: bool | None, columns: dict[str, str | None]) -> None:
    from periodic_decisions.logs.reading import tell_kind

    found, why = (True, "") if as_log else tell_kind(file, **columns)
    # A file that cannot be read is reported by reading it.
    if as_log is False or (not found and why.startswith(("at ", "it is a wide"))):
        raise CommandError(
            f"{file.name!r} is a table of rewards, not a log: look at it with periodic-gp data "
            f"check {shlex.quote(str(file))}, or insist on a log with --log"
        )


def _answer(
    off_policy: OffPolicy, policies: list[str], estimators: list[str], seed: int, as_json: bool
) -> None:
    from periodic_decisions.logs.log import DecisionLogError
    from periodic_decisions.logs.policies import parse_policy
    from periodic_decisions.logs.rejection import replay_agent

    found, refused = [off_policy.logged()], []
    for policy in policies:
        agent = policy.removeprefix("agent:")
        for estimator in estimators if agent == policy else ["replay"]:
            try:
                if agent == policy:
                    found.append(off_policy.evaluate(parse_policy(policy), estimator))
                else:
                    found.append(replay_agent(off_policy, agent, seed=seed))
            except DecisionLogError as error:
                refused.append(f"{policy}, {estimator}: {error}")
    if as_json:
        say(json.dumps({"estimates": [_plain(one) for one in found], "refused": refused}, indent=1))
        return
    say("")
    say_table([HEADER, *map(_row, found)], words=2)
    say_prose(LEGEND)
    for note in dict.fromkeys(f"{one.policy}: {note}." for one in found for note in one.notes):
        say_prose(f"Note on {note}")
    if refused:
        raise CommandError("; ".join(refused))


def _row(one: Estimate) -> tuple[str, ...]:
    return (
        one.policy,
        one.estimator,
        f"{one.value.estimate:,.4g}",
        f"{one.value.low:,.4g} to {one.value.high:,.4g}",
        f"{one.effective_size:,.0f}",
        f"{one.blind:.1%}",
    )


def _plain(one: Estimate) -> dict[str, Any]:
    """Return an estimate for JSON."""
    return {
        "policy": one.policy,
        "estimator": one.estimator,
        "value": one.value.estimate,
        "low": one.value.low,
        "high": one.value.high,
        "effective_size": one.effective_size,
        "no_overlap": one.blind,
        "rows": one.rows,
        "notes": list(one.notes),
    }
