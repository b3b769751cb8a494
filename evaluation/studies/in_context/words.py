"""What the runs of the learner in context say, in sentences whose words the intervals choose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evaluation.statistics import Interval, paired_ratio
from evaluation.studies.comparison import Comparison
from evaluation.studies.markdown import shown

AGENT, TUNED, PPO = "in-context-ucb", "in-context-ucb, tuned", "recurrent-ppo, trained"
LOCAL, PAPER, AUTO = "periodic-gp-ucb, l = 1", "periodic-gp-ucb, l = 10", "auto-gp-ucb"
RIVALS = (LOCAL, PAPER, AUTO)
"""One life each, as the agent has: the periodic kernel with two length-scales, and ours."""
PLAIN, LINEAR, CHANCE = "gp-ucb", "linucb", "random"
SYNTHETIC, RIDES, MADRID = (
    f"PeriodicGP-{name}-v0" for name in ("SyntheticDiscrete", "RideShare", "MadridSim")
)
KNOWN = (SYNTHETIC, RIDES, MADRID)
"""The worlds that its prior is meant for, and that its width was chosen in, on other seeds."""
HIDDEN, WRONG, LONG = (
    "SyntheticDiscrete, period hidden",
    "MadridSim, told 17 hours",
    "RideShare, 2,520 steps",
)
CHOSEN = ", width chosen"
"""What follows the name of a rival whose width was chosen, too."""
VERDICTS = {True: "has less regret than", False: "has more regret than"}
APART = "is not told apart from"
Worlds = Mapping[str, Comparison]
"""The comparison of the agents in each world, by its label."""


def verdict(found: Comparison, agent: str, other: str) -> str:
    """Whether one has less regret than another, with the ratio."""
    better = found.better(agent, other)
    word = APART if better is None else VERDICTS[better]
    return f"{word} `{other}` ({shown(found.ratio(agent, other), 2)})"


def conclusions(worlds: Worlds, ms: Mapping[str, float]) -> str:
    """All sentences, as a list."""
    found = [
        *_against_rivals(worlds),
        *_against_chosen(worlds),
        *_changed(worlds, MADRID, WRONG, "A wrong period"),
        *_changed(worlds, SYNTHETIC, HIDDEN, "A hidden period"),
        *_in(worlds, HIDDEN, AGENT, [PLAIN]),
        *_in(worlds, RIDES, AGENT, [AUTO, LINEAR]),
        *_in(worlds, LONG, AGENT, [AUTO, LINEAR]),
        *_time(ms),
        *_each(worlds, TUNED, [AGENT]),
        *_each(worlds, PPO, [CHANCE, LOCAL, PAPER, AUTO]),
    ]
    return "\n".join(f"- {sentence}" for sentence in found)


def _against_rivals(worlds: Worlds) -> Iterator[str]:
    """Where it is better and worse than each rival: worlds of its kind, and others."""
    kinds = {
        "the worlds that its prior is meant for": [w for w in worlds if w in KNOWN],
        "the others": [w for w in worlds if w not in KNOWN],
    }
    for rival in RIVALS:
        parts = [
            f"in {kind} {_sorted(worlds, there, rival)}" for kind, there in kinds.items() if there
        ]
        yield f"Against `{rival}`: {'; '.join(parts)}."


def _sorted(worlds: Worlds, there: Sequence[str], rival: str) -> str:
    found = {world: worlds[world].better(AGENT, rival) for world in there}
    words = {True: "less regret in", False: "more in", None: "not told apart in"}
    return ", ".join(
        f"{word} {_listed([short(w) for w in there if found[w] is answer])}"
        for answer, word in words.items()
    )


def _against_chosen(worlds: Worlds) -> Iterator[str]:
    """The same against rivals that had their widths chosen as it had."""
    known = [world for world in KNOWN if world in worlds]
    rivals = [name for name in worlds[known[0]].regret if str(name).endswith(CHOSEN)]
    for rival in rivals:
        said = (f"{short(w)}: it {verdict(worlds[w], AGENT, rival)}" for w in known)
        yield f"With the width of that rival chosen on other seeds, too: {'; '.join(said)}."


def _changed(worlds: Worlds, before: str, after: str, what: str) -> Iterator[str]:
    """What a change of the world does to the regret of each, on the same seeds."""
    if before in worlds and after in worlds:
        said = (
            f"{shown(_factor(worlds, before, after, a), 2)} for `{a}`" for a in (AGENT, *RIVALS)
        )
        yield f"{what} multiplies regret by {', '.join(said)}."


def _factor(worlds: Worlds, before: str, after: str, agent: str) -> Interval:
    return paired_ratio(*(worlds[w].regret[agent].to_numpy() for w in (after, before)))


def _in(worlds: Worlds, world: str, agent: str, others: Sequence[str]) -> Iterator[str]:
    """One agent against some others in a world, as far as they were run there."""
    found = worlds.get(world)
    there = [other for other in others if found is not None and other in found.regret]
    if found is not None and agent in found.regret and there:
        said = (verdict(found, agent, other) for other in there)
        yield f"In {short(world)} `{agent}` {', '.join(said)}."


def _each(worlds: Worlds, agent: str, others: Sequence[str]) -> Iterator[str]:
    """One agent against some others in every world of the first kind."""
    for world in KNOWN:
        yield from _in(worlds, world, agent, others)


def _time(ms: Mapping[str, float]) -> Iterator[str]:
    others = [agent for agent in RIVALS if agent in ms]
    if AGENT in ms and others:
        said = ", ".join(
            f"{ms[AGENT] / ms[other]:.1f} times as long as `{other}`" for other in others
        )
        yield f"A step takes it {ms[AGENT]:.1f} ms: {said}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names) or "none"


def short(world: str) -> str:
    """A world's label without what all have.

    >>> short("PeriodicGP-RideShare-v0")
    'RideShare'
    """
    return world.removeprefix("PeriodicGP-").removesuffix("-v0")
