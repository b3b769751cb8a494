"""Random reasonable settings, tried on Madrid's monthly windows.

Two uses. *How much depends on the settings?* (Section "settings": over how many does a claim hold.)
*A second rule for hyper-parameters*, kinder than evidence: of the settings tried, each method takes
the one with the least regret on the windows of the two months before.

A setting is common to all methods in what they share (length-scale in space, noise, how rewards are
normalised); each method has its own time parameter drawn along with it.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache as imported
from studies.lab import regrets
from studies.methods import GP, METHODS, PERIODIC
from studies.paper.pretraining import by_evidence, months_before, seeking_least
from studies.paper.size import PaperLab

WORLD = "PeriodicGP-Madrid-v0"
START = datetime.date(2018, 3, 3)
"""First day of the paper's window."""
SEED = 2018
NORMALISATIONS = ("warm start", "prior")
DRAWS = 2000
"""How often settings are drawn again to see how much the rule depends on the draw."""


@cache
def random_setting(number: int) -> dict[str, Any]:
    """What is drawn for one setting: each entry log-uniform in a range that makes sense."""
    rng = np.random.default_rng([SEED, number])

    def between(low: float, high: float) -> float:
        return float(f"{np.exp(rng.uniform(np.log(low), np.log(high))):.4g}")

    return {
        "length_scale": between(0.5, 20.0),  # km: stations are 1 to 20 apart
        "noise_variance": between(0.03, 3.0),
        "periodic": between(0.3, 10.0),
        "eps": between(0.003, 0.3),
        "hours": between(1.0, 30.0),
        "normalisation": NORMALISATIONS[int(rng.integers(2))],
    }


def settings_of(method: str, number: int, objective: str) -> dict[str, Any]:
    """One setting as a method's own."""
    drawn = random_setting(number)
    own = {
        PERIODIC: {"time_length_scale": drawn["periodic"]},
        "TV-GP-UCB": {"eps": drawn["eps"]},
        "C-GP-UCB": {"time_length_scale": drawn["hours"]},
    }.get(method, {})
    settings = {key: drawn[key] for key in ("length_scale", "noise_variance")} | own
    if drawn["normalisation"] == "prior":
        # A plain guess at the city's air, the same in every window: 15 ug/m3, give or take 20.
        sign = 1.0 if objective == "max" else -1.0
        settings |= {"prior_mean": sign * 15.0, "prior_scale": 20.0}
    return settings


def monthly_window(year: int, month: int) -> datetime.date:
    """First day of a month's window; months count on beyond the year.

    >>> monthly_window(2018, 0), monthly_window(2018, -1)
    (datetime.date(2017, 12, 3), datetime.date(2017, 11, 3))
    """
    years, index = divmod(month - 1, 12)
    return datetime.date(year + years, index + 1, 3)


def usable_months(months: tuple[int, ...]) -> list[int]:
    """Those of 2018 whose two months before are imported, too (all, where all is simulated)."""
    have = imported.years()
    if not have:
        return list(months)
    past = {month: months_before(monthly_window(2018, month))[0].year for month in months}
    found = [month for month in months if {2018, past[month]} <= set(have)]
    if not found:
        listed = ", ".join(map(str, have))
        raise DataError(
            "Madrid's part needs the measurements of 2018, and of 2017 for January and February; "
            f"imported are {listed}. Import them, or choose other sections with --only"
        )
    return found


def usable_windows(months: tuple[int, ...]) -> list[datetime.date]:
    """First days of the windows of 2018 that are usable."""
    return [monthly_window(2018, month) for month in usable_months(months)]


def window_world(start: datetime.date, **arguments: Any) -> dict[str, Any]:
    """A window for a protocol; it seeks the most NO if nothing else is said."""
    return {"id": WORLD, "arguments": {"start": str(start), **arguments}, "label": f"{start:%Y-%m}"}


def monthly_worlds(months: tuple[int, ...]) -> list[dict[str, Any]]:
    """The windows of 2018 that are usable, seeking the most NO, for a protocol."""
    return [window_world(start) for start in usable_windows(months)]


def trial(
    lab: PaperLab,
    start: datetime.date,
    objective: str,
    count: int,
    methods: Sequence[str] = tuple(METHODS),
) -> pd.DataFrame:
    """Regret on one window: a row for each setting, a column for each method."""
    agents = [
        {
            "name": METHODS[method],
            "label": f"{method} {number}",
            "settings": settings_of(method, number, objective),
        }
        for number in range(count)
        for method in methods
    ]
    env = window_world(start, objective=objective)
    name = f"settings-{start:%Y-%m}-{objective}-{count}"
    found = regrets(lab.run(name, envs=[env], agents=agents)).iloc[0]
    rows = {n: {method: found[f"{method} {n}"] for method in methods} for n in range(count)}
    return pd.DataFrame.from_dict(rows, orient="index")


def tried_before(
    lab: PaperLab,
    start: datetime.date,
    objective: str,
    count: int,
    methods: Sequence[str] = tuple(METHODS),
) -> pd.DataFrame:
    """The same of the windows of the two months before, together."""
    before = [monthly_window(start.year, start.month - back) for back in (2, 1)]
    tried = [trial(lab, earlier, objective, count, methods) for earlier in before]
    return sum(tried[1:], start=tried[0])


def by_trial(lab: PaperLab, start: datetime.date, objective: str) -> dict[str, dict[str, Any]]:
    """Settings of each method that did best on the windows of the two months before."""
    total = tried_before(lab, start, objective, lab.size.trials)
    return {
        method: settings_of(method, int(total[method].idxmin()), objective) for method in METHODS
    }


def by_rule(
    lab: PaperLab, rule: str, starts: Sequence[datetime.date], objective: str = "max"
) -> Sequence[dict[str, dict[str, Any]]]:
    """Settings of each method for each window, by "evidence" or by "trial"."""
    if rule == "trial":
        return [by_trial(lab, start, objective) for start in starts]
    found = by_evidence(lab, starts)
    return found if objective == "max" else [seeking_least(settings) for settings in found]


def redrawn(before: pd.DataFrame, after: pd.DataFrame, size: int) -> Array:
    """What the rule would have found with other settings to choose from, for each of ``DRAWS``.

    Args:
        before: Regret of each setting (row) and method on the windows that the rule looks at.
        after: The same settings on the window that is judged.
        size: How many of the settings are drawn, without repetition, for the rule to choose from.

    Returns:
        The change of regret from GP-UCB to Periodic-GP-UCB, each with the setting it chose.
    """
    rng = np.random.default_rng(SEED)
    drawn = rng.permuted(np.tile(np.arange(len(before)), (DRAWS, 1)), axis=1)[:, :size]

    def judged(method: str) -> Array:
        best = before[method].to_numpy()[drawn].argmin(axis=1)
        return np.asarray(after[method].to_numpy()[drawn[np.arange(DRAWS), best]])

    return judged(PERIODIC) / judged(GP) - 1.0
