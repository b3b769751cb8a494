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


@attack(
    stopped_by="submit",
    how="a hard limit, which even root cannot lift again; without isolation an agent can lift it",
)
def test_memory(sandboxed) -> None:
    """Lift one's limit of memory and take 2 GB, so that others fail."""
    assert "memory" in reason_of("Eats", "sandbox")


@attack(stopped_by="run", how="the run is killed when its time is over, whatever it catches")
def test_time(sandboxed) -> None:
    """Never answer, and catch every exception."""
    assert "took more than 2 seconds" in reason_of("Hangs", "none", 2.0)
    assert "took more than 2 seconds" in reason_of("Hangs", "sandbox", 2.0)


@attack(
    stopped_by="submit",
    how="all processes of a sandbox end with its run (own pid namespace)",
)
def test_processes(sandboxed) -> None:
    """Start many processes, to outlive the run."""
    assert succeeded("ForkBomb", "sandbox")
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert not [
        line for line in shown.stdout.splitlines() if "bwrap" in line and AGENTS.name in line
    ]


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


@attack(stopped_by="submit", how="isolated agents have no screen; without isolation they have")
def test_screen(sandboxed, capfd) -> None:
    """Flood the screen, or write a verdict of one's own on it."""
    run(PROTOCOL.restricted(agents=[f"{AGENTS}:WritesToTheScreen"], seeds=[0]), isolation="sandbox")
    assert "hidden-seed passed" not in "".join(capfd.readouterr())
