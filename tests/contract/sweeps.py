"""Protocols of the contract, and the figures of their results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

THIRD_PARTY = Path(__file__).with_name("third_party.py")
WORLD = "PeriodicGP-SyntheticDiscrete-v0"


def agent(name: str, **settings: Any) -> str:
    """An agent of ``third_party.py`` in the notation of the command line."""
    words = ",".join(f"{key}={value}" for key, value in settings.items())
    return f"{THIRD_PARTY}:{name}" + (f":{words}" if words else "")


def write_protocol(path: Path, agents: list[str], *, seeds: str = "0:2", horizon: int = 8) -> Path:
    """A protocol in a TOML file."""
    text = f'envs = ["{WORLD}"]\nagents = {json.dumps(agents)}\nseeds = "{seeds}"\n'
    text += f"horizon = {horizon}\n[limits]\nseconds = 60.0\nmemory_mb = 1500\n"
    path.write_text(text)
    return path


def steps_of(results: Any, label: str) -> pd.DataFrame:
    """The steps of an agent, without its label."""
    steps = results.steps
    return steps[steps["agent"] == label].drop(columns="agent").reset_index(drop=True)
