"""Runs of other libraries' bandits beside ours, and the page of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from agents.registry import find_class, is_built_in
from evaluation.protocol.entries import AgentEntry, ProtocolError, WorldSpec
from evaluation.protocol.protocol import Protocol
from evaluation.results import Results
from evaluation.running.play import play
from evaluation.running.provenance import version_of
from evaluation.studies.comparison import Comparison
from evaluation.studies.lab import FailedRunError, Lab, study_lab, study_parser
from evaluation.studies.markdown import markdown_table, shown
from evaluation.studies.pages import write_page
from evaluation.studies.zoo.bench import Bench

STUDY, PROTOCOL = "evaluation.studies.peers", "peers"
COMMAND = f"python -m {STUDY} --docs docs"
AUTO, RANDOM = "auto-gp-ucb", "random"
TIMED_IN, WARM_UP = "PeriodicGP-RideShare-v0", 24
"""The world that a step is timed in, and the steps before that: libraries are imported in them."""
TEXT = """# Beside other libraries

What would somebody get who took a bandit from a library instead? Written by

    {command}

which runs the protocol `peers` (`periodic-gp run peers` prints the same with all columns): {runs}
runs of each agent in each world, with the season known to all. The agents of other libraries come
with [examples/peers](../examples/peers), a package of its own that enters by the entry points
`periodic_gp.agents`, as anybody's would. The libraries are {versions}.

They are used as their documentation says, at the defaults of the library: the context is a constant
and three harmonics of each season, rewards are standardised as they come, the first ten pulls are
at random where no scale is told, equal arms are drawn at random. Nobody's settings were tuned on
these worlds, neither theirs nor ours; `botorch-gp-ucb`, which the library gives no width, has one
deviation, as the linear ones have. `auto-gp-ucb` was developed while looking at RideShare and
Madrid, among others, and the libraries were not: read those columns with that in mind. GP agents,
theirs and ours, and LightGBM see the coordinates of the arms, which all four worlds tell; the
others have a model or a column for each arm, and cannot. Runs are short ({horizons} steps):
nothing is said here of long ones.

## Regret

As a share of the regret of choosing at random: 0 is the oracle, 1 is chance; mean and 95 %
interval. **Bold** is the least in a world, **=** what is not told apart from it (the interval of
the paired difference has both signs; intervals are one by one, not corrected for how many there
are). `ours` are agents of this project. A step is in milliseconds of one processor, deciding and
learning, in RideShare with {arms} arms (the time of `random` taken off).

{regret}

## Held against `auto-gp-ucb`

Ratio of mean regrets on the same runs, with its 95 % interval; below 1 the agent is the better one.

{ratios}

## In words

