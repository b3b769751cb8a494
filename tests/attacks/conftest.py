"""A small protocol, and the way of an agent through the tiers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation import sandbox
from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.judge import judge
from evaluation.leaderboard.submit import submit
from evaluation.leaderboard.verify import Verdict
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
TOML = f"""
envs = ["{WORLD}:n_actions=5"]
agents = ["random"]
seeds = "0:6"
horizon = 15

[limits]
seconds = 20.0
memory_mb = 400
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Most attacks are judged in the sandbox."""
    import os

    if os.environ.get("PERIODIC_GP_REQUIRE_SANDBOX") != "1" and not sandbox.available():
        for item in items:
            if "sandboxed" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.skip(reason=f"no sandbox: {sandbox.why_not()}"))


@pytest.fixture(scope="session")
def sandboxed() -> None:
    """Named by tests that need the sandbox."""
    assert sandbox.available(), sandbox.why_not()


@pytest.fixture
def handed_in(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a bundle of an attacker's agent."""

    def made(agent: str, isolation: str = "sandbox") -> Path:
        name, out = f"{AGENTS}:{agent}", tmp_path / "bundle"
        entry = replace(agent_entry({"name": name}), label=agent.partition(":")[0])
        submit(entry, PROTOCOL, out, authors=["Mallory"], isolation=isolation, workers=2)
        return out

    return made


def judged(bundle: Path, agent: str) -> tuple[Verdict, float]:
    """Take a bundle through an edition, every run run again; its verdict and its ms per step."""
    (bundle.parent / "attacked.toml").write_text(TOML)
    edition = Edition.open(bundle.parent / "e1", str(bundle.parent / "attacked.toml"))
    edition.add(bundle)
    how = {"agents": [f"{AGENTS}:{agent}"], "sample": 100, "workers": 2}
    line = judge(edition, **how)
    ((name, verdict),) = line.verdicts.items()
    return verdict, line.ms_per_step.get(name, 0.0)
