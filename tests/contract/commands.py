"""Figures that commands print or write: on the protocol ``smoke`` and on the example table.

    python -m tests.contract.commands

prints them as JSON, run in a process with the kernel of BLAS that they were recorded with.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.console import output_of
from tests.contract.conftest import ROOT, example_table, numeric_environment, plain

LOG = ["time", "arm", "reward", "probability"]
ARMS = ["Station", "Offices", "Old town", "Stadium", "Airport"]
TIMES = pd.date_range("2024-04-01 06:00", periods=6, freq="5h")


def smoke(folder: Path) -> dict[str, Any]:
    """The tables of a sweep, without its times."""
    answer = json.loads(output_of("run", "smoke", "--workers", "0", "--json", cwd=folder))
    return {
        f"{track} {name}": [{k: v for k, v in row.items() if k != "ms_per_step"} for row in rows]
        for track, tables in answer["tracks"].items()
        for name, rows in tables.items()
        if isinstance(rows, list)
    }


def backtest(folder: Path) -> dict[str, Any]:
    """The gains of agents and references in eight windows."""
    answer = json.loads(
        output_of("backtest", example_table(folder), "--workers", "0", "--json", cwd=folder)
    )
    figures = {name: answer[name] for name in ("windows", "steps", "warm_start", "periods", "rows")}
    return {**figures, "recommended": answer["recommendation"]["agent"]}


def check(folder: Path) -> dict[str, Any]:
    """Fractions and percentages that ``data check`` prints, and the schedule that it writes."""
    words = ("data", "check", example_table(folder), "--schedule", "schedule.csv")
    report = output_of(*words, cwd=folder).partition("Try it")[0]
    schedule = pd.read_csv(folder / "schedule.csv")
    columns = {name: plain(schedule[name].tolist()) for name in schedule}
    printed = {float(number) for number in re.findall(r"\d+\.\d+|\d+(?=%)", report)}
    return {"printed": sorted(printed), **columns}


def log(folder: Path) -> dict[str, Any]:
    """Estimates of policies from a log that chose at random."""
    table = pd.read_csv(folder / example_table(folder))
    arms = np.random.default_rng(0).integers(len(ARMS), size=len(table))
    logged = pd.DataFrame(
        {
            "time": table["time"],
            "arm": np.array(ARMS)[arms],
            "reward": table[ARMS].to_numpy()[np.arange(len(table)), arms],
            "probability": 1 / len(ARMS),
        }
    )
    logged.to_csv(folder / "log.csv", index=False)
    names = ("arm:Airport", "best-per-phase", "agent:thompson")
    policies = [word for name in names for word in ("--policy", name)]
    answer = json.loads(output_of("data", "log", "log.csv", *policies, "--json", cwd=folder))
    for estimate in answer["estimates"]:
        del estimate["notes"]
    return {"answer": answer}


def decide(folder: Path) -> dict[str, Any]:
    """Choices of a decider that learned the table, its plan and its log."""
    arms = [word for arm in ARMS for word in ("--arms", arm)]
    season = ("--step", "1h", "--seasons", "1 day")
    output_of("decide", "init", "state", *arms, *season, cwd=folder)
    output_of("decide", "learn", "state", example_table(folder), cwd=folder)
    choices = []
    for number, time in enumerate(TIMES):
        choice = json.loads(
            output_of("decide", "ask", "state", "--at", str(time), "--json", cwd=folder)
        )
        choices.append({key: value for key, value in choice.items() if key != "id"})
        if number % 4 != 3:
            output_of("decide", "tell", "state", choice["id"], str(10.0 + number), cwd=folder)
    plan = ("decide", "plan", "state", "--at", "2024-04-03 00:00", "--steps", "24")
    output_of(*plan, "--csv", "plan.csv", cwd=folder)
    output_of("decide", "log", "state", "decided.csv", cwd=folder)
    planned, decided = pd.read_csv(folder / "plan.csv"), pd.read_csv(folder / "decided.csv")
    return {
        "choices": choices,
        "plan": json.loads(planned.to_json(double_precision=12)),
        "log": json.loads(decided[LOG].to_json(double_precision=12)),
    }


COMMANDS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "smoke": smoke,
    "backtest": backtest,
    "check": check,
    "log": log,
    "decide": decide,
}


def compute() -> dict[str, Any]:
    """Return the figures, computed in a fresh process."""
    command = [sys.executable, "-m", "tests.contract.commands"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=numeric_environment(),
        stdout=subprocess.PIPE,
        timeout=600,
        check=True,
    )
    return dict(json.loads(done.stdout))


def main() -> None:
    """Print the figures of all commands, each run in a folder of its own."""
    figures = {}
    with tempfile.TemporaryDirectory() as place:
        for name, command in COMMANDS.items():
            folder = Path(place) / name
            folder.mkdir()
            os.environ["XDG_CONFIG_HOME"] = str(folder / "settings")
            os.environ["PERIODIC_GP_DATA"] = str(folder / "data")
            figures[name] = command(folder)
    json.dump(figures, sys.stdout)


if __name__ == "__main__":
    main()
