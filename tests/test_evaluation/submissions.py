"""Bundles for the tests of the leaderboard, and the ways in which forgers change them."""

import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from evaluation.leaderboard.bundle import MANIFEST, STEPS, read_steps
from evaluation.leaderboard.replay import played_worlds, run_forms
from evaluation.leaderboard.submit import submit
from evaluation.leaderboard.verify import verify
from evaluation.protocol import Protocol
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


def write_table(bundle: Path, table: pa.Table | bytes) -> None:
    """Write other steps, with the right hash."""
    if not isinstance(table, bytes):
        file = io.BytesIO()
        pq.write_table(table, file)
        table = file.getvalue()
    (bundle / STEPS).write_bytes(table)
    edit(bundle, steps_sha256=hashlib.sha256(table).hexdigest())


def change_steps(bundle: Path, column: str, row: int, value: object) -> None:
    """Change one entry of the table of steps, with the right hash."""
    before = pq.read_table(bundle / STEPS)
    columns = before.to_pydict()
    columns[column][row] = value
    write_table(bundle, pa.table(columns, before.schema))


def claim(bundle: Path) -> None:
    """Claim the regrets that the steps have."""
    steps = read_steps((bundle / STEPS).read_bytes(), run_forms(PROTOCOL), trusted=True)
    pairs = zip(runs_of(bundle), played_worlds(PROTOCOL), steps, strict=True)
    regrets = [(run, world.columns(own)["regret"].sum()) for run, world, own in pairs]
    edit(bundle, runs=[{**run, "regret": float(regret)} for run, regret in regrets])


def refusal(bundle: Path, **how: object) -> tuple[str, str]:
    """Return the tier that refuses a bundle, and its reason."""
    verdict = verify(bundle, PROTOCOL, workers=1, **how)[-1]
    assert not verdict.passed
    return verdict.tier, verdict.words


def passes(bundle: Path, protocol: Protocol = PROTOCOL, **how: object) -> bool:
    """Return whether a bundle passes every tier that is tried."""
    return all(verdict.passed for verdict in verify(bundle, protocol, workers=2, **how))