{findings}
"""


@dataclass(frozen=True)
class Rivals:
    """Agents in worlds.

    Attributes:
        bench: Regret of each run as a share of choosing at random.
        ours: Labels of the agents of this project.
        theirs: Labels of the agents of other libraries.
    """

    bench: Bench
    ours: Sequence[str]
    theirs: Sequence[str]

    @classmethod
    def of(cls, results: Results, entries: Sequence[AgentEntry]) -> Rivals:
        """From the results of the protocol."""
        known = {entry.label: is_built_in(entry.spec.name) for entry in entries}
        ours = [label for label, mine in known.items() if mine]
        return cls(Bench.of(results), ours, [label for label in known if label not in ours])

    @property
    def worlds(self) -> list[str]:
        """Labels of the worlds."""
        return list(self.bench.shares)

    def ranked(self) -> list[str]:
        """All agents, the least mean share over the worlds first."""
        return self.bench.pooled(self.worlds).order([*self.ours, *self.theirs])

    def in_world(self, world: str) -> tuple[Comparison, list[str]]:
        """The comparison of a world, and its agents, the least regret first."""
        comparison = self.bench.world(world)
        return comparison, comparison.order([*self.ours, *self.theirs])


def regret_table(rivals: Rivals, ms: Mapping[str, float]) -> str:
    """Shares of choosing at random, the best of each world marked, and the time of a step."""
    found = {world: rivals.in_world(world) for world in rivals.worlds}
    rows = []
    for agent in rivals.ranked():
        cells = [_marked(comparison, order[0], agent) for comparison, order in found.values()]
        whose = "ours" if agent in rivals.ours else ""
        rows.append([f"`{agent}`", whose, *cells, _written_ms(ms[agent])])
    return markdown_table(["agent", "", *found, "ms a step"], rows, texts=2)


def _marked(comparison: Comparison, best: str, agent: str) -> str:
    cell = shown(comparison.mean(agent), 2)
    if agent == best:
        return f"**{cell}**"
    return f"{cell} **=**" if comparison.better(best, agent) is None else cell


def _written_ms(ms: float) -> str:
    return f"{ms:.2f}" if ms < 9.995 else f"{ms:.0f}"


def ratio_table(rivals: Rivals) -> str:
    """Of every agent of another library, and of our linear bandit, in every world."""
    comparisons = [rivals.bench.world(world) for world in rivals.worlds]
    agents = [agent for agent in rivals.ranked() if agent not in (AUTO, RANDOM)]
    rows = [
        [f"`{agent}`", *(shown(each.ratio(agent, AUTO), 2) for each in comparisons)]
        for agent in agents
    ]
    return markdown_table(["agent", *rivals.worlds], rows)


def findings(rivals: Rivals) -> Iterator[str]:
    """Who wins where, and where a rival beats us: as the tables have it."""
    better = worse = 0
    for world in rivals.worlds:
        comparison, order = rivals.in_world(world)
        verdicts = {agent: comparison.better(agent, AUTO) for agent in rivals.theirs}
        clearly = [agent for agent in rivals.theirs if verdicts[agent]]
        close = [agent for agent in rivals.theirs if verdicts[agent] is None]
        better += len(clearly)
        worse += sum(verdict is False for verdict in verdicts.values())
        rival = next(agent for agent in order if agent in rivals.theirs)
        yield (
            f"- {world}: `{order[0]}` has the least regret. Of other libraries' agents `{rival}` "
            f"is the best, with {shown(comparison.ratio(rival, AUTO), 2)} times the regret of "
            f"`{AUTO}`. Clearly better than `{AUTO}`: {_listed(clearly)}; not told apart from it: "
            f"{_listed(close)}."
        )
    pairs = len(rivals.theirs) * len(rivals.worlds)
    yield (
        f"- In all, of {pairs} pairs of a library's agent and a world, the library's is clearly "
        f"better than `{AUTO}` in {better} and clearly worse in {worse}."
    )


def _listed(agents: Sequence[str]) -> str:
    return ", ".join(f"`{agent}`" for agent in agents) or "none"


def versions(entries: Sequence[AgentEntry]) -> str:
    """The libraries that agents of other packages name, with the versions that were run."""
    named = [getattr(find_class(entry.spec.name), "libraries", ()) for entry in entries]
    libraries = sorted({library for several in named for library in several})
    return ", ".join(f"{library} {version_of(library)}" for library in libraries)


def processor_seconds(entry: AgentEntry) -> float:
    """Processor time of a step in one run, world and all; imports are not counted."""
    with threadpool_limits(1):
        play(WorldSpec(TIMED_IN, {"horizon": WARM_UP}).make(), entry.spec, 0)
        env = WorldSpec(TIMED_IN).make()
        start = time.process_time()
        steps = len(play(env, entry.spec, 0).t)
        return (time.process_time() - start) / steps


def step_times(lab: Lab[Any], entries: Sequence[AgentEntry]) -> dict[str, float]:
    """Milliseconds of every agent, without the world's: ``random`` itself takes next to none."""
    lab.uses(agents=(entry.spec.name for entry in entries), worlds=[TIMED_IN])
    found = lab.map("time of a step", processor_seconds, entries)
    seconds = dict(zip((entry.label for entry in entries), found, strict=True))
    return {agent: max(0.0, 1e3 * (each - seconds[RANDOM])) for agent, each in seconds.items()}


def page_text(rivals: Rivals, protocol: Protocol, ms: Mapping[str, float]) -> str:
    """The whole page."""
    steps = sorted({protocol.world(entry).make().horizon for entry in protocol.envs})
    runs = {len(frame) for frame in rivals.bench.shares.values()}
    return TEXT.format(
        command=COMMAND,
        runs=" to ".join(map(str, sorted(runs))),
        versions=versions(protocol.agents),
        horizons=" to ".join(map(str, steps[:: max(len(steps) - 1, 1)])),
        arms=WorldSpec(TIMED_IN).make().public.n_actions,
        regret=regret_table(rivals, ms),
        ratios=ratio_table(rivals),
        findings="\n".join(findings(rivals)),
    )


def main(arguments: list[str] | None = None) -> None:
    """Run, print, and write what is to be written."""
    parser = study_parser(
        "Bandits of other libraries beside ours.", store="peers.sqlite", page="peers.md"
    )
    options = parser.parse_args(arguments)
    try:
        protocol = Protocol.load(PROTOCOL)
    except ProtocolError as error:
        raise SystemExit(str(error)) from error
    with study_lab(PROTOCOL, options) as lab:
        results = lab.sweep(protocol)
        for failed in results.failures:
            raise FailedRunError(f"{failed.agent} in {failed.env} failed: {failed.reason}")
        ms = step_times(lab, protocol.agents)
        rivals = Rivals.of(results, protocol.agents)
        text = page_text(rivals, protocol, ms)
        print(f"\n{text}")
        if options.docs:
            numbers = {"normalised": rivals.bench.means(), "ms_per_step": ms}
            write_page(options.docs, "peers", text, numbers, [lab.stamp(COMMAND, study=STUDY)])
