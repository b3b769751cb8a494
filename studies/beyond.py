"""Beyond the paper: what an unknown period, drift, contexts and several seasons cost and bring.

Every figure is a ratio of mean regrets on common seeds with a 95 % interval (``paired_ratio``), and
the paired difference with its own:

    python -m studies.beyond [hidden wrong switching context seasons] [--seeds 0:30]
                                        [--docs docs] [--store beyond.sqlite] [--workers 2]

With ``--docs`` the tables are written into their places in DOCS/beyond.md, too.
Finished runs are kept in the store and not run again. Settings were chosen on seeds from 1,000 on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from evaluation.statistics import Interval, paired_difference, paired_ratio
from studies.lab import Lab, regret_by_run, study_lab, study_parser
from studies.markdown import markdown_table, shown
from studies.pages import require_parts, write_part

PAGE, STUDY = "beyond.md", "studies.beyond"
HIDDEN = "PeriodicGP-HiddenPeriod-v0"
KNOWN = "PeriodicGP-HiddenPeriod-v0:reveal_period=true"
SYNTHETIC = "PeriodicGP-Synthetic-v0"
CONTEXTUAL = "PeriodicGP-Contextual-v0"
PERIODIC, QUICK = "periodic-gp-ucb", "periodic-gp-ucb:time_length_scale=1"
WRONG = (6, 12, 22, 24, 26, 28)
"""The supplement's periods but for the right one, which is 20 here (and 24 in Madrid)."""
HEADER = ("world", "agent", "regret", "against", "its regret", "ratio", "difference", "at most")


@dataclass(frozen=True)
class Claim:
    """An agent in a world against others there, of whom the one with least regret counts.

    Attributes:
        env: The world.
        agent: Whose regret is judged.
        others: Against whom.
        most: What the ratio should not exceed; None if nothing was set as an aim. At 1 the whole
            interval should be below.
        other_env: Where the others are, if it is the same world by another name.
    """

    env: str
    agent: str
    others: tuple[str, ...]
    most: float | None
    other_env: str | None = None


def hidden() -> Iterator[Claim]:
    """The period is unknown, against the same agent that knows it."""
    for agent in (QUICK, PERIODIC):
        yield Claim(HIDDEN, agent, (agent,), 1.25, KNOWN)


def wrong() -> Iterator[Claim]:
    """A wrong period is given as a guess, against the same agent that relies on the right one."""
    for agent in (QUICK, PERIODIC):
        settings = "" if agent == PERIODIC else ",time_length_scale=1"
        for period in (*WRONG, 20):
            guess = f"periodic-gp-ucb:period=about:{period}{settings}"
            yield Claim(SYNTHETIC, guess, (agent,), 1.1)


def switching() -> Iterator[Claim]:
    """A season, drift or neither, against the better of two agents that believe in one of them."""
    for world in ("Synthetic", "Switching", "Stationary", "Piecewise"):
        env = f"PeriodicGP-{world}-v0"
        yield Claim(env, "switching-gp-ucb", (PERIODIC, "tv-gp-ucb"), 1.1)
        yield Claim(env, "switching-gp-ucb", (QUICK, "tv-gp-ucb"), None)


def context() -> Iterator[Claim]:
    """Looking at the context, against the same agent that does not."""
    for env in (CONTEXTUAL, f"{CONTEXTUAL}:n_actions=30"):
        yield Claim(env, f"{QUICK},context_length_scale=1", (QUICK,), 1.0)


def seasons() -> Iterator[Claim]:
    """All seasons of the problem, against the main one alone."""
    for world in ("MultiSeason", "AlmostPeriodic"):
        yield Claim(f"PeriodicGP-{world}-v0", "seasons-gp-ucb", (QUICK,), None)
    yield Claim("PeriodicGP-AlmostPeriodic-v0", "seasons-gp-ucb:combine=auto", (QUICK,), None)


STUDIES = {f.__name__: f for f in (hidden, wrong, switching, context, seasons)}


def regrets(claims: list[Claim], name: str, lab: Lab[Any]) -> pd.Series:
    """Regret by world, agent and seed."""
    envs: dict[str, set[str]] = {}  # of each agent
    for claim in claims:
        envs.setdefault(claim.agent, set()).add(claim.env)
        for other in claim.others:
            envs.setdefault(other, set()).add(claim.other_env or claim.env)
    agents = [{"name": a, "label": a, "envs": sorted(mine)} for a, mine in sorted(envs.items())]
    everywhere = sorted(set().union(*envs.values()))
    return regret_by_run(lab.run(name, envs=everywhere, agents=agents, seeds=lab.size.seeds))


def row(claim: Claim, regret: pd.Series) -> list[str]:
    """One line of the table."""
    env = claim.other_env or claim.env
    best = min(claim.others, key=lambda other: regret[env, other].mean())
    mine, theirs = regret[claim.env, claim.agent].to_numpy(), regret[env, best].to_numpy()
    ratio, gap = paired_ratio(mine, theirs), paired_difference(mine, theirs)
    judged = ratio.high if claim.most == 1.0 else ratio.estimate
    reached = claim.most is not None and judged <= claim.most
    return [
        claim.env.removeprefix("PeriodicGP-"),
        claim.agent,
        f"{mine.mean():.1f}",
        best,
        f"{theirs.mean():.1f}",
        shown(ratio, 3),
        shown(Interval(gap.estimate, gap.low, gap.high), sign=True),
        "" if claim.most is None else f"{claim.most:g}: {'yes' if reached else 'no'}",
    ]


def main(arguments: list[str] | None = None) -> None:
    """Run, print, and write what is to be written."""
    parser = study_parser(
        __doc__ or "", store="beyond.sqlite", seeds="0:30", parts=list(STUDIES), page=PAGE
    )
    options = parser.parse_args(arguments)
    chosen = options.parts or list(STUDIES)
    with study_lab("beyond", options) as lab:
        if options.docs:
            require_parts(options.docs / PAGE, chosen)
        for name in chosen:
            claims = list(STUDIES[name]())
            regret = regrets(claims, name, lab)
            table = markdown_table(HEADER, [row(claim, regret) for claim in claims])
            print(f"\n{name}, seeds {options.seeds}: {STUDIES[name].__doc__}\n\n{table}")
            command = f"python -m {STUDY} {name} --seeds {options.seeds} --docs docs"
            stamp = lab.stamp(command, study=STUDY, part=name)
            if options.docs:
                write_part(options.docs / PAGE, table, stamp)


if __name__ == "__main__":
    main()
