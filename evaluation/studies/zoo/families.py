"""Which agents belong together, which worlds do, and whom the paper means."""

from __future__ import annotations

from collections.abc import Mapping

from agents.registry import BUILT_IN

PERIODIC = "periodic-gp-ucb"
LOCAL = "periodic-gp-ucb:time_length_scale=1"
"""The paper's method with the length-scale that suits a world which moves within its season."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "references": ("random", "fixed"),
    "GP, static": ("gp-ucb", "c-gp-ucb"),
    "GP, forgetting": (
        "r-gp-ucb",
        "tv-gp-ucb",
        "sw-gp-ucb",
        "wgp-ucb",
        "et-gp-ucb",
        "ui-tvbo",
        "w-dbo",
    ),
    "GP, periodic": (
        PERIODIC,
        LOCAL,
        "gp-thompson",
        "pe-gp-ucb",
        "switching-gp-ucb",
        "seasons-gp-ucb",
        "auto-gp-ucb",
    ),
    "arms, stationary": ("ucb1", "kl-ucb", "thompson"),
    "arms, forgetting": ("sw-ucb", "d-ucb", "sw-ts", "rexp3", "exp3-s"),
    "arms, change detection": ("glr-ucb", "adswitch", "master"),
    "arms, many": ("cab1", "ucb-air", "siri"),
    "linear, changing": ("d-linucb", "sw-linucb", "bob", "dlinucb-pool"),
    "arms, periodic": (
        "phase-ucb",
        "phase-ts",
        "fourier-period-ucb",
        "periodic-exp4",
        "fourier-linucb",
        "ramanujan-ucb",
        "model-reuse-ucb",
    ),
}
"""Every agent that learns within one life, with names that may yet come. Those not registered are
left out of the sweep; a test fails if one that is registered has no family."""

REPEATING = (
    "PeriodicGP-Synthetic-v0",
    "PeriodicGP-SyntheticDiscrete-v0",
    "PeriodicGP-HiddenPeriod-v0, period known",
    "PeriodicGP-RideShare-v0",
)
GROUPS: Mapping[str, tuple[str, ...]] = {
    "repeating": REPEATING,
    "nearly repeating": (
        "PeriodicGP-AlmostPeriodic-v0",
        "PeriodicGP-MultiSeason-v0",
        "PeriodicGP-Switching-v0",
        "PeriodicGP-Contextual-v0",
        "PeriodicGP-MadridSim-v0",
    ),
    "not repeating": ("PeriodicGP-Stationary-v0", "PeriodicGP-Piecewise-v0"),
}
"""The worlds of the protocol ``standard``. Nearly: seasons that never meet again within the run,
that drift, or that something else is added to."""

CITED: Mapping[str, str] = {
    "rexp3": "Besbes et al. 2014, 2019",
    "master": "Luo et al. 2017 and Chen et al. 2019, through Wei and Luo 2021",
    "dlinucb-pool": "Wu et al. 2018",
    "d-linucb": "Russac et al. 2019",
    "adswitch": "Auer et al. 2019",
    "sw-linucb": "Cheung et al. 2019",
    "bob": "Cheung et al. 2019",
    "sw-ts": "Trovo et al. 2020",
}
"""The methods for changing rewards that the paper says cannot solve a periodic world."""
GENERAL: Mapping[str, str] = {
    "cab1": "Kleinberg 2005",
    "ucb-air": "Wang et al. 2009",
    "siri": "Carpentier and Valko 2015",
    "gp-ucb": "Srinivas et al. 2010",
    "c-gp-ucb": "Krause and Ong 2011",
}
"""The methods for general action spaces of which it says that they suppose a static reward."""
BLOCKS = ("r-gp-ucb", "tv-gp-ucb")
"""Bogunovic et al. 2016."""


def online_names() -> list[str]:
    """Registered agents of this package, but for generic RL, which has a page of its own."""
    return [name for name, place in BUILT_IN.items() if not place.startswith("agents.rl")]


def sweep_agents() -> list[str]:
    """The agents of the sweep, family by family."""
    known = set(online_names())
    listed = [agent for family in FAMILIES.values() for agent in family]
    return [agent for agent in listed if agent.partition(":")[0] in known]


def short_name(world: str) -> str:
    """A world's name in a table.

    >>> short_name("PeriodicGP-HiddenPeriod-v0, period known")
    'HiddenPeriod, period known'
    """
    return world.removeprefix("PeriodicGP-").replace("-v0", "")


def family_of(agent: str) -> str:
    """The family of an agent."""
    found = [family for family, agents in FAMILIES.items() if agent in agents]
    return found[0] if found else "others"
