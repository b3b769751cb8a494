"""Hidden seeds: who knows the public ones falls there, and who does not passes."""

from pathlib import Path

import numpy as np
import pytest

from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.hidden import HiddenSeeds, can_tell, is_worse_on_hidden_seeds
from evaluation.leaderboard.judge import Judge
from evaluation.leaderboard.secret import Secret
from evaluation.leaderboard.submit import submit
from evaluation.leaderboard.verdicts import CannotCheckError, Verification
from evaluation.leaderboard.verify import verify
from evaluation.protocol import Protocol
from tests.test_evaluation.submissions import CHEAT, PROTOCOL, entry


def test_hidden_seeds_are_of_the_secret_the_submission_and_the_trial() -> None:
    worlds = HiddenSeeds(b"a", "x", 1).worlds
    assert HiddenSeeds(b"a", "x", 1).worlds == worlds
    for other in (HiddenSeeds(b"b", "x", 1), HiddenSeeds(b"a", "y", 1), HiddenSeeds(b"a", "x", 2)):
        assert not set(other.worlds) & set(worlds)
        assert other.agent("w", 5) != HiddenSeeds(b"a", "x", 1).agent("w", 5)
    hidden = HiddenSeeds(b"a", "x", 1, 3)
    assert len({hidden.agent(env, seed) for env in "xy" for seed in hidden.worlds}) == 6


def test_an_agent_that_memorised_the_public_seeds_falls(tmp_path: Path, no_sandbox: None) -> None:
    """It passes every other tier."""
    cheat, out = f"{CHEAT}:Memoriser", tmp_path / "cheat"
    submit(entry(cheat, "Memoriser"), PROTOCOL, out, authors=["C"], workers=2)
    secret = Secret.create(tmp_path / "secret.json")
    edition = Edition.open(tmp_path / "s", PROTOCOL, secret)
    how = {"through": "hidden-seed", "without_sandbox": True, "sample": 2, "workers": 2}
    found, accepted = Judge(edition, secret, agent=cheat, **how).judge(out)
    assert not accepted
    assert [verdict.passed for verdict in found.verdicts] == [True, True, True, False]
    assert "it knows the public seeds" in found.verdicts[-1].words
    assert edition.accepted() == []
    line = edition.log.entries()[-1]
    assert line["verdicts"][-1]["passed"] is False
    assert line["hidden"]["trial"] == 1
    assert all(len(regrets) == 10 for regrets in line["hidden"]["regrets"].values())


def test_the_hidden_test_keeps_its_level(monkeypatch) -> None:
    """Of 400 honest agents at most 5 % have p <= 0.05.

    More than 33 (8.2 %) would be a false alarm with a probability of 0.003 (binomial).
    """
    monkeypatch.setattr("evaluation.leaderboard.hidden._PERMUTATIONS", 499)
    rng = np.random.default_rng(0)
    small = 0
    for _ in range(400):
        public = {env: rng.gamma(2.0, size=10) for env in "abc"}
        hidden = {env: rng.gamma(2.0, size=10) for env in "abc"}
        small += is_worse_on_hidden_seeds(public, hidden).p_value <= 0.05
    assert small <= 33


def seeds(verification: Verification) -> HiddenSeeds:
    raise AssertionError("no hidden seed may be given out")


def test_an_edition_without_moving_worlds_has_no_hidden_seeds(
    tmp_path: Path, no_sandbox: None
) -> None:
    replayed = Protocol.from_dict(
        {"envs": ["PeriodicGP-Replay-v0"], "agents": ["random"], "seeds": "0:2", "horizon": 5}
    )
    out = tmp_path / "bundle"
    submit(entry("random"), replayed, out, authors=["A"], workers=1)
    how = {"through": "hidden-seed", "sample": 1, "workers": 1}
    with pytest.raises(CannotCheckError, match="replays data"):
        verify(out, replayed, begin_trial=seeds, without_sandbox=True, **how)
    with pytest.raises(CannotCheckError, match="hidden seeds are an edition's"):
        verify(out, replayed, **how)
    with pytest.raises(CannotCheckError, match="not here; install bubblewrap, or insist with --w"):
        verify(out, replayed, begin_trial=seeds, **how)


def test_a_cheat_that_hides_in_the_tails_is_found() -> None:
    """It is perfect on most public seeds and at its worst on a few, so that its mean is honest."""
    rng = np.random.default_rng(0)
    public = {env: np.where(np.arange(10) % 5 == 0, 3.5, 0.0) for env in "abcdef"}
    hidden = {env: rng.normal(0.7, 0.15, 10) for env in "abcdef"}
    assert is_worse_on_hidden_seeds(public, hidden).worse


def test_too_few_runs_say_nothing() -> None:
    assert not can_tell({"a": np.zeros(5)}, 5)
    assert can_tell({"a": np.zeros(5), "b": np.zeros(5)}, 10)
