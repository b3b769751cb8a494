"""What the paper says about other methods (Section 2.3), held against the sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evaluation.results import UNIFORM
from studies.claims import Claim, Verdict, together
from studies.comparison import Comparison
from studies.markdown import shown
from studies.zoo.bench import Bench, champions
from studies.zoo.families import (
    BLOCKS,
    CITED,
    FAMILIES,
    GENERAL,
    LINEAR,
    LINEAR_BY_THEOREM,
    LOCAL,
    PERIODIC,
    REPEATING,
)

WHERE = "Section 2.3"
BEYOND = "Beyond the paper"
PIECEWISE = ("PeriodicGP-Piecewise-v0",)
CONTINUOUS = ("PeriodicGP-Synthetic-v0", "PeriodicGP-HiddenPeriod-v0, told")
FINITE = ("PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-RideShare-v0")
Answers = Mapping[str, bool | None]


def claims(bench: Bench) -> list[Claim]:
    """Every claim with what was found; the words follow the intervals."""
    repeating = bench.pooled(REPEATING)
    return [
        _beaten(
            repeating,
            CITED,
            "None of the methods for piecewise stationary rewards solves a periodic world properly "
            "(read as: Periodic-GP-UCB has less regret than each of them where the world repeats).",
        ),
        _long_stretches(bench),
        _continuous(bench.pooled(CONTINUOUS)),
        _delay(),
        _beaten(
            repeating,
            GENERAL,
            "Methods for general action spaces suppose a static reward (read as: where the world "
            "repeats, Periodic-GP-UCB has less regret than each of them).",
        ),
        _beaten(
            repeating,
            dict.fromkeys(BLOCKS, "Bogunovic et al. 2016"),
            "R-GP-UCB and TV-GP-UCB fail in a periodic world (read the same way).",
        ),
        _beaten(
            bench.pooled(FINITE),
            dict.fromkeys(FAMILIES["arms, periodic"], ""),
            "Periodic methods for finitely many arms have more regret where arms are finitely "
            "many, too, at the settings of their papers.",
            ours=True,
        ),
        _where_nothing_repeats(bench.pooled(PIECEWISE)),
        _linear(bench.pooled(FINITE)),
    ]


def _beaten(
    comparison: Comparison, methods: Mapping[str, str], says: str, *, ours: bool = False
) -> Claim:
    """Whether Periodic-GP-UCB has less regret than each of some methods."""
    answers = _against(comparison, methods)
    found = _counted(comparison, answers, methods)
    if LOCAL in comparison.regret and answers:
        found += f" With a time length-scale of 1 it has {_share(comparison, LOCAL)}."
    verdict = together(list(answers.values())) if answers else Verdict.UNKNOWN
    where = BEYOND if ours else WHERE
    return Claim(where, says, found, verdict, _numbers(comparison, [*answers, PERIODIC]), ours)


def _linear(comparison: Comparison) -> Claim:
    """Against linear bandits as practitioners run them; the theorem's width is only reported."""
    claim = _beaten(
        comparison,
        dict.fromkeys(LINEAR, ""),
        "Linear bandits on harmonics of the season, one model for each arm, have more regret where "
        "arms are finitely many, at the constant width that practitioners give them.",
        ours=True,
    )
    if claim.verdict is Verdict.UNKNOWN or LINEAR_BY_THEOREM not in comparison.regret:
        return claim
    wide = f" With the theorem's width ({LINEAR_BY_THEOREM}) they have "
    return replace(claim, found=f"{claim.found}{wide}{_share(comparison, LINEAR_BY_THEOREM)}.")


