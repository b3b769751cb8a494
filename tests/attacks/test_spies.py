"""Agents that look around for what they must not know."""

import socket

from evaluation.runner import run
from tests.platforms import linux_only

from .catalogue import NOT_STOPPED, attack
from .conftest import AGENTS, PROTOCOL

pytestmark = linux_only


def succeeded(agent: str, isolation: str, seeds: str = "0:1") -> bool:
    """Whether the attack of an agent that signals it has ever succeeded."""
    protocol = PROTOCOL.restricted(agents=[f"{AGENTS}:{agent}"], seeds=range(int(seeds[2:])))
    results = run(protocol, workers=1, isolation=isolation)
    assert not results.failures, results.failures
    return bool((results.steps["action"] == 1).any())


@attack(
    stopped_by="submit",
    how="the frames of the judge are in another process; without isolation, in plain `run`, it is "
    "not stopped",
)
def test_frames(sandboxed) -> None:
    """Walk up the stack to the judge's frames, which hold the world and its regret."""
    assert succeeded("ReadsFrames", "none")
    assert not succeeded("ReadsFrames", "sandbox")


@attack(
    stopped_by="submit",
    how="the process of an isolated agent never knew a world or a seed; without "
    "isolation, in plain `run`, it is not stopped",
)
def test_garbage_search(sandboxed) -> None:
    """Search all objects of the process for the world, the run or its seed."""
    assert succeeded("SearchesGarbage", "none")
    assert not succeeded("SearchesGarbage", "sandbox")


@attack(
    stopped_by="submit",
    how="in the sandbox there is no other process but bubblewrap's own (own pid namespace)",
)
def test_memory_of_others(sandboxed) -> None:
    """Read or write the memory of judge, worker, fork server or driver through /proc."""
    assert succeeded("ReadsMemory", "none")
    assert not succeeded("ReadsMemory", "sandbox")


@attack(stopped_by="submit", how="own pid namespace and no privileges")
def test_ptrace(sandboxed) -> None:
    """Attach a debugger to the judge, whose pid the socket gives away."""
    assert not succeeded("TracesItsJudge", "sandbox")


@attack(
    stopped_by="submit",
    how="none of the user's files and variables are in the sandbox",
)
def test_secrets(sandboxed, monkeypatch) -> None:
    """Read keys from the user's settings or from the environment."""
    monkeypatch.setenv("SECRET_OF_THE_TEST", "1")
    assert not succeeded("ReadsSecrets", "sandbox")


@attack(stopped_by="submit", how="no network (own namespace)")
def test_network(sandboxed) -> None:
    """Ask a server elsewhere for the answers, or tell it what was seen."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert succeeded(f"PhonesHome:port={port}", "none")
        assert not succeeded(f"PhonesHome:port={port}", "sandbox")


@attack(
    stopped_by="submit",
    how="every run has a sandbox of its own: nothing in it is there for the next one",
)
def test_notes_for_later_runs(sandboxed) -> None:
    """Leave notes for later runs on other seeds: files, shared memory."""
    assert not succeeded("LeavesNotes", "sandbox", seeds="0:3")


@attack(
    stopped_by=NOT_STOPPED,
    how="one bit at a time reaches runs that are judged at the same moment, on other seeds",
)
def test_locks(sandboxed) -> None:
    """Tell a run beside oneself what was seen, by locks on a file that both can read."""
    assert succeeded("LocksItsCode", "none")
    assert succeeded("LocksItsCode", "sandbox")


@attack(
    stopped_by="submit",
    how="what an isolated agent says is JSON, never a pickle; without isolation it is not stopped",
)
def test_sly_actions(sandboxed) -> None:
    """Hand out an action whose methods run on the judge's side when it is looked at."""
    protocol = PROTOCOL.restricted(agents=[f"{AGENTS}:SlyActions"], seeds=[0])
    results = run(protocol, workers=1, isolation="sandbox")
    assert not any("pwned" in failed.reason for failed in results.failures)
    careless = run(protocol, workers=1)
    assert any("pwned" in failed.reason for failed in careless.failures)
