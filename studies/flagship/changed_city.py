"""Madrid after a change: what a prior costs where the city is no longer what it was learned on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from agents.registry import AgentSpec
from evaluation.play import play
from evaluation.specs import WorldSpec
from periodic_decisions.priors import check_imported
from periodic_envs.arrays import Array
from studies.flagship import AUTO, FlagshipLab, Rows
from studies.flagship.madrid import (
    DEVELOPMENT_YEARS,
    MADRID,
    prior_without,
)

DAYS = ("01-12", "04-03", "06-12", "11-03")
"""Of each year, when windows begin: in all seasons."""
WARM_START, PERIOD = 48, 24
REPLAY = "PeriodicGP-Replay-v0"
DIRTIEST, REDUCED_TO = 6, 0.3
"""How many stations lose their traffic, and what is left of it."""
HOURS_SHIFTED = 9
Change = Callable[[Array, np.random.Generator], Array]


def _permuted(table: Array, rng: np.random.Generator) -> Array:
    return np.asarray(table[:, rng.permutation(table.shape[1])])


def _scaled(table: Array, rng: np.random.Generator) -> Array:
    return table * rng.lognormal(0.0, 1.0, table.shape[1])


def _calmed(table: Array, rng: np.random.Generator) -> Array:
    changed: Array = table.copy()
    changed[:, np.argsort(table.mean(0))[-DIRTIEST:]] *= REDUCED_TO
    return changed


def _reversed(table: Array, rng: np.random.Generator) -> Array:
    order, changed = np.argsort(table.mean(0)), np.empty_like(table)
    changed[:, order] = table[:, order[::-1]]
    return changed


def _shifted(table: Array, rng: np.random.Generator) -> Array:
    return np.roll(table, HOURS_SHIFTED, axis=0)


CHANGES: dict[str, Change] = {
    "stations permuted": _permuted,
    "stations scaled by lognormal factors": _scaled,
    f"the {DIRTIEST} dirtiest stations at {REDUCED_TO:g}": _calmed,
    "the dirtiest and the cleanest trade places": _reversed,
    f"the day {HOURS_SHIFTED} hours later": _shifted,
}
"""Of a table of hours and stations; none knows the prior."""


@dataclass(frozen=True)
class ChangedWorld:
    """A window, how it is changed, and a prior that has not seen its year."""

    start: str
    change: str
    prior: str
    seed: int


def changed_city(lab: FlagshipLab) -> Rows:
    """Regret with the prior over that of the agent that is told nothing, world by world."""
    years = lab.size.years or DEVELOPMENT_YEARS
    check_imported(years)
    priors = {year: prior_without(year, lab.size.store.parent) for year in years}
    starts = [(year, f"{year}-{day}") for year in years for day in DAYS]
    worlds = [
        ChangedWorld(start, change, priors[year], seed)
        for change in CHANGES
        for seed, (year, start) in enumerate(starts)
    ]
    lab.uses(agents=[AUTO], worlds=[MADRID, REPLAY])
    found = lab.map("changed-city", regrets_in, worlds)
    return [
        {"change": world.change, "start": world.start, "auto": told_nothing, "prior": prior}
        | {"fixed": fixed, "ratio": prior / told_nothing}
        for world, (told_nothing, prior, fixed) in zip(worlds, found, strict=True)
    ]


def regrets_in(world: ChangedWorld) -> tuple[float, float, float]:
    """Regret told nothing, with the prior, and of the best station in hindsight."""
    env: Any = WorldSpec(MADRID, {"start": world.start, "warm_start_days": 0}).make()
    env.reset(seed=0)
    stations, process = range(env.public.n_actions), env.episode.process
    table = np.array([[float(process.mean(a, t)) for a in stations] for t in range(env.horizon)])
    changed = CHANGES[world.change](table, np.random.default_rng(world.seed))
    env = replayed(changed, env.public.action_features)
    judged = changed[WARM_START:]
    fixed = float(judged.max(1).sum() - judged.sum(0).max())
    specs = (AgentSpec(AUTO), AgentSpec(AUTO, {"prior": world.prior}))
    told_nothing, prior = (float(play(env, spec, 0).regret.sum()) for spec in specs)
    return told_nothing, prior, fixed


def replayed(table: Array, places: Array) -> Any:
    """A table of hours and stations as a world with the stations' coordinates."""
    names = [f"station {number}" for number in range(table.shape[1])]
    frame = pd.DataFrame(table, columns=names)
    frame.insert(0, "time", pd.date_range("2001-01-01", periods=len(table), freq="h"))
    features = {name: place.tolist() for name, place in zip(names, places, strict=True)}
    given = {"data": frame, "arm_features": features, "period": PERIOD, "warm_start": WARM_START}
    return WorldSpec(REPLAY, given).make()
