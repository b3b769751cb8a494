"""A small protocol, and the way of an agent through the tiers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation import sandbox
from evaluation.leaderboard.hidden import HiddenSeeds
from evaluation.leaderboard.submit import submit
from evaluation.leaderboard.verdicts import Verification
from evaluation.leaderboard.verify import verify
from evaluation.protocol import Protocol
from evaluation.specs import agent_entry

AGENTS = Path(__file__).with_name("agents.py")
WORLD = "PeriodicGP-SyntheticDiscrete-v0"
PROTOCOL = Protocol.from_dict(
    {
        **{"name": "attacked", "envs": [f"{WORLD}:n_actions=5"], "agents": ["random"]},
        **{"seeds": "0:6", "horizon": 15, "limits": {"seconds": 20.0, "memory_mb": 400}},
    }
)
SALT = b"a salt that nobody knows"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Most attacks are judged in the sandbox."""
    import os

    if os.environ.get("PERIODIC_GP_REQUIRE_SANDBOX") != "1" and sandbox.available() is None:
        for item in items:
            if "sandboxed" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.skip(reason=f"no sandbox: {sandbox.why_not()}"))


@pytest.fixture(scope="session")
def sandboxed() -> str:
    """Named by tests that need the sandbox."""
    found = sandbox.available()
    assert found is not None, sandbox.why_not()
    return found


@pytest.fixture
def handed_in(tmp_path: Path, monkeypatch) -> Callable[..., Path]:
    """A bundle of an attacker's agent, made as its author pleases."""

    def made(agent: str, isolation: str | None = None) -> Path:
        name, out = f"{AGENTS}:{agent}", tmp_path / "bundle"
        if isolation is not None:
            monkeypatch.setattr("evaluation.leaderboard.submit.strongest", lambda: isolation)
        entry = replace(agent_entry({"name": name}), label=agent.partition(":")[0])
        submit(entry, PROTOCOL, out, authors=["Mallory"], workers=2)
        return out

    return made


def judged(bundle: Path, agent: str, through: str = "hidden-seed") -> Verification:
    """The whole way through the tiers, every run run again."""

    def begin_trial(found: Verification) -> HiddenSeeds:
        return HiddenSeeds(SALT, found.manifest.id, 1)

    how = {"agent": f"{AGENTS}:{agent}", "sample": 100, "workers": 2}
    return verify(bundle, PROTOCOL, through=through, begin_trial=begin_trial, **how)
