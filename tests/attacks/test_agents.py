"""Agents that cheat, in a run, in the sandbox and on their way through the tiers."""

from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.judge import judge
from evaluation.leaderboard.submission import Verdict, submit
from evaluation.protocol import Protocol
from evaluation.results import Results
from evaluation.runner import run
from evaluation.specs import agent_entry
from tests.platforms import needs_sandbox
from tests.test_evaluation.test_sandbox import sandboxes

AGENTS = Path(__file__).with_name("agents.py")
TOML = """
envs = ["PeriodicGP-SyntheticDiscrete-v0:n_actions=5"]
agents = ["random"]
seeds = "0:6"
horizon = 15

[limits]
seconds = 20.0
memory_mb = 400
"""
pytestmark = needs_sandbox


@pytest.fixture
def protocol(tmp_path: Path) -> Protocol:
    (tmp_path / "attacked.toml").write_text(TOML)
    return Protocol.load(tmp_path / "attacked.toml")


def played(protocol: Protocol, agent: str, isolation: str, seeds: int = 1) -> Results:
    """Return the results of an agent of ``agents.py``."""
    restricted = protocol.restricted(agents=[f"{AGENTS}:{agent}"], seeds=range(seeds))
    return run(restricted, workers=1, isolation=isolation)


def judged(protocol: Protocol, agent: str, folder: Path, isolation: str) -> tuple[Verdict, float]:
    """Take an agent through all tiers; return its verdict and the judge's time per step in ms."""
    entry = replace(agent_entry({"name": f"{AGENTS}:{agent}"}), label=agent)
    about = {"authors": ["Mallory"], "isolation": isolation, "workers": 2}
    submit(entry, protocol, folder / "bundle", **about)
    edition = Edition.open(folder / "e1", str(folder / "attacked.toml"))
    edition.add(folder / "bundle")
    line = judge(edition, agents=[entry.spec.name], sample=100, workers=2)
    ((name, verdict),) = line.verdicts.items()
    return verdict, line.ms_per_step.get(name, 0.0)


@pytest.mark.parametrize("agent", ["ReadsFrames", "SignalsItsJudge"])
def test_sandbox_hides_the_judge(protocol: Protocol, agent: str) -> None:
    plain, sandboxed = (played(protocol, agent, where) for where in ("none", "sandbox"))
    assert not plain.failures
    assert not sandboxed.failures
    assert 1 in set(plain.steps["action"])
    assert 1 not in set(sandboxed.steps["action"])


def test_sandbox_ends_all_processes_with_the_run(protocol: Protocol) -> None:
    assert set(played(protocol, "ForkBomb", "sandbox").steps["action"]) == {1}
    assert not sandboxes(str(AGENTS))


def test_sandbox_returns_plain_actions(protocol: Protocol) -> None:
    assert "pwned" in played(protocol, "SlyActions", "none").failures[0].reason
    assert not any(
        "pwned" in one.reason for one in played(protocol, "SlyActions", "sandbox").failures
    )


def test_sandbox_has_no_screen(protocol: Protocol, capfd: pytest.CaptureFixture[str]) -> None:
    played(protocol, "WritesToTheScreen", "sandbox")
    assert "hidden-seed passed" not in "".join(capfd.readouterr())


def test_sandbox_keeps_patches_from_the_judge(protocol: Protocol) -> None:
    cases = (("PatchesLibraries", "none"), ("PatchesLibraries", "sandbox"), ("Honest", "sandbox"))
    totals = (played(protocol, agent, where, 6).totals for agent, where in cases)
    plain, sandboxed, honest = (
        table.loc[table["track"] == "online", "regret"].mean() for table in totals
    )
    assert plain == 0.0
    assert sandboxed == pytest.approx(honest, rel=1e-12)


def test_judge_refuses_other_actions_than_submitted(protocol: Protocol, tmp_path: Path) -> None:
    verdict, _ = judged(protocol, "BehavesWhenWatched", tmp_path, "none")
    assert (verdict.tier, verdict.passed) == ("re-run", False)


def test_judge_measures_with_its_own_clock(protocol: Protocol, tmp_path: Path) -> None:
    verdict, ms_per_step = judged(protocol, "LiesAboutTime", tmp_path, "sandbox")
    assert verdict.passed
    assert ms_per_step >= 20.0


def test_judge_hides_messages_of_failures_on_hidden_seeds(
    protocol: Protocol, tmp_path: Path
) -> None:
    verdict, _ = judged(protocol, "FailsOnHiddenSeeds", tmp_path, "sandbox")
    assert (verdict.tier, verdict.passed) == ("hidden-seed", False)
    assert "what I saw" not in verdict.words
