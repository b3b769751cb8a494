"""The page of agreement: a table, the question of ``glr-ucb``, and what is left open."""

from __future__ import annotations

import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from pathlib import Path

from threadpoolctl import threadpool_limits

from evaluation.statistics import paired_ratio
from periodic_envs.arrays import Array
from studies.agreement import arms, changes, forgetting, models
from studies.agreement.arms import Agreement
from studies.agreement.others import NotThereError
from studies.markdown import markdown_table, shown
from studies.pages import write_page
from studies.stamp import make_stamp

STUDY = "studies.agreement"
COMMAND = f"python -m {STUDY} --docs docs"
ROWS = [*arms.ROWS, *models.ROWS, *forgetting.ROWS]
"""Other people's code."""
AGENTS = (
    *("d-linucb", "d-ucb", "glr-ucb", "kl-ucb", "linucb"),
    *("periodic-gp-ucb", "sw-ucb", "ucb1", "w-dbo"),
)
TEXT = """# Agreement with other people's code

Our agents beside independent implementations of the same methods, on the same rewards. Written by

    {command}

after `pip install -c constraints.txt -e "examples/peers[agreement]"`.

Choices are compared in lockstep: {steps:,} steps, {arms} arms, rewards in [0, 1]; after {first}
steps that both are told of, both are asked at every step, and both are told the reward of the arm
that ours chooses. Beliefs and indices are compared after the same rewards.

{agreements}

{missing}As far as relevances differ, `w-dbo` drops other observations than the authors' packages
would, and its runs are not theirs. What wdbo-algo chooses is not compared, for it searches a box in
its own way; the belief that it searches by is. Kernels and posteriors are held against scikit-learn
by `test_kernels.py`, `test_posteriors.py` and `test_fit.py` in `tests/test_agents`, too.

## A paper's formulas, written out a second time

This is our own code beside our own code: it shows slips, but not what was misread.

{written_out}

## `glr-ucb` and SMPyBandits

{glr}

## Decided by the authors' code

- `dlinucb-pool`: the radius counts the rewards that a slave has learned from. So does the authors'
  own code (`lib/dLinUCB.py` of qingyun-wu/NonstationaryBanditLib on GitHub, `update_num`), which is
  for Python 2 and cannot be run here; the port of it by Russac et al. (2019) adds the time at which
  the slave was made. Where the two differ otherwise, the agent follows the port, and its page
  says in what.

## Not decided

- `wgp-ucb`: whether the newest reward has plain noise, and whether the width has squared weights,
  is for the paper to say (Deng et al. 2022). Only its abstract could be read here, and no other
  implementation installs; the agent's docstring says what was assumed.
- Thompson sampling, Exp3.S and all that draws its choices are not compared choice by choice: they
  would have to draw the same numbers.
"""
GLR = """Regret over {steps:,} steps with {changes} changes of {arms} arms with rewards 0 and 1,
mean of {runs} runs with 95 % interval, and the ratio of means on the same runs:

{table}

The constant of its forced exploration is a tenth of that of the authors' other code and of
`glr-ucb`. Given a tenth, `glr-ucb` comes near it: SMPyBandits has {tenth} times its regret
then; given ten times its own, SMPyBandits has {tenfold} times the regret of `glr-ucb` as it is.
So this is most of it. Its other differences are undone one at a time in the last rows. Two of them
look like slips: for all but the shortest horizons the false alarms that its test asks for by itself
come out as delta = {delta:.2f}, which is no probability, and its forced choices {last} the
last arm.
"""


def agreements(rows: Iterable[Callable[[], Agreement]]) -> tuple[list[Agreement], list[str]]:
    """What was found, and what could not be compared, with the reason."""
    found: list[Agreement] = []
    missing: list[str] = []
    for row in rows:
        try:
            found.append(row())
        except NotThereError as error:
            missing.append(str(error))
    return found, list(dict.fromkeys(missing))


def agreement_table(found: Iterable[Agreement], beside: str = "other implementation") -> str:
    """A line for each pair."""
    rows = [[f"`{row.agent}`", row.other, row.found, row.note] for row in found]
    return markdown_table(["agent", beside, "found", ""], rows, texts=4)


def glr_text(regrets: dict[str, Array]) -> str:
    """The section on forced exploration."""
    return GLR.format(
        steps=changes.STEPS,
        changes=changes.CHANGES,
        arms=changes.ARMS,
        runs=len(next(iter(regrets.values()))),
        table=changes.table(regrets),
        tenth=shown(paired_ratio(regrets[changes.THEIRS], regrets[changes.TENTH]), 2),
        tenfold=shown(paired_ratio(regrets[changes.TENFOLD], regrets[changes.OURS]), 2),
        delta=changes.chosen_delta(),
        last="reach" if changes.last_arm_is_forced() else "never reach",
    ).rstrip()


def main(arguments: list[str] | None = None) -> None:
    """Compare, print, and write what is to be written."""
    parser = ArgumentParser(description="Our agents beside other people's code.")
    parser.add_argument("--docs", type=Path, help="Folder to write agreement.md into.")
    parser.add_argument("--runs", type=int, default=changes.RUNS, help="Runs of glr-ucb.")
    options = parser.parse_args(arguments)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other people's
        found, missing = agreements(ROWS)
        ours, _ = agreements(models.WRITTEN_OUT)
        regrets: dict[str, Array] = {}
        try:
            regrets = changes.measure(options.runs)
            glr = glr_text(regrets)
        except NotThereError as error:
            glr = f"Not measured: {error}."
    words = "".join(f"Not installed, and left out: {why}.\n\n" for why in missing)
    text = TEXT.format(
        command=COMMAND,
        steps=arms.STEPS,
        arms=arms.ARMS,
        first=arms.FIRST,
        agreements=agreement_table(found),
        missing=words,
        written_out=agreement_table(ours, "formulas of"),
        glr=glr,
    )
    print(text)
    if options.docs:
        numbers = {
            "agreement": [[row.agent, row.other, row.found] for row in [*found, *ours]],
            "glr": {name: each.round(3).tolist() for name, each in regrets.items()},
        }
        stamp = make_stamp(COMMAND, study=STUDY, agents=AGENTS)
        write_page(options.docs, "agreement", text, numbers, [stamp])
