"""auto-gp-ucb, judged: the core worlds, Madrid, ablations, cost and pictures, and the page of it.

    python -m evaluation.studies.flagship [PART ...] [--docs docs] [--seeds 0:40]
        [--worlds WORLD ...] [--store auto-gp.sqlite] [--workers 2]

The parts are core, unknown-period, ablation, share, madrid-2018, cost and pictures. Without names
all are run, for half an hour or so. Each writes its figures into DOCS/auto-gp.json, from which the
page DOCS/auto-gp.md is made anew. Finished runs are kept in the store and not run again. Madrid
needs the measurements of 2016 to 2018 (``periodic-gp data list``). Every knob was set on 2016 and
2017, on seeds from 100 on and on the example of demand; ``madrid-2018``, ``core`` and the simulated
worlds of ``unknown-period`` (seeds from 0 on) only judge.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from evaluation.statistics import Interval, PairedDifference
from evaluation.studies.lab import Lab

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


__all__ = ["AUTO", "KNOWN", "PRETRAINED", "UNKNOWN", "FlagshipLab", "Rows", "numbers"]
