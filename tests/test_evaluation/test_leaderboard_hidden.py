"""Hidden seeds: who knows the public ones falls there, and who does not passes."""

from pathlib import Path

import numpy as np
import pytest

from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.secret import (
    HiddenSeeds,
    Secret,
    can_tell,
    is_worse_on_hidden_seeds,
)
from evaluation.leaderboard.submit import submit
from evaluation.leaderboard.verdicts import CannotCheckError
from evaluation.leaderboard.verify import verify
from evaluation.protocol.protocol import Protocol
from tests.test_evaluation.submissions import CHEAT, PROTOCOL, entry, submitted


@pytest.fixture(scope="module")
def pristine(tmp_path_factory) -> Path:
    return submitted(tmp_path_factory.mktemp("bundles") / "random")


def test_hidden_seeds_depend_on_the_secret_alone() -> None:
    assert HiddenSeeds(b"a", "x").worlds == HiddenSeeds(b"a", "x").worlds
    assert not set(HiddenSeeds(b"a", "x").worlds) & set(HiddenSeeds(b"b", "x").worlds)
    assert not set(HiddenSeeds(b"a", "x").worlds) & set(HiddenSeeds(b"a", "y").worlds)
    hidden = HiddenSeeds(b"a", "x", 3)
    assert len({hidden.agent(env, seed) for env in "xy" for seed in hidden.worlds}) == 6


def test_an_agent_that_memorised_the_public_seeds_falls(tmp_path: Path) -> None:
    """It passes every other tier."""
    cheat, out = f"{CHEAT}:Memoriser", tmp_path / "cheat"
    submit(entry(cheat, "Memoriser"), PROTOCOL, out, authors=["C"])
    found = verify(
        out,
        PROTOCOL,
        through="hidden-seed",
        agent=cheat,
        salt=b"a secret of the test",
        sample=2,
    )
    assert [verdict.passed for verdict in found.verdicts] == [True, True, True, False]
    assert "it knows the public seeds" in found.verdicts[-1].words
    edition_secret = Secret.create(tmp_path / "secret.json")
    edition = Edition.open(tmp_path / "s", PROTOCOL, edition_secret)
    assert not edition.record(found, edition_secret)
    assert edition.accepted() == []
    assert edition.log.entries()[-1]["verdicts"][-1]["passed"] is False


def test_an_honest_agent_passes_on_hidden_seeds(pristine: Path) -> None:
    found = verify(pristine, PROTOCOL, through="hidden-seed", salt=b"another secret", sample=1)
    assert found.tier == "hidden-seed"


def test_the_hidden_test_keeps_its_level(monkeypatch) -> None:
    """Of 400 honest agents at most 5 % have p <= 0.05.

    More than 33 (8.2 %) would be a false alarm with a probability of 0.003 (binomial).
    """
    monkeypatch.setattr("evaluation.leaderboard.secret._PERMUTATIONS", 499)
    rng = np.random.default_rng(0)
    small = 0
    for _ in range(400):
        public = {env: rng.gamma(2.0, size=10) for env in "abc"}
        hidden = {env: rng.gamma(2.0, size=10) for env in "abc"}
        small += is_worse_on_hidden_seeds(public, hidden).p_value <= 0.05
    assert small <= 33


def test_an_edition_without_moving_worlds_has_no_hidden_seeds(tmp_path: Path) -> None:
    replayed = Protocol.from_dict(
        {"envs": ["PeriodicGP-Replay-v0"], "agents": ["random"], "seeds": "0:2", "horizon": 5}
    )
    out = tmp_path / "bundle"
    submit(entry("random"), replayed, out, authors=["A"], workers=1)
    with pytest.raises(CannotCheckError, match="replays data"):
        verify(out, replayed, through="hidden-seed", salt=b"s", sample=1, workers=1)


def test_a_cheat_that_hides_in_the_tails_is_found() -> None:
    """It is perfect on most public seeds and at its worst on a few, so that its mean is honest."""
    rng = np.random.default_rng(0)
    public = {env: np.where(np.arange(10) % 5 == 0, 3.5, 0.0) for env in "abcdef"}
    hidden = {env: rng.normal(0.7, 0.15, 10) for env in "abcdef"}
    assert is_worse_on_hidden_seeds(public, hidden).worse


def test_too_few_runs_say_nothing() -> None:
    assert not can_tell({"a": np.zeros(5)}, 5)
    assert can_tell({"a": np.zeros(5), "b": np.zeros(5)}, 10)
