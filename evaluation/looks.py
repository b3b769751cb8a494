"""How an agent looks: its colour and dashes, the same in every picture and on every page."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable
from itertools import count

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, which differ with any kind of colour vision, without the pale yellow."""
DASHES = ("solid", "dash", "dot", "longdash", "dashdot", "longdashdot")
"""As Plotly calls them. Every round of colours has its own: 42 agents look different."""
FIRST = (
    *("periodic-gp-ucb", "gp-ucb", "auto-gp-ucb", "c-gp-ucb", "r-gp-ucb", "tv-gp-ucb", "random"),
    *("phase-ucb", "ucb1", "linucb", "d-ucb", "sw-ucb", "gp-thompson", "thompson"),
)
"""Agents that are in many pictures, in the order of their looks; others come as they may."""


def looks(agents: Iterable[str]) -> dict[str, int]:
    """The number of each agent's look, from its name, however its label goes on.

    "GP-UCB" of the paper looks like ``gp-ucb``, and "ppo, trained" like ``ppo``.

    Two that would look the same in one picture do not: the later one, agents without settings and
    then the alphabet going first, takes the next look that is free. So an agent looks the same
    wherever the others are the same, and those of ``FIRST`` nearly everywhere.

    Args:
        agents: All that are in the picture.
    """
    total = len(COLOURS) * len(DASHES)
    found: dict[str, int] = {}
    names = {agent: re.split("[:,]", agent)[0].lower() for agent in agents}

    def precedence(agent: str) -> tuple[bool, bool, bool, str]:
        varied = names[agent] != agent.lower()
        return names[agent] not in FIRST, varied, names[agent] != agent, agent

    for agent in sorted(names, key=precedence):
        name = names[agent]
        wanted = FIRST.index(name) if name in FIRST else zlib.crc32(name.encode()) % total
        rounds, used = len(found) // total, Counter(found.values())
        taken = {look for look, times in used.items() if times > rounds}
        found[agent] = next(k % total for k in count(wanted) if k % total not in taken)
    return found


def colour_of(look: int) -> str:
    """The colour of a look."""
    return COLOURS[look % len(COLOURS)]


def dashes_of(look: int) -> str:
    """The dashes of a look, one of ``DASHES``."""
    return DASHES[look // len(COLOURS) % len(DASHES)]
