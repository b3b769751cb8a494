"""Agents that take more than their share."""

import subprocess
import sys
from pathlib import Path

from evaluation.runner import run
from tests.platforms import linux_only

from .catalogue import NOT_STOPPED, attack
from .conftest import AGENTS, PROTOCOL
from .test_spies import succeeded

pytestmark = linux_only

COMMAND = [str(Path(sys.executable).with_name("periodic-gp"))]
"""As it is installed."""


def reason_of(agent: str, isolation: str, seconds: float = 20.0) -> str:
    table = PROTOCOL.to_dict() | {"agents": [f"{AGENTS}:{agent}"], "seeds": [0]}
    table["limits"] = {**table["limits"], "seconds": seconds}
    results = run(type(PROTOCOL).from_dict(table), workers=1, isolation=isolation)
    return results.failures[0].reason


@attack(stopped_by="run", how="a hard limit, which even root cannot lift again")
def test_memory(sandboxed) -> None:
    """Lift one's limit of memory and take 2 GB, so that others fail."""
    assert "memory" in reason_of("Eats", "none")
    assert "memory" in reason_of("Eats", "sandbox")


@attack(stopped_by="run", how="the run is killed when its time is over, whatever it catches")
def test_time(sandboxed) -> None:
    """Never answer, and catch every exception."""
    assert "took more than 2 seconds" in reason_of("Hangs", "none", 2.0)
    assert "took more than 2 seconds" in reason_of("Hangs", "sandbox", 2.0)


@attack(
    stopped_by="submit",
    how="the sandbox has one process; elsewhere all that an agent has started ends with its run",
)
def test_processes(sandboxed) -> None:
    """Start many processes, to outlive the run or to take the processors from rivals."""
    assert succeeded("ForkBomb", "none")
    assert not succeeded("ForkBomb", "sandbox")


@attack(stopped_by="submit", how="64 MB of /tmp in memory, and no other place to write to")
def test_disk(sandboxed) -> None:
    """Fill the disk."""
    assert succeeded("FillsTheDisk", "none")
    assert not succeeded("FillsTheDisk", "sandbox")


@attack(
    stopped_by=NOT_STOPPED,
    how="files without content take memory of the system, as many as the run has time for; they "
    "are gone with it",
)
def test_many_files(sandboxed) -> None:
    """Make hundreds of thousands of empty files in one's /tmp."""
    assert succeeded("ManyFiles", "sandbox")


@attack(
    stopped_by="run",
    how="10 kB of a run are shown, on the error stream; isolated agents have no screen",
)
def test_screen(tmp_path) -> None:
    """Flood the screen, or write a verdict of one's own on it."""
    command = [*COMMAND, "run", "smoke", "--seeds", "0:1", "--workers", "1"]
    chatty = [
        "--agents",
        f"{AGENTS}:WritesToTheScreen",
        "--envs",
        "PeriodicGP-SyntheticDiscrete-v0",
    ]
    done = subprocess.run([*command, *chatty], cwd=tmp_path, capture_output=True, timeout=300)
    assert len(done.stderr) < 20_000
    assert b"hidden-seed passed" not in done.stdout
