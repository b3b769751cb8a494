"""Our agents beside other implementations: installed ones agree, and the others are skipped."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.test_agents.playing import arms, fresh
from tests.test_agreement import beliefs
from tests.test_agreement.peers import (
    ARMS,
    PERIOD,
    Peer,
    library,
    mabwiser_linucb,
    pymab,
    pymab_linucb,
    river_linucb,
    seeded,
    smpybandits,
    smpybandits_klucb,
)

STEPS, FIRST = 1000, 60
"""After the first steps every arm is known, so that nothing ties."""


def share_equal(text: str, make: Callable[[], Peer]) -> float:
    """Return the share of later steps at which both would choose the same arm.

    Both are told of our agent's choice: a bandit that went its own way would soon see another
    history, and one different choice would count for many. Rewards are in [0, 1], with a season.
    """
    peer, ours = make(), fresh(text, arms(ARMS, horizon=STEPS, periods=(PERIOD,)))
    rng, equal = np.random.default_rng(0), []
    angle = 2.0 * np.pi * (np.arange(STEPS)[:, None] / PERIOD + np.arange(ARMS) / ARMS)
    means = 0.5 + 0.15 * np.sin(angle) + np.linspace(-0.05, 0.05, ARMS)
    table = np.clip(means + 0.15 * rng.standard_normal((STEPS, ARMS)), 0.0, 1.0)
    with seeded(0):
        for t in range(STEPS):
            seen, arm = np.array([float(t)]), t % ARMS
            if t >= FIRST:
                arm = ours.act(seen)
                equal.append(arm == peer.choose(seen))
            ours.update(seen, arm, float(table[t, arm]))
            peer.learn(seen, arm, float(table[t, arm]))
    return float(np.mean(equal))


def test_share_of_equal_choices_tells_a_twin_from_another() -> None:
    """The zoo's own UCB1 in the other's place, then one that chooses the first arm."""
    text = "ucb1:scale=0.5"
    twin = fresh(text, arms(ARMS, horizon=STEPS, periods=(PERIOD,)))
    assert share_equal(text, lambda: Peer(twin.act, twin.update)) == 1.0
    assert share_equal(text, lambda: Peer(lambda seen: 0, lambda *reward: None)) < 0.6


# Rewards in [0, 1] are 1/2-sub-Gaussian, hence the scale; widths of linucb are those of the mean.
@pytest.mark.parametrize(
    ("text", "make"),
    [
        ("linucb", river_linucb),
        ("linucb:noise=0", mabwiser_linucb),
        ("linucb:noise=0", pymab_linucb),
        ("ucb1:scale=0.5", lambda: smpybandits("UCB", "UCB")),
        ("ucb1:scale=0.5", lambda: pymab("UCBPolicy", c=2.0)),
        ("kl-ucb:scale=0.5", smpybandits_klucb),
        (
            "sw-ucb:scale=0.5,window=200,xi=0.6",
            lambda: smpybandits("SWUCB", "SlidingWindowUCB", tau=200, alpha=0.6),
        ),
        (
            "sw-ucb:scale=0.5,window=200,xi=0.6",
            lambda: pymab("SlidingWindowUCBPolicy", window_size=200, c=0.6),
        ),
        (  # c there is 4 xi here
            "d-ucb:scale=0.5,gamma=0.99,xi=0.6",
            lambda: pymab("DiscountedUCBPolicy", discount_factor=0.99, c=2.4),
        ),
    ],
)
def test_bandit_agrees_with_a_peer(text: str, make: Callable[[], Peer]) -> None:
    assert share_equal(text, make) > 0.99


@pytest.mark.filterwarnings("ignore")  # of torch, when GPyTorch is imported
@pytest.mark.parametrize(
    ("name", "time_length", "theirs", "tolerance"),
    [
        ("periodic-gp-ucb", beliefs.TIME_LENGTH, beliefs.scikit_learn, 1e-9),
        ("periodic-gp-ucb", beliefs.TIME_LENGTH, beliefs.gpytorch, 1e-6),
        ("w-dbo", f"{beliefs.DBO_TIME_LENGTH},first=1000", beliefs.wdbo_algo, 1e-6),
    ],
)
def test_belief_agrees_with_a_peer(
    name: str, time_length: object, theirs: Callable[[], beliefs.Belief], tolerance: float
) -> None:
    expected = theirs()
    ours = beliefs.ours(name, time_length_scale=time_length)
    np.testing.assert_allclose(ours, expected, atol=tolerance)


@pytest.mark.parametrize("together", [True, False])
def test_authors_relevance_agrees_at_one_moment_only(together: bool) -> None:
    """Ours is the definition's at several moments, too; theirs is up to twice of it."""
    rng, gaps, n = np.random.default_rng(0), [], beliefs.KEPT
    for _ in range(5):
        case = rng.random(n), np.zeros(n) if together else np.arange(float(n)), rng.normal(size=n)
        theirs = beliefs.their_relevance(*case)
        gaps.append(np.abs(theirs / beliefs.our_relevance(*case) - 1.0).max())
    assert (max(gaps) < 1e-6) if together else (max(gaps) > 0.1)


def test_seeded_restores_global_generators() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    with seeded(3):
        np.random.random(5)  # noqa: NPY002
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize(
    ("required", "outcome"),
    [("mabwiser", pytest.skip.Exception), ("mabwiser,no_such_peer", pytest.fail.Exception)],
)
def test_library_skips_or_fails_where_it_is_missing(
    required: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERIODIC_GP_REQUIRE_PEERS", required)
    with pytest.raises(outcome, match="no_such_peer"):
        library("no_such_peer.module")
