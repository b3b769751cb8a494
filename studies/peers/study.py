"""Runs of other libraries' bandits beside ours, and the page of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from threadpoolctl import threadpool_limits

from agents.registry import find_class
from evaluation.play import play
from evaluation.protocol import Protocol
from evaluation.provenance import version_of
from evaluation.specs import AgentEntry, ProtocolError, WorldSpec
from studies.lab import FailedRunError, Lab, study_lab, study_parser
from studies.pages import write_page
from studies.peers.rivals import (
    RANDOM,
    Rivals,
    findings,
    listed,
    ratio_table,
    regret_table,
)
from studies.peers.widths import width_words, with_chosen_widths

STUDY, PROTOCOL = "studies.peers", "peers"
COMMAND = f"python -m {STUDY} --docs docs"
TIMED_IN, WARM_UP = "PeriodicGP-RideShare-v0", 24
"""The world that a step is timed in, and the steps before that: libraries are imported in them."""
TEXT = """# Beside other libraries

What would somebody get who took a bandit from a library instead? Written by

    {command}

which runs the protocol `peers` (`periodic-gp run peers` prints the same with all columns, but
without the rows of chosen widths): {runs}, of {horizons} steps, with the season known to all. The
agents of other libraries come with [examples/peers](../examples/peers), a package of its own that
enters by the entry points `periodic_gp.agents`, as anybody's would. The libraries are {versions}.

They are used as their documentation says: the context is a constant and three harmonics of each
season, rewards are standardised as they come, the first ten pulls are at random where no scale is
told (LightGBM needs ten rewards even then), equal arms are drawn at random. Settings are the
libraries' defaults, with these exceptions: `botorch-gp-ucb`, which the library gives no width, has
one deviation, as the linear ones have; LightGBM's leaves hold at least 5 rewards instead of 20 and
its bins 1 instead of 3, for there are few; and rows that are marked "width chosen".

Those have the width that was chosen for our `linucb` and `lints` on seeds {seeds} of the protocol
`standard`, {shared} of whose worlds are here, with other seeds: {widths}. MABWiser calls it
`alpha`; for bayesianbandits `alpha` is the quantile so many deviations above the mean; river has no
width, but `alpha` and `beta`, precisions that are 1 / width^2, do the same to it.
Thompson sampling of bayesianbandits, Vowpal Wabbit, BoTorch and LightGBM have no such row.

Not everybody is equally blind. `auto-gp-ucb` was developed while looking at RideShare, Madrid and
this very year of flights, among others, and the libraries were not.
`periodic-gp-ucb:time_length_scale=1` has the length-scale that SyntheticDiscrete and Shift are
drawn with. GP agents, theirs and ours, and LightGBM see the coordinates of arms where a world tells
them ({places}); the others have a model or a column for each arm, and cannot. {left_out}

## Regret

As a share of the regret of choosing at random: 0 is the oracle, 1 is chance; mean and 95 %
interval. **Bold** is the least in a world, **=** what is not told apart from it (the interval of
the paired difference has both signs; intervals are one by one, not corrected for how many there
are); agents in the order of their mean over the worlds that all were run in. `ours` are agents of
this project. A step is in milliseconds of one processor, deciding and
learning, in RideShare with {arms} arms (the time of `random` taken off).

{regret}

## Held against `auto-gp-ucb`

Ratio of mean regrets on the same runs, with its 95 % interval; below 1 the agent is the better one.

{ratios}

## In words

{findings}
"""


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


def left_out(rivals: Rivals) -> Iterator[str]:
    """Who was not run where."""
    for agent in [*rivals.ours, *rivals.theirs]:
        missing = [world for world in rivals.worlds if not rivals.run_in(world, [agent])]
        if missing:
            yield f"{listed([agent])} takes too long for {' and '.join(missing)}: not run there."


def runs_of(rivals: Rivals) -> str:
    """How many runs there are of each agent."""
    counts = {world: len(frame) for world, frame in rivals.bench.shares.items()}
    usual, _ = Counter(counts.values()).most_common(1)[0]
    words = [f"{usual} runs of each agent in each world"]
    words += [f"{count} in {world}" for world, count in counts.items() if count != usual]
    return ", ".join(words)


def places(protocol: Protocol) -> str:
    """Tasks whose worlds tell where their arms are."""
    worlds = {entry.group: protocol.world(entry).make() for entry in protocol.envs}
    told = [task for task, env in worlds.items() if env.public.action_features is not None]
    return "; ".join(told) or "none of these does"


def page_text(rivals: Rivals, protocol: Protocol, ms: Mapping[str, float]) -> str:
    """The whole page."""
    steps = sorted({protocol.world(entry).make().horizon for entry in protocol.envs})
    return TEXT.format(
        command=COMMAND,
        runs=runs_of(rivals),
        versions=versions(protocol.agents),
        horizons=" to ".join(f"{each:,}" for each in steps[:: max(len(steps) - 1, 1)]),
        **width_words(protocol),
        places=places(protocol),
        left_out=" ".join(left_out(rivals)),
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
        protocol, chosen = with_chosen_widths(Protocol.load(PROTOCOL))
    except ProtocolError as error:
        raise SystemExit(str(error)) from error
    with study_lab(PROTOCOL, options) as lab:
        results = lab.sweep(protocol)
        for failed in results.failures:
            raise FailedRunError(f"{failed.agent} in {failed.env} failed: {failed.reason}")
        ms = step_times(lab, protocol.agents)
        rivals = Rivals.of(results, protocol.agents, chosen)
        text = page_text(rivals, protocol, ms)
        print(f"\n{text}")
        if options.docs:
            numbers = {"normalised": rivals.bench.means(), "ms_per_step": ms}
            write_page(options.docs, "peers", text, numbers, [lab.stamp(COMMAND, study=STUDY)])
