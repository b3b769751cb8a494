"""Other libraries' agents beside ours: tables, and what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agents.registry import is_built_in
from evaluation.results import Results
from evaluation.specs import AgentEntry
from studies.comparison import Comparison
from studies.markdown import markdown_table, shown
from studies.zoo.bench import Bench

AUTO, RANDOM = "auto-gp-ucb", "random"
NOT_RUN = "not run"


@dataclass(frozen=True)
class Rivals:
    """Agents in worlds.

    Attributes:
        bench: Regret of each run as a share of choosing at random.
        ours: Labels of the agents of this project.
        theirs: Labels of the agents of other libraries.
        chosen: Labels of all whose width was chosen on other seeds; the rest has its defaults.
    """

    bench: Bench
    ours: Sequence[str]
    theirs: Sequence[str]
    chosen: Collection[str] = field(default=())

    @classmethod
    def of(
        cls, results: Results, entries: Sequence[AgentEntry], chosen: Collection[str] = ()
    ) -> Rivals:
        """From the results of the protocol."""
        known = {entry.label: is_built_in(entry.spec.name) for entry in entries}
        ours = [label for label, mine in known.items() if mine]
        theirs = [label for label in known if label not in ours]
        return cls(Bench.of(results), ours, theirs, chosen)

    @property
    def worlds(self) -> list[str]:
        """Labels of the worlds."""
        return list(self.bench.shares)

    def run_in(self, world: str, agents: Sequence[str]) -> list[str]:
        """Those of some agents that were run in a world."""
        return [agent for agent in agents if agent in self.bench.shares[world]]

    def ranked(self) -> list[str]:
        """All agents, the least mean share first, over the worlds that all were run in."""
        everybody = [*self.ours, *self.theirs]
        common = [world for world in self.worlds if self.run_in(world, everybody) == everybody]
        return self.bench.pooled(common).order(everybody)

    def in_world(self, world: str) -> tuple[Comparison, list[str]]:
        """The comparison of a world, and its agents, the least regret first."""
        comparison = self.bench.world(world)
        return comparison, comparison.order(self.run_in(world, [*self.ours, *self.theirs]))


def regret_table(rivals: Rivals, ms: Mapping[str, float]) -> str:
    """Shares of choosing at random, the best of each world marked, and the time of a step."""
    found = {world: rivals.in_world(world) for world in rivals.worlds}
    rows = []
    for agent in rivals.ranked():
        cells = [_marked(comparison, order, agent) for comparison, order in found.values()]
        kind = ["ours"] * (agent in rivals.ours) + ["width chosen"] * (agent in rivals.chosen)
        rows.append([f"`{agent}`", ", ".join(kind), *cells, _written_ms(ms[agent])])
    return markdown_table(["agent", "", *found, "ms a step"], rows, texts=2)


def _marked(comparison: Comparison, order: Sequence[str], agent: str) -> str:
    if agent not in order:
        return NOT_RUN
    cell, best = shown(comparison.mean(agent), 2), order[0]
    if agent == best:
        return f"**{cell}**"
    return f"{cell} **=**" if comparison.better(best, agent) is None else cell


def _written_ms(ms: float) -> str:
    return f"{ms:.2f}" if ms < 9.995 else f"{ms:.0f}"


def ratio_table(rivals: Rivals) -> str:
    """Of every agent but ``auto-gp-ucb`` itself and chance, in every world."""
    comparisons = [rivals.in_world(world) for world in rivals.worlds]
    rows = [
        [
            f"`{agent}`",
            *(
                shown(found.ratio(agent, AUTO), 2) if agent in order else NOT_RUN
                for found, order in comparisons
            ),
        ]
        for agent in rivals.ranked()
        if agent not in (AUTO, RANDOM)
    ]
    return markdown_table(["agent", *rivals.worlds], rows)


def findings(rivals: Rivals) -> Iterator[str]:
    """Who wins where, and where a rival beats us: as the tables have it."""
    for world in rivals.worlds:
        comparison, order = rivals.in_world(world)
        theirs = rivals.run_in(world, rivals.theirs)
        verdicts = {agent: comparison.better(agent, AUTO) for agent in theirs}
        clearly = [agent for agent in theirs if verdicts[agent]]
        close = [agent for agent in theirs if verdicts[agent] is None]
        rival = next(agent for agent in order if agent in theirs)
        yield (
            f"- {world}: `{order[0]}` has the least regret. Of other libraries' agents `{rival}` "
            f"is the best, with {shown(comparison.ratio(rival, AUTO), 2)} times the regret of "
            f"`{AUTO}`. Clearly better than `{AUTO}`: {listed(clearly)}; not told apart from it: "
            f"{listed(close)}."
        )
    at_defaults = [agent for agent in rivals.theirs if agent not in rivals.chosen]
    chosen = [agent for agent in rivals.theirs if agent in rivals.chosen]
    for words, agents in (("at its defaults", at_defaults), ("with its width chosen", chosen)):
        if agents:
            yield _counted(rivals, agents, words)
    yield from _gains(rivals)


def _counted(rivals: Rivals, agents: Sequence[str], words: str) -> str:
    """How often some agents are better and worse than ours."""
    verdicts = Counter(
        rivals.bench.world(world).better(agent, AUTO)
        for world in rivals.worlds
        for agent in rivals.run_in(world, agents)
    )
    return (
        f"- Of {verdicts.total()} pairs of a library's agent {words} and a world, the library's is "
        f"clearly better than `{AUTO}` in {verdicts[True]}, clearly worse in {verdicts[False]}, "
        f"and not told apart from it in {verdicts[None]}."
    )


def _gains(rivals: Rivals) -> Iterator[str]:
    """What the chosen width is worth to each agent of a library."""
    for agent in (agent for agent in rivals.theirs if agent in rivals.chosen):
        plain = agent.partition(":")[0]
        pairs = [w for w in rivals.worlds if rivals.run_in(w, [agent, plain]) == [agent, plain]]
        verdicts = Counter(rivals.bench.world(world).better(agent, plain) for world in pairs)
        yield (
            f"- `{agent}` has clearly less regret than `{plain}` in {verdicts[True]} of "
            f"{len(pairs)} worlds, and clearly more in {verdicts[False]}."
        )


def listed(agents: Sequence[str]) -> str:
    """Names, or that there are none."""
    return ", ".join(f"`{agent}`" for agent in agents) or "none"