def _long_stretches(bench: Bench) -> Claim:
    """Are the cited methods better than stationary ones on their own ground, and only there?"""
    says = (
        "The methods for piecewise stationary rewards need long stationary stretches (read as: the "
        "best of them beats the best for stationary arms in Piecewise, and loses to it where the "
        "world repeats)."
    )
    teams = {"cited": tuple(CITED), "stationary": FAMILIES["arms, stationary"]}
    parts: list[bool | None] = []
    sentences = []
    for place, worlds in (("in Piecewise", PIECEWISE), ("where the world repeats", REPEATING)):
        best = champions(bench.pooled(worlds), teams)
        if len(best.regret.columns) < len(teams):
            continue
        better = best.better("cited", "stationary")
        parts.append(better if worlds == PIECEWISE or better is None else not better)
        gap = shown(best.minus("cited", "stationary"), 2, sign=True)
        word = {True: "as said", False: "against it", None: "undecided"}[parts[-1]]
        sentences.append(
            f"{place} the best cited method minus the best stationary one is {gap} ({word})"
        )
    if not parts:
        return Claim(WHERE, says, "These methods were not run.", Verdict.UNKNOWN)
    found = f"As shares of the regret of choosing at random, {' and '.join(sentences)}."
    return Claim(WHERE, says, found, together(parts))


def _continuous(comparison: Comparison) -> Claim:
    """How do the cited methods do on a box that is cut into points for them?"""
    says = "Most of the methods for piecewise stationary rewards cannot handle continuous actions."
    run = [name for name in CITED if name in comparison.regret]
    if not run:
        return Claim(WHERE, says, "These methods were not run.", Verdict.UNKNOWN)
    answers = {name: comparison.better(UNIFORM, name) for name in run}
    worse, better = named(answers, True), named(answers, False)
    found = (
        "As published those for arms do not, and regret cannot tell: here a line is cut into 20 "
        f"points for them. So helped, of {len(run)} methods clearly better than choosing at random "
        f"where the world repeats: {better}; clearly worse: {worse}; not told apart from it: "
        f"{named(answers, None)}."
    )
    return Claim(WHERE, says, found, Verdict.UNKNOWN, _numbers(comparison, run))


def _delay() -> Claim:
    return Claim(
        WHERE,
        "They change their belief only with enough evidence ('action delay'), and so have an "
        "inefficient regret bound.",
        "A statement about bounds and reasons: regret alone does not tell what a delay cost.",
        Verdict.UNKNOWN,
    )


def _where_nothing_repeats(comparison: Comparison) -> Claim:
    """On the ground of the cited methods."""
    says = (
        "On their own ground the cited methods are better: in Piecewise, which does not repeat, "
        "each has less regret than Periodic-GP-UCB."
    )
    lost = _against(comparison, CITED)
    answers = {name: None if answer is None else not answer for name, answer in lost.items()}
    found = _counted(comparison, lost, CITED)
    verdict = together(list(answers.values())) if answers else Verdict.UNKNOWN
    numbers = _numbers(comparison, [*answers, PERIODIC])
    return Claim(BEYOND, says, found, verdict, numbers, ours=True)


def _against(comparison: Comparison, methods: Mapping[str, str]) -> dict[str, bool | None]:
    """Whether Periodic-GP-UCB is better, for each of the methods that were run."""
    if PERIODIC not in comparison.regret:
        return {}
    run = [name for name in methods if name in comparison.regret]
    return {name: comparison.better(PERIODIC, name) for name in run}


def _counted(comparison: Comparison, answers: Answers, methods: Mapping[str, str]) -> str:
    """How Periodic-GP-UCB fares against some methods, in words."""
    if not answers:
        return "These methods were not run."
    missing = [name for name in methods if name not in answers]
    best = min(answers, key=lambda name: float(comparison.regret[name].mean()))
    text = (
        f"Of {len(answers)} methods Periodic-GP-UCB, with {_share(comparison, PERIODIC)} of the "
        f"regret of choosing at random, is {fares(answers)} The best of them, {best}, has "
        f"{_share(comparison, best)}."
    )
    return text + (f" Not run: {', '.join(missing)}." if missing else "")


def _share(comparison: Comparison, agent: str) -> str:
    return shown(comparison.mean(agent), 2)


def fares(answers: Answers) -> str:
    """Than whom an agent is better and worse, for the end of a sentence."""
    return (
        f"clearly better than {named(answers, True)}; clearly worse than {named(answers, False)}; "
        f"not told apart from {named(answers, None)}."
    )


def named(answers: Answers, wanted: bool | None) -> str:
    """Those of whom an answer was given."""
    return ", ".join(name for name, answer in answers.items() if answer is wanted) or "none"


def _numbers(comparison: Comparison, agents: Sequence[str]) -> dict[str, float]:
    return comparison.numbers([agent for agent in agents if agent in comparison.regret])
