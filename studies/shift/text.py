"""The words of the page, and what the figures say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from studies.markdown import shown

if TYPE_CHECKING:
    from studies.shift.study import Study

BLIND = ("fixed", "sw-ucb", "glr-ucb", "tv-gp-ucb", "r-gp-ucb", "et-gp-ucb")
"""Agents that know no season; all but the first forget, or start afresh."""
SEASONAL = ("linucb", "periodic-gp-ucb, l = 1", "switching-gp-ucb", "auto-gp-ucb")
TEXT = """# Seasons that move

A season is worth learning as long as it stays what it is. In `PeriodicGP-Shift-v0` it does not:
twice in 400 steps, at unknown times, the phase jumps by a quarter of a season, the season becomes
1.5 times as long or as short, half of the arms trade places, or all that repeats becomes 1.5 times
as strong or as weak (`size=0.5`). This page is written by

    {command}

which runs the protocol `shift` over seeds {seeds} (`periodic-gp run shift` prints its tables): 20
arms, a season of 20 steps, noise of standard deviation 1. All worlds of a seed are the same until
the first change, change at the same times and have the same noise, as has the one that stands
still. Nothing was tuned for this page; the settings are the agents' own, but for `l = 1`, which is
the length-scale that the world is drawn with.

## What a change costs

Mean regret in the world that stands still, and how many times as large it is in worlds that change;
with 95 % intervals, paired over seeds. A ratio is not a loss alone: a stronger or weaker season
(amplitude) makes another world, in which there is more or less to lose, as the row `random` shows.

{costs}

{findings}

Agents are named here by what came out, so differences between the first ones may be chance.

## Before and after

Regret per step in the last season before the first change (before) and in the first season after it
(after 1st); steps from the change until a season begins with at most 1.5 times the regret before
(recovery), and the share of changes after which one does (back), for the first change by itself
(1st) and for both (all); and the largest regret over any 20 steps (worst). Means over runs, with
95 % intervals.

- Both changes are held against the regret before the first. Who never got back after the first is
  not back after the second, neither because it was as bad before it, nor because the second undoes
  the first. The first is the cleaner measurement: what follows the second depends on both.
- A season has the length that it has at that time: 20 steps, but where it is the length that
  changes, 30 or 13, and after two changes 45, 20 or 9. Regret is per step over a whole season, so
  that these can be compared. It is not per what there is to lose: a stronger season has more.
- A change that is not recovered from before the next one, or the end, counts with all steps until
  then: recovery is then too low, so read it with back.
- Regret of one season is a noisy measure, and falls as an agent learns. "Still" has the same
  figures at the same times in the world that stands still: what they are where nothing changes. The
  other tables have its shares in brackets behind their own. A change has done what its table has
  and "Still" has not. Who has learned nothing has nothing to lose: see `random`.

{around}

## What being told is worth, and what late rewards cost

How many times as large the regret is as in the same world in which nothing is told, and rewards
come at once. "Told of it" is `notify="change"`: an entry of the observation, `changed`, is 1 in the
first step after a change. Of the agents of the first table only `auto-gp-ucb` looks at such
entries, as at any context. `restarted when told` is
`periodic-gp-ucb:time_length_scale=1,restart_on=changed`, which forgets everything then, held
against the same agent without. "Told all" is `notify="full"`: the phase of the season as it is now
is shown, too; `gp-ucb in what is told` (`gp-ucb:context_length_scale=1`) has the kernel of
`periodic-gp-ucb`, in that phase instead of the time, and is held against it. "20 steps late" is the
world `phase` with `delay=20`.

{told}
"""


def findings(study: Study) -> str:
    """What the tables say, in a line for each kind of change and one for each notice."""
    return "\n".join(f"- {line}" for line in _lines(study))


def _lines(study: Study) -> Iterator[str]:
    for kind in ("phase", "period", "swap", "amplitude"):
        best = min(SEASONAL, key=lambda agent: study.mean(kind, agent))
        dearest = max(SEASONAL, key=lambda agent: study.ratio(kind, "still", agent).estimate)
        blind = min(BLIND, key=lambda agent: study.mean(kind, agent))
        yield (
            f"{kind.title()}: of those that know the season `{best}` loses least "
            f"({study.mean(kind, best):,.0f}), and `{dearest}` pays most for the changes, "
            f"{shown(study.ratio(kind, 'still', dearest), 2)} times. The best without a season, "
            f"`{blind}` ({study.mean(kind, blind):,.0f}), pays "
            f"{shown(study.ratio(kind, 'still', blind), 2)} times, and has "
            f"{shown(study.versus(kind, blind, best), 2)} times the regret of the first."
        )
    told = study.ratio("phase, told of it", "phase", "restarted when told")
    swap = study.ratio("swap, told of it", "swap", "restarted when told")
    everything = study.ratio("phase, told all", "phase", "gp-ucb in what is told")
    yield (
        f"To be told of a change and to start afresh makes the regret of `periodic-gp-ucb` "
        f"{shown(told, 2)} times what it was where the phase jumps and {shown(swap, 2)} times "
        f"where half of the arms trade places, and what was known of the others is forgotten, too; "
        f"to be told the phase itself, {shown(everything, 2)} times."
    )
    late = {a: study.ratio("phase, 20 steps late", "phase", a) for a in SEASONAL}
    worst = max(late, key=lambda agent: late[agent].estimate)
    yield (
        f"Rewards that come 20 steps late on top of a jumping phase cost `{worst}` most of those "
        f"that know the season, {shown(late[worst], 2)} times."
    )
