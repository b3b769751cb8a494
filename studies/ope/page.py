"""The page of the study: what was found, in tables and in words that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from periodic_decisions.logs.evaluate import ESTIMATORS, MAX_BLIND, MIN_EFFECTIVE_SIZE
from studies.markdown import folded, markdown_table
from studies.ope.measure import TARGETS, Score
from studies.ope.simulate import (
    EPSILON,
    LOGGING,
    LONG,
    MORE,
    PLAN_PARTS,
    SEASONS,
    SETTINGS,
)

NOMINAL = 0.95
GREEDY = "epsilon-greedy"
SURE = 2.0
"""Standard errors below nominal from which on a coverage is called too low."""
Key = tuple[str, str, bool, str, str]
"""World, logging policy, whether probabilities were estimated, target and estimator."""
ABOUT = f"""\
# What a log can tell

A log has one arm a row: when it was chosen, what it brought and, at best, with what probability.
What the other arms would have brought at that time nobody knows. `periodic-gp data log` says all
the same what another policy would have brought per step, with an interval, or refuses. This page
says how, and measures how far it can be trusted, in worlds where the truth is known:

```sh
{{command}}
```

## Your own log

A long table, as CSV, Parquet or DataFrame:

```
time,arm,reward,probability
2024-01-01T00:00:00Z,billing,1.5,0.8
2024-01-01T01:00:00Z,sales,,0.1
```

The probability is that of the arm of the row, when it was chosen; the column may be missing. A row
without a reward is counted and left out. Rows may come late and several at a time; irregular times
are rounded down with `--step 1h`. All other columns of numbers are contexts: agents look at them,
the model does not. Phases are counted from a Monday's midnight where times are dated, so that of a
day they are the hours. A table is taken for a log if it has probabilities, or if at most of its
times only one arm has a reward; `--log` and `--table` insist.

```sh
periodic-gp data log log.csv                            # what its policy did, and never did
periodic-gp data log log.csv --policy arm:billing       # always one arm
periodic-gp data log log.csv --policy schedule:plan.csv # columns phase, or weekday and hour; arm
periodic-gp data log log.csv --policy best-per-phase    # learned from the log, cross-fitted
periodic-gp data log log.csv --policy agent:phase-ucb   # an agent that learns, replayed
```

`--estimator` chooses among those below, `--period` the season in steps, `--partial` an answer for
the steps that the log can tell about, `--clip` a bound for the weights (there is none by default),
`--json` a form for machines.

An agent that is replayed decides only at the rows where it happens to agree with the log, so it
learns from one step in as many as there are arms, or fewer: it is worth more where it decides at
every step. Rejection needs a log that chose nearly uniformly. From others likely rows are accepted
less often, and few may be left.

## What is computed

- **ips** weighs the rows in which policy and log agree by 1 / probability
  (Horvitz and Thompson 1952); **snips** divides by the sum of the weights instead of the number of
  rows (Swaminathan and Joachims 2015).
- **dm** is the model alone: a Gaussian process over arms and phases, every arm with a level and a
  season of its own, with the variances and the length-scale of the highest evidence on a small
  grid. Its interval is what the model believes.
- **dr** is doubly robust (Dudik et al. 2014): the model, corrected by the weighed errors that it
  makes on the rows of the log; **sndr** divides these by the sum of the weights. The model of a row
  is fitted without the fifth of the blocks that the row is in.
- Agents that learn are **replayed** by rejection (Li et al. 2011).

