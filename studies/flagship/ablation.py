"""What each part of the agent brings, on all data that it was developed on."""

from __future__ import annotations

import inspect
from typing import Any

import pandas as pd

from agents.auto.auto_gp_ucb import AutoGPUCB
from studies.flagship import AUTO, FlagshipLab, Rows, ratio_of
from studies.flagship.madrid import DEVELOPMENT_YEARS, madrid_worlds, windows_of
from studies.flagship.rideshare import DEVELOPMENT_RUNS, WORLD
from studies.flagship.table_windows import COLD
from studies.flagship.tables import there
from studies.lab import regrets


def _switches() -> list[str]:
    """All that the agent does unless it is told not to."""
    settings = inspect.signature(AutoGPUCB).parameters.values()
    return [f"{setting.name}=false" for setting in settings if setting.default is True]


WITHOUT = [*_switches(), "transform=identity", "beta=1", "beta=paper"]
"""What is taken away, one at a time: every switch of the agent, and other choices."""


def ablation(lab: FlagshipLab) -> Rows:
    """Each setting on each set of data, paired by run with the agent as it is."""
    names = [AUTO, *(f"{AUTO}:{setting}" for setting in WITHOUT)]
    rows = []
    for name, found in _sets(lab, names).items():
        for setting, agent in zip(WITHOUT, names[1:], strict=True):
            ratio = ratio_of(found[agent].to_numpy(), found[AUTO].to_numpy())
            rows.append({"set": name, "runs": len(found), "setting": setting, "ratio": ratio})
    return sorted(rows, key=lambda row: WITHOUT.index(str(row["setting"])))


def _sets(lab: FlagshipLab, agents: list[str]) -> dict[str, pd.DataFrame]:
    """Regret on each set: a row for each run, a column for each agent."""

    def run(name: str, envs: list[Any], **more: Any) -> pd.DataFrame:
        return regrets(lab.run(f"ablation-{name}", envs=envs, agents=agents, **more))

    years = madrid_worlds(windows_of(DEVELOPMENT_YEARS))
    found = {"Madrid 2016-2017": run("madrid", years)}
    for windows in there(COLD):
        found[windows.name] = run(windows.file.stem, windows.worlds())
    for steps, seeds in DEVELOPMENT_RUNS:
        name = f"RideShare, {steps:,} steps, seeds {seeds}"
        found[name] = run(f"rideshare-{steps}", [WORLD], seeds=seeds, horizon=steps)
    return found
