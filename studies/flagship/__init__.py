"""auto-gp-ucb, judged: tables, cities, Madrid and the core worlds, and the page of it.

    python -m studies.flagship [PART ...] [--docs docs] [--seeds 0:40]
        [--worlds WORLD ...] [--store auto-gp.sqlite] [--workers 2]
        [--years 2016:2017] [--table FILE ... --period 24 [--steps 384] [--every DAYS]
        [--warm STEPS] [--start TIME]]

The parts are tables, rideshare, madrid, changed-city, core, unknown-period, cost,
pictures and madrid-2018. Without names all but the last are run, for half an hour or so: 2018 is
judged only when asked for by name. Each part writes its figures into DOCS/auto-gp.json, from which
the page DOCS/auto-gp.md is made anew. Finished runs are kept in the store and not run again.

Whoever holds other data can check: ``--table`` judges windows of any table that
``PeriodicGP-Replay-v0`` reads in the place of ours (part ``tables``), ``--years`` those of any
imported years of Madrid (``madrid`` and ``changed-city``; ``periodic-gp data list``). The page is
then printed, and written only where ``--docs`` says so.

The agent was developed on Madrid 2016 and 2017, the three tables, the example of demand and seeds
from 100 on; seeds 0 to 99 and 2018 only judge.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from numpy.typing import ArrayLike

from evaluation.statistics import Interval, PairedDifference, paired_ratio
from studies.lab import Lab

AUTO, PRETRAINED = "auto-gp-ucb", "auto-gp-ucb:prior=madrid"
KNOWN, UNKNOWN = ", period known", ", period unknown"
"""Behind the names of worlds that tell the season's length in this study, or do not."""
FlagshipLab = Lab[Namespace]
"""Where it is run, as the command line says."""
Rows = list[dict[str, Any]]
"""What a part has found, as JSON keeps it."""


def numbers(found: Interval | PairedDifference) -> list[float]:
    """A figure and the ends of its interval."""
    return [found.estimate, found.low, found.high]


def ratio_of(a: ArrayLike, b: ArrayLike) -> list[float]:
    """The ratio of the sums over common runs, and the ends of its interval if there are several."""
    found = numbers(paired_ratio(a, b))
    return found if found[1] == found[1] else found[:1]


__all__ = ["AUTO", "KNOWN", "PRETRAINED", "UNKNOWN", "FlagshipLab", "Rows", "numbers", "ratio_of"]