The definitions of ips, snips, dr, sndr and replay are those of the Open Bandit Pipeline (Saito et
al. 2021), against whose formulas tests hold them. Intervals differ: theirs draws rows again, these
leave out one block of whole seasons after the other (the jackknife, with Student's quantiles), so
that rows of one season may hang together. A season is the least that is in a block.

An answer is refused if in more than {MAX_BLIND:.0%} of the steps the policy's arm was never logged
in that phase (where probabilities are logged: by no accident), or if the rows that agree with it
count as fewer than {MIN_EFFECTIVE_SIZE:g}: the effective sample size is (sum w)^2 / sum w^2. For
ips, snips, dr and sndr it is the same. Without logged probabilities they are estimated by the share
of each arm in each phase, smoothed by one row that is as all phases together; the answer says so.
That is right only if the log chose by the phase and by chance, and by nothing else.

## What is simulated

{{logs:,}} logs of {SEASONS} seasons for each world and each logging policy, every log in a world of
its own. The five arms of the synthetic worlds have noise of standard deviation 1, on mean rewards
of standard deviation 1; "good and bad days" adds a level of deviation 1 that all arms share within
a season. Rides are Poisson counts of up to some 40 an hour. The logs are by uniform choice; by an
epsilon-greedy learner with epsilon {EPSILON:g}; and by a schedule that keeps to an arm, drawn at
random, in each of {PLAN_PARTS} parts of the season, and in {EPSILON:.0%} of the decisions chooses
at random; this one also as if its probabilities had not been logged. Judged are a fixed arm; the
best arm of each phase in truth; and the best arm of each phase by the log itself, learned by
cross-fitting, whose truth is what the learned plan is worth.
"""


def page(scores: Mapping[Key, Score], command: str, logs: int) -> str:
    """The text of the page."""
    return "\n".join(
        [
            ABOUT.format(command=command, logs=logs),
            "## Coverage",
            "",
            f"Percent of 95 % intervals that contain the truth, with a Monte-Carlo standard error "
            f"of about {100.0 * _typical_error(scores):.1f}; **bold** where it is more than "
            f"{SURE:g} standard errors below 95; a dash where more than half of the logs were "
            "refused, or the estimator cannot judge the policy.",
            "",
            coverage_table(scores),
            "",
            "## Where it falls short",
            "",
            *findings(scores),
            "",
            "## All figures",
            "",
            "Bias, root mean squared error and mean width are in units of the reward. Refused logs "
            "count in no other column.",
            "",
            *(_details(scores, setting) for setting in SETTINGS),
            "",
        ]
    )


def _typical_error(scores: Mapping[Key, Score]) -> float:
    errors = sorted(s.coverage_error for s in scores.values() if not math.isnan(s.coverage_error))
    return errors[len(errors) // 2]


def _logging(logging: str, estimated: bool) -> str:
    return LOGGING[logging] + (", probabilities estimated" if estimated else "")


def coverage_table(scores: Mapping[Key, Score]) -> str:
    """Coverage of all estimators, side by side."""
    rows = []
    kinds = dict.fromkeys(key[:4] for key in scores if key[0] in SETTINGS)
    for setting, logging, estimated, target in kinds:
        mine = (setting, logging, estimated, target)
        cells = [_coverage(scores.get((*mine, estimator))) for estimator in ESTIMATORS]
        names = [SETTINGS[setting].title, _logging(logging, estimated), target]
        refused = max(s.refused for key, s in scores.items() if key[:4] == mine)
        rows.append([*names, *cells, f"{refused:.0%}"])
    header = ["world", "logged by", "judged", *ESTIMATORS, "refused at most"]
    return markdown_table(header, rows, texts=3)


def _coverage(score: Score | None) -> str:
    if score is None or score.refused > 0.5:
        return "-"
    mark = "**" if too_low(score) else ""
    return f"{mark}{100.0 * score.coverage:.1f}{mark}"


def too_low(score: Score) -> bool:
    """Whether fewer intervals contain the truth than should, by more than chance."""
    return score.refused <= 0.5 and score.coverage < NOMINAL - SURE * score.coverage_error


def findings(scores: Mapping[Key, Score]) -> Iterable[str]:
    """For each estimator how often and how far it falls short, and what that comes from."""
    for estimator in ESTIMATORS:
        mine = {key: s for key, s in scores.items() if key[4] == estimator and key[0] in SETTINGS}
        yield _finding(estimator, {key: s for key, s in mine.items() if s.refused <= 0.5})
    yield ""
    yield "Likely reasons, which were not tested one by one:"
    yield ""
    yield from REASONS
    yield ""
    yield from _longer(scores)


REASONS = (
    "- The model alone is biased downwards where the policy picks the best arms: these are the "
    "ones that shrinkage towards the mean pulls down. Its interval takes the noise of all rows as "
    "equal and independent, so it is too narrow on good and bad days, too. Use it where nothing "
    "else is to be had.",
    "- The others have intervals from few rows with large weights. Sums of such rows are skewed, "
    "and so is the error that goes with them: a log in which the large rewards were missed has a "
    "low estimate and a narrow interval at once. More intervals lie below the truth than above "
    "it where that is so.",
    "- A plan that was learned from the log differs from fold to fold, and what one fold taught "
    "is judged by the others: blocks are no longer quite independent of each other.",
    "- An epsilon-greedy learner's choices depend on earlier noise: arms that did badly by bad "
    "luck are seen less. Logged probabilities make up for that in the estimate, but the interval "
    "takes all blocks as alike, and those before the learner has settled are not.",
    "- Where probabilities are estimated, a log that is refused for want of overlap is not like "
    "the others, and smoothing pulls the weights of rare arms down, which biases ips. The "
    "intervals take the shares as given and are rather too wide. Twelve arms in 24 phases are "
    "too many for such logs: all are refused. Fewer, longer phases (`--phases`) are refused less "
    "often, and are right as far as the log's policy did not change within them.",
)


def _finding(estimator: str, mine: Mapping[Key, Score]) -> str:
    low = [s for s in mine.values() if too_low(s)]
    biased = sum(abs(s.bias) > SURE * s.bias_error for s in mine.values())
    worst = min(mine, key=lambda key: mine[key].coverage)
    at = f"{SETTINGS[worst[0]].title}, logged by {_logging(*worst[1:3])}, judging {worst[3]}"
    mean = sum(s.coverage for s in mine.values()) / len(mine)
    below = sum(s.below for s in mine.values()) / len(mine)
    return (
        f"- **{estimator}** covers {100.0 * mean:.1f} % on average. It is too low in {len(low)} of "
        f"{len(mine)} cases, lowest {100.0 * mine[worst].coverage:.1f} % ({at}). "
        f"{100.0 * below:.1f} % of all intervals lie below the truth, "
        f"{100.0 * abs(1.0 - mean - below):.1f} % above. The bias is more than {SURE:g} standard "
        f"errors from 0 in {biased} cases, of which chance alone would give about "
        f"{0.05 * len(mine):.0f}."
    )


def _longer(scores: Mapping[Key, Score]) -> Iterable[str]:
    """Coverage in short and in long logs."""
    yield f"Coverage in logs of {SEASONS} and of {MORE * SEASONS} seasons, by {LOGGING[GREEDY]}:"
    yield ""
    rows = []
    for setting, target in dict.fromkeys((key[0], key[3]) for key in scores if key[0] in LONG):
        short = setting.removesuffix(", long")
        cells = [
            f"{_coverage(scores.get((short, GREEDY, False, target, estimator)))} to "
            f"{_coverage(scores.get((setting, GREEDY, False, target, estimator)))}"
            for estimator in ESTIMATORS
        ]
        rows.append([SETTINGS[short].title, target, *(c.replace("- to -", "-") for c in cells)])
    yield markdown_table(["world", "judged", *ESTIMATORS], rows, texts=2)


def _details(scores: Mapping[Key, Score], setting: str) -> str:
    rows = []
    for key, s in scores.items():
        if key[0] != setting:
            continue
        numbers = [f"{100.0 * s.refused:.0f}"]
        if math.isnan(s.bias):
            numbers += ["-"] * 4
        else:
            numbers += [
                f"{100.0 * s.coverage:.1f} ± {100.0 * s.coverage_error:.1f}",
                f"{s.bias:+.3f} ± {s.bias_error:.3f}",
                f"{s.rmse:.3f}",
                f"{s.width:.3f}",
            ]
        rows.append([_logging(key[1], key[2]), key[3], key[4], *numbers])
    header = ["logged by", "judged", "estimator", "refused, %"]
    header += ["coverage, %", "bias", "RMSE", "width"]
    return folded(SETTINGS[setting].title, markdown_table(header, rows, texts=3)) + "\n"


def ordered(scores: Mapping[Key, Score]) -> dict[Key, Score]:
    """The scores in the order of worlds, logging policies, targets and estimators."""

    def place(key: Key) -> tuple[int, int, bool, int, int]:
        order = ([*SETTINGS, *LONG], list(LOGGING), TARGETS, list(ESTIMATORS))
        world, logging, target, estimator = (
            names.index(name) for names, name in zip(order, (*key[:2], *key[3:]), strict=True)
        )
        return world, logging, key[2], target, estimator

    return {key: scores[key] for key in sorted(scores, key=place)}
