"""The command ``data log``: off-policy estimates from a log of decisions."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluation.cli.shared import CommandError
from evaluation.console import say, say_prose
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

if TYPE_CHECKING:  # importing pandas and SciPy would slow down the help text
    from periodic_decisions.logs.evaluate import Estimate, OffPolicy

HEADER = ("policy", "estimator", "value per step", "95 % interval", "effective rows", "no overlap")
LEGEND = (
    "Effective rows: the number of equally weighted rows that would give the same precision. No "
    "overlap: the share of the steps at which the policy chooses an arm that was never logged at "
    "that phase of the season. If probabilities were logged, an arm counts as never logged only if "
    "chance does not explain its absence."
)


def evaluate_log(
    file: Annotated[
        Path,
        typer.Argument(
            help="Log of decisions: a table with the columns time, arm, reward and, if known, "
            "probability."
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help='Policy to evaluate: "arm:NAME", "schedule:FILE.csv", "best-per-phase" or '
            '"agent:NAME"; repeat the option for several policies.'
        ),
    ] = None,
    estimator: Annotated[
        list[str] | None,
        typer.Option(
            help="Estimator: dr (doubly robust, the default), sndr (self-normalised dr), ips "
            "(inverse probability weighting), snips (self-normalised ips), or dm (direct method: "
            "only the model); repeat the option for several estimators. Agents are always replayed."
        ),
    ] = None,
    period: Annotated[
        float | None,
        typer.Option(
            help="Length of a season in steps. Default: one day if the times are dates and a day "
            "has at least two steps; otherwise this option is required."
        ),
    ] = None,
    phases: Annotated[
        int | None,
        typer.Option(help="Number of phases of a season; default: one phase per step."),
    ] = None,
    block_seasons: Annotated[
        int,
        typer.Option(
            help="Minimum number of whole seasons in a block. Intervals are computed by leaving "
            "out one block at a time (jackknife)."
        ),
    ] = 1,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="If the log does not support all steps, estimate only for the supported steps.",
        ),
    ] = False,
    estimate_probabilities: Annotated[
        bool,
        typer.Option(
            "--estimate-probabilities",
            help="Estimate probabilities by the share of each arm in each phase, even if the log "
            "has probabilities.",
        ),
    ] = False,
    clip: Annotated[
        float | None,
        typer.Option(
            help="Upper limit of the importance weights; default: no limit. A limit biases the "
            "estimates."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed for the replay of agents.")] = 0,
    step: Annotated[
        str | None,
        typer.Option(help="Length of a step, such as 1h; times are rounded down to whole steps."),
    ] = None,
    time_column: TimeColumnOption = None,
    arm_column: ArmColumnOption = None,
    reward_column: RewardColumnOption = None,
    probability_column: Annotated[
        str | None, typer.Option(help="Name of the column with the probabilities.")
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of a column with a context, a number that was known before the choice; "
            "repeat the option for several columns. Default: all numeric columns without another "
            "role."
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
        bool, typer.Option("--json", help="Print only the estimates, as JSON.")
    ] = False,
) -> None:
    """Evaluate policies from a log of decisions that another policy made.

    If a policy cannot be evaluated from the log, the command prints the other estimates and ends
    with an error. Without --policy, the command only describes the log.
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
        raise CommandError(
            "missing-argument",
            "--period is required: give the length of a season in steps, such as 24",
        )
    off_policy = OffPolicy(
        log=log,
        period=length,
        phases=phases,
        seasons_per_block=block_seasons,
        estimated=estimate_probabilities,
        clip=clip,
        partial=partial,
    )
    if not as_json:
        for line in describe(log, off_policy.seasons):
            # Lines with two spaces belong to aligned tables, which must not be wrapped.
            (say if "  " in line else say_prose)(line)
        if period is None:
            say("\nNo --period was given: a season of one day is assumed.")
    if policies or as_json:
        _answer(off_policy, policies, estimators, seed, as_json)


def _require_log(file: Path, as_log: bool | None, columns: dict[str, str | None]) -> None:
    from periodic_decisions.tables.roles import detect_kind

    has_log, why = (True, "") if as_log else detect_kind(file, **columns)
    # If the file cannot be read, reading it below reports the reason.
    if as_log is False or (not has_log and why.startswith(("at ", "it is a wide"))):
        raise CommandError(
            "not-a-log",
            f"{file.name!r} is a table with the rewards of all arms, not a log of decisions: "
            f"describe it with periodic-gp data check {shlex.quote(str(file))}, or read it as a "
            "log with --log",
        )


def _answer(
    off_policy: OffPolicy, policies: list[str], estimators: list[str], seed: int, as_json: bool
) -> None:
    from periodic_decisions.logs.log import DecisionLogError
    from periodic_decisions.logs.policies import parse_policy
    from periodic_decisions.logs.rejection import replay_agent

    estimates, refused = [off_policy.logged()], []
    for policy in policies:
        agent = policy.removeprefix("agent:")
        for estimator in estimators if agent == policy else ["replay"]:
            try:
                if agent == policy:
                    estimates.append(off_policy.evaluate(parse_policy(policy), estimator))
                else:
                    estimates.append(replay_agent(off_policy, agent, seed=seed))
            except DecisionLogError as error:
                refused.append(DecisionLogError(error.code, f"{policy}, {estimator}: {error}"))
    if as_json:
        say(
            json.dumps(
                {
                    "estimates": [_plain(one) for one in estimates],
                    "refused": list(map(str, refused)),
                },
                indent=1,
            )
        )
        return
    say("")
    say_table([HEADER, *map(_row, estimates)], words=2)
    say_prose(LEGEND)
    for note in dict.fromkeys(f"{one.policy}: {note}." for one in estimates for note in one.notes):
        say_prose(f"Note on {note}")
    if refused:
        raise CommandError(refused[0].code, "; ".join(map(str, refused)))


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
    """Return an estimate as plain data for JSON."""
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
