"""The command ``data log``: what a log of decisions says about other policies."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluation.cli.shared import CommandError, say, say_prose
from periodic_decisions.cli.log_tables import LEGEND, notes_of, plain, table_lines
from periodic_decisions.cli.reading import (
    ArmColumnOption,
    DecimalOption,
    EncodingOption,
    NaValuesOption,
    RewardColumnOption,
    SeparatorOption,
    TimeColumnOption,
    TimeFormatOption,
    TimezoneOption,
)

if TYPE_CHECKING:  # pandas and SciPy are too slow for a help text
    from periodic_decisions.logs.evaluate import Estimate, OffPolicy
    from periodic_decisions.logs.log import Log

AsLogOption = Annotated[
    bool | None,
    typer.Option(
        "--log/--table",
        help="Insist that the file is a log of decisions, or a table with the rewards of all arms; "
        "by default that is told by whether only one arm has a reward at most times.",
    ),
]


def is_log(file: Path, as_log: bool | None, reading: dict[str, Any]) -> bool:
    """Whether a file is a log; if so, that is said, with the command that looks at it."""
    from periodic_decisions.logs.kind import tell_kind

    if as_log is False:
        return False
    kind = tell_kind(file, **reading)
    if not (as_log or kind.is_log):
        return False
    why = f" ({kind.why})" if kind.is_log else ""
    say(f"This is a log of decisions, not a table of all rewards{why}.")
    say(f"Look at it: periodic-gp data log {shlex.quote(str(file))}")
    say("If it has the rewards of all arms, say so with --table.")
    return True


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
    from periodic_decisions.logs.describe import describe
    from periodic_decisions.logs.evaluate import OffPolicy
    from periodic_decisions.logs.reading import read_log

    columns = {
        "time_column": time_column,
        "arm_column": arm_column,
        "reward_column": reward_column,
        "time_format": time_format,
        "separator": separator,
        "encoding": encoding,
    }
    _check_asked(policy or [], estimator or [])
    _require_log(file, as_log, columns)
    log = read_log(
        file,
        **columns,
        probability_column=probability_column,
        context_columns=context,
        step=_length(step),
        decimal=decimal,
        na_values=na_values,
        timezone=timezone,
    )
    off_policy = _mended(
        OffPolicy,
        log=log,
        period=_period(log, period),
        phases=phases,
        seasons_per_block=block_seasons,
        estimated=estimate_probabilities,
        clip=clip,
        partial=partial,
    )
    if not as_json:
        for line in describe(log, off_policy.seasons):
            (say if "  " in line else say_prose)(line)  # tables have columns
        if period is None:
            say("\nNo period was given: it is taken for a day.")
    if policy or as_json:
        _answer(off_policy, policy or [], estimator or ["dr"], seed, as_json)


def _check_asked(policies: list[str], estimators: list[str]) -> None:
    """Before the file is read: what is wrong with it would hide what is wrong here."""
    from agents import AgentSpec, UnknownAgentError
    from periodic_decisions.logs.estimators import ESTIMATORS
    from periodic_decisions.logs.policies import parse_policy

    for estimator in estimators:
        if estimator not in ESTIMATORS:
            known = ", ".join(ESTIMATORS)
            raise CommandError(f"there is no estimator {estimator!r}: there are {known}")
    for policy in policies:
        kind, _, agent = policy.partition(":")
        try:
            AgentSpec.parse(agent) if kind == "agent" else parse_policy(policy)
        except UnknownAgentError as error:
            raise CommandError(str(error)) from error


def _require_log(file: Path, as_log: bool | None, columns: dict[str, str | None]) -> None:
    from periodic_decisions.logs.kind import tell_kind

    if as_log:
        return
    kind = tell_kind(file, **columns)
    if as_log is False or (not kind.is_log and kind.why.startswith(("at ", "it is a wide"))):
        raise CommandError(
            f"{file.name!r} is a table of rewards, not a log"
            + (f": {kind.why}" if as_log is None else "")
            + f"; look at it with: periodic-gp data check {shlex.quote(str(file))}, or insist on a "
            "log with --log"
        )


def _length(step: str | None) -> str | float | None:
    """A step as a number, where it is one."""
    try:
        return None if step is None else float(step)
    except ValueError:
        return step


def _period(log: Log, period: float | None) -> float:
    from periodic_decisions.logs.describe import guess_period

    found = guess_period(log) if period is None else period
    if found is None:
        raise CommandError("give the length of a season in steps, as --period 24")
    return found


def _mended(make: type[OffPolicy], **settings: Any) -> OffPolicy:
    """A setting out of range is the user's to mend."""
    try:
        return make(**settings)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _answer(
    off_policy: OffPolicy, policies: list[str], estimators: list[str], seed: int, as_json: bool
) -> None:
    from periodic_decisions.logs.log import LogError

    found, refused = [off_policy.logged()], []
    for policy in policies:
        for estimator in ["replay"] if policy.startswith("agent:") else estimators:
            try:
                found.append(_estimate(off_policy, policy, estimator, seed))
            except LogError as error:
                refused.append(f"{policy}, {estimator}: {error}")
    if as_json:
        answer = {"estimates": [plain(one) for one in found], "refused": refused}
        say(json.dumps(answer, indent=1))
    else:
        say("")
        for line in table_lines(found):
            say(line)
        say_prose(LEGEND)
        for note, about in notes_of(found).items():
            say_prose(f"Note on {', '.join(about)}: {note}.")
    if refused and not as_json:
        raise CommandError("; ".join(refused))


def _estimate(off_policy: OffPolicy, policy: str, estimator: str, seed: int) -> Estimate:
    from periodic_decisions.logs.policies import parse_policy
    from periodic_decisions.logs.replay import replay_agent

    kind, _, agent = policy.partition(":")
    if kind == "agent":
        return replay_agent(off_policy, agent, seed=seed)
    return off_policy.evaluate(parse_policy(policy), estimator)
