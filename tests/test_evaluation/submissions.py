"""Bundles for the tests of the leaderboard, and the ways in which forgers change them."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.leaderboard.bundle import MANIFEST, STEPS, BundleError
from evaluation.leaderboard.steps import read_steps, replays
from evaluation.leaderboard.submission import check_regrets, read_submission, submit, verify
from evaluation.protocol import Protocol
from evaluation.record import pack, unpack
from evaluation.specs import AgentEntry, agent_entry

ROOT = Path(__file__).parents[2]
TOML = """
envs = ["PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"]
agents = ["random"]
seeds = "0:6"
horizon = 12
"""
WORLDS = ["PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"]
PROTOCOL = Protocol.from_dict(
    {"name": "small", "envs": WORLDS, "agents": ["random"], "seeds": "0:6", "horizon": 12}
)


def entry(name: str, label: str | None = None) -> AgentEntry:
    """Return an agent under a label of its own."""
    return replace(agent_entry({"name": name}), label=label or name)


def submitted(folder: Path, name: str = "random", label: str | None = None) -> Path:
    """Write the bundle of an agent in the small protocol."""
    about = {"authors": ["A. Author"], "link": "https://example.org"}
    submit(entry(name, label), PROTOCOL, folder, isolation="none", workers=2, **about)
    return folder


def edit(bundle: Path, **change: object) -> None:
    """Change the manifest."""
    table = json.loads((bundle / MANIFEST).read_text())
    (bundle / MANIFEST).write_text(json.dumps({**table, **change}))


def runs_of(bundle: Path) -> list[dict]:
    """Return the runs of the manifest."""
    return list(json.loads((bundle / MANIFEST).read_text())["runs"])


def edit_run(bundle: Path, place: int, **change: object) -> None:
    """Change one run of the manifest."""
    runs = runs_of(bundle)
    runs[place] = {**runs[place], **change}
    edit(bundle, runs=runs)


def arrays_of(bundle: Path) -> dict[str, np.ndarray]:
    """Return the arrays of the steps."""
    return unpack((bundle / STEPS).read_bytes())


def write_steps(bundle: Path, steps: dict[str, np.ndarray] | bytes) -> None:
    """Write other steps, with the right hash."""
    data = steps if isinstance(steps, bytes) else pack(steps)
    (bundle / STEPS).write_bytes(data)
    edit(bundle, steps_sha256=hashlib.sha256(data).hexdigest())


def change_step(bundle: Path, run: str, step: int, value: float) -> None:
    """Change one action, with the right hash."""
    arrays = arrays_of(bundle)
    arrays[run][step] = value
    write_steps(bundle, arrays)


def claim(bundle: Path) -> None:
    """Claim the regrets that the steps have."""
    runs = replays(PROTOCOL)
    steps = read_steps((bundle / STEPS).read_bytes(), runs)
    regrets = [run.columns(own)["regret"].sum() for run, own in zip(runs, steps, strict=True)]
    claims = zip(runs_of(bundle), regrets, strict=True)
    edit(bundle, runs=[{**run, "regret": float(regret)} for run, regret in claims])


def refusal(bundle: Path) -> tuple[str, str]:
    """Return the tier that refuses a bundle, and the code of the error."""
    verdict = verify(bundle, PROTOCOL)[-1]
    assert not verdict.passed
    assert verdict.words.isprintable()
    with pytest.raises(BundleError) as caught:
        check_regrets(read_submission(bundle, PROTOCOL), PROTOCOL)
    return verdict.tier, caught.value.code


def passes(bundle: Path, protocol: Protocol = PROTOCOL, **how: object) -> bool:
    """Return whether a bundle passes every tier that is tried."""
    return all(verdict.passed for verdict in verify(bundle, protocol, workers=2, **how))
