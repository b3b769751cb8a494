"""Which agents belong together, which worlds do, and whom the paper means."""

from __future__ import annotations

from collections.abc import Mapping

from agents.registry import BUILT_IN, online_names

PERIODIC = "periodic-gp-ucb"
LOCAL = "periodic-gp-ucb:time_length_scale=1"
"""The paper's method with the length-scale that suits a world which moves within its season."""

BASELINES = "baselines"
SHOWN_FIRST = (
    BASELINES,
    "GP, static",
    "GP, forgetting",
    "GP, periodic",
    "arms, stationary",
    "arms, forgetting",
    "arms, change detection",
    "arms, many",
    "linear, changing",
    "arms, periodic",
    "linear, periodic",
)
"""The order of the families on the page; any others come after these."""


def _families() -> dict[str, tuple[str, ...]]:
    """Every agent that learns within the run it is judged by, under the family its class names."""
    found: dict[str, list[str]] = {family: [] for family in SHOWN_FIRST}
    for name in online_names():
        found.setdefault(BUILT_IN[name].family, []).extend(
            [PERIODIC, LOCAL] if name == PERIODIC else [name]
        )
    return {family: tuple(names) for family, names in found.items()}


FAMILIES: Mapping[str, tuple[str, ...]] = _families()

REPEATING = (
    "PeriodicGP-Synthetic-v0",
    "PeriodicGP-SyntheticDiscrete-v0",
    "PeriodicGP-HiddenPeriod-v0, told",
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
LINEAR = ("linucb", "lints")
"""Linear bandits on harmonics of the season with the constant width that practitioners give them:
these stand for linear bandits."""
LINEAR_BY_THEOREM = "fourier-linucb"
"""The same models with the theorem's width, which is made for the worst case."""
BLOCKS = ("r-gp-ucb", "tv-gp-ucb")
"""Bogunovic et al. 2016."""


def sweep_agents() -> list[str]:
    """The agents of the sweep, family by family."""
    return [agent for family in FAMILIES.values() for agent in family]


def short_name(world: str) -> str:
    """A world's name in a table.

    >>> short_name("PeriodicGP-HiddenPeriod-v0, told")
    'HiddenPeriod, told'
    """
    return world.removeprefix("PeriodicGP-").replace("-v0", "")


def family_of(agent: str) -> str:
    """The family of an agent."""
    found = [family for family, agents in FAMILIES.items() if agent in agents]
    return found[0] if found else "others"
