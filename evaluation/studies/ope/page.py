"""The page of the study: what was found, in tables and in words that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from evaluation.logs.estimators import ESTIMATORS
from evaluation.logs.evaluate import MAX_BLIND, MIN_EFFECTIVE_SIZE
from evaluation.studies.markdown import folded, markdown_table
from evaluation.studies.ope.measure import TARGETS, Score
from evaluation.studies.ope.simulate import EPSILON, LOGGING, PLAN_PARTS, SEASONS, SETTINGS

NOMINAL = 0.95
SURE = 2.0
"""Standard errors below nominal from which on a coverage is called too low."""
Key = tuple[str, str, bool, str, str]
"""World, logging policy, whether probabilities were estimated, target and estimator."""
ABOUT = f"""\
# What a log can tell

A log has one arm a row: when it was chosen, what it brought and, at best, with what probability.
`periodic-gp data log FILE --policy ...` says what another policy would have brought per step, with
an interval, or refuses. This page measures how far that can be trusted, where the truth is known:

```sh
{{command}}
```

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
    for setting, logging, estimated, target in dict.fromkeys(key[:4] for key in scores):
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
    """For each estimator how often and how far it falls short."""
    reasons = {
        "dm": "Its interval knows of no error but noise that is equal and independent. A policy "
        "that picks the best arms picks those that shrinkage pulls down most, which is a bias; and "
        "of days that hang together it knows nothing.",
        "ips": "Few rows with large weights make sums skewed, and Student's quantiles are those of "
        "symmetric ones.",
        "snips": "The same skewness, without the part that comes from the level of the rewards.",
        "dr": "What is left is the skewness of the weights on what the model misses.",
        "sndr": "What is left is the skewness of the weights on what the model misses.",
    }
    for estimator in ESTIMATORS:
        mine = {key: s for key, s in scores.items() if key[4] == estimator and s.refused <= 0.5}
        low = {key: s for key, s in mine.items() if too_low(s)}
        worst = min(mine, key=lambda key: mine[key].coverage)
        mean = sum(s.coverage for s in mine.values()) / len(mine)
        at = f"{SETTINGS[worst[0]].title}, logged by {_logging(*worst[1:3])}, judging {worst[3]}"
        said = f"- **{estimator}**: {100.0 * mean:.1f} % on average; too low in {len(low)} of "
        said += f"{len(mine)} cases, lowest {100.0 * mine[worst].coverage:.1f} % ({at})."
        yield said + (f" {reasons[estimator]}" if low else "")
    yield (
        "- **Estimated probabilities**: a log that is refused for want of overlap is not like the "
        "others, and smoothing pulls weights towards those of all phases together: both bias what "
        "is left. Fewer, longer phases (`--phases`) are refused less often, and are right as far "
        "as the log's policy did not change within them."
    )
    yield (
        "- **Epsilon-greedy logs** were made by a learner, whose choices depend on earlier noise: "
        "arms that did badly by bad luck are seen less. Logged probabilities make up for that, "
        "estimated ones and the model alone do not."
    )


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
        order = (list(SETTINGS), list(LOGGING), TARGETS, list(ESTIMATORS))
        world, logging, target, estimator = (
            names.index(name) for names, name in zip(order, (*key[:2], *key[3:]), strict=True)
        )
        return world, logging, key[2], target, estimator

    return {key: scores[key] for key in sorted(scores, key=place)}
