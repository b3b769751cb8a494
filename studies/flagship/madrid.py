"""Madrid: windows of any imported years, and the twelve of 2018."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluation.protocol import Protocol
from evaluation.specs import WorldSpec
from periodic_decisions.priors import check_imported, learn_madrid
from periodic_envs.data.errors import DataError
from periodic_envs.files import write_atomically
from studies.flagship import AUTO, PRETRAINED, FlagshipLab, Rows, ratio_of

MADRID = "PeriodicGP-Madrid-v0"
DEVELOPMENT_YEARS = (2016, 2017)
"""What everything was developed on, and what the prior that comes with the package is made from."""
DAYS_BETWEEN_WINDOWS = 5
"""They overlap by half."""
ONLINE = (AUTO, "gp-ucb", "periodic-gp-ucb", "linucb", "fixed")
PRIOR = f"{AUTO}, prior of another year"
DRAWS = 2000
"""How often twelve windows are drawn, to see how much as many say."""


def madrid(lab: FlagshipLab) -> Rows:
    """Told nothing, and with a prior that was not learned on the year that is judged."""
    years = lab.size.years or DEVELOPMENT_YEARS
    starts = windows_of(years, lab.size.every or DAYS_BETWEEN_WINDOWS)
    priors = {year: prior_without(year, lab.size.store.parent) for year in years}
    rows = []
    for goal in ("max", "min"):
        envs = madrid_worlds(starts, goal)
        agents = [*ONLINE, *pretrained(priors, envs)]
        totals = lab.run(f"madrid-{goal}", envs=envs, agents=agents).totals
        regret = totals.pivot(index="env", columns="agent", values="regret")
        regret[PRIOR] = regret[[_label(year) for year in years]].bfill(axis=1).iloc[:, 0]
        about = {"goal": goal, "years": list(years), "windows": len(starts)}
        rows += [about | _row(regret, agent) for agent in (*ONLINE, PRIOR)]
    return rows


def _row(regret: pd.DataFrame, agent: str) -> dict[str, Any]:
    mine, static = (regret[name].to_numpy() for name in (agent, "best-fixed"))
    row = {"agent": agent, "regret": float(mine.mean()), "static": ratio_of(mine, static)}
    if agent == AUTO and len(mine) > 12:
        rng, few = np.random.default_rng(0), []
        for _ in range(DRAWS):
            twelve = rng.choice(len(mine), 12, replace=False)
            few.append(mine[twelve].sum() / static[twelve].sum())
        row["twelve"] = np.quantile(few, (0.05, 0.95)).tolist()
    return row


def windows_of(years: Sequence[int], every_days: float = DAYS_BETWEEN_WINDOWS) -> list[str]:
    """First days of the windows of these years that have enough measurements.

    Raises:
        DataError: If a year was not imported.
    """
    check_imported(years)
    first, last = datetime.date(min(years), 1, 3), datetime.date(max(years), 12, 22)
    days = np.arange(0, (last - first).days + 1, max(round(every_days), 1)).tolist()
    starts = [first + datetime.timedelta(day) for day in days]
    return [str(day) for day in starts if day.year in years and _measured(str(day))]


def _measured(start: str) -> bool:
    try:
        WorldSpec(MADRID, {"start": start}).make()
    except (DataError, ValueError):
        return False
    return True


def madrid_worlds(starts: Sequence[str], goal: str = "max") -> list[dict[str, Any]]:
    """The windows as worlds of one task of a protocol."""
    return [
        {
            "id": MADRID,
            "label": f"{start} {goal}",
            "arguments": {"start": start, "objective": goal},
            "group": f"Madrid, {goal}",
        }
        for start in starts
    ]


def prior_without(year: int, folder: Path) -> str:
    """A prior that has not seen a year: the one of the package, or a file learned on the other.

    The file's name says what is in it, so that the store does not take one for another.
    """
    if year not in DEVELOPMENT_YEARS:
        return "madrid"
    others = [other for other in DEVELOPMENT_YEARS if other != year]
    content = json.dumps(learn_madrid(others)[0])
    digest = hashlib.sha256(content.encode()).hexdigest()[:12]
    path = folder / f"prior-{'-'.join(map(str, others))}-{digest}.json"
    write_atomically(path, content.encode())
    return str(path)


def _label(year: int) -> str:
    return f"{AUTO}, prior without {year}"


def pretrained(
    priors: dict[int, str], envs: Sequence[dict[str, Any]], **settings: Any
) -> list[dict[str, Any]]:
    """The agent with a prior, an entry for each year: each in the windows that begin there."""
    return [
        {
            "name": AUTO,
            "settings": {**settings, "prior": prior},
            "label": _label(year) + "".join(f", {k}={v}" for k, v in settings.items()),
            "envs": [env["label"] for env in envs if env["label"].startswith(str(year))],
        }
        for year, prior in priors.items()
    ]


def madrid_2018(lab: FlagshipLab) -> Rows:
    """The twelve windows of 2018, through the protocol."""
    protocol = Protocol.load("madrid-2018")
    agents: list[Any] = [e.label for e in protocol.agents if e.track == "online"]
    agents.append({"name": PRETRAINED, "label": PRETRAINED, "track": "pretrained"})
    rows = []
    for goal in ("max", "min"):
        envs = [
            {"id": e.spec.env_id, "label": e.label, "arguments": e.spec.arguments, "group": e.group}
            for e in protocol.envs
            if e.label.endswith(goal)
        ]
        found = lab.run(f"madrid-2018-{goal}", envs=envs, agents=agents).totals
        track = found.groupby("agent")["track"].first()
        total = found.pivot(index="env", columns="agent", values="regret")
        for name, regret in total.items():
            row = {"goal": goal, "agent": name, "track": track[name]}
            ratio = ratio_of(regret.to_numpy(), total["best-fixed"].to_numpy())
            row |= {"regret": float(regret.sum()), "static": ratio}
            rows.append(row | {"gp": float(regret.sum() / total["gp-ucb"].sum())})
    return rows
