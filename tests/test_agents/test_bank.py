"""Candidates that learn together are what they would be if each learned by itself."""

import numpy as np
import pytest

from agents.gp import (
    Box,
    Constant,
    Decay,
    Finite,
    Mixture,
    Periodic,
    SquaredExponential,
    StateSpace,
)
from agents.gp.posteriors.bank import Bank, Layers
from tests.test_agents.reloading import reloaded

RATES = (0.0, 0.003, 0.03, 0.3)
ARMS = Finite(np.linspace(0.0, 3.0, 6)[:, None])
QUERY = np.linspace(0.0, 3.0, 7)[:, None]


def kernels(periods=(7.0, 11.0)):
    """Seasons of several lengths, forgotten at several rates, and no season at all."""
    clocks = [*(Periodic(period) for period in periods), Constant()]
    return [
        SquaredExponential(1.0) * clock * (Decay(rate) if rate else Constant())
        for clock in clocks
        for rate in RATES
    ]


def members(actions, which):
    return [StateSpace(kernel, actions, 0.2) for kernel in which]


def action(actions, rng):
    return int(rng.integers(len(actions))) if isinstance(actions, Finite) else rng.uniform(0, 3, 1)


def times(kind):
    """In order; with late ones, old ones and pairs; with gaps in which all is forgotten."""
    t = np.arange(90.0)
    if kind == "late":
        t[40], t[41], t[60] = 37.5, 3.0, 60.0 - 1.0
    if kind == "gaps":
        t[50:] += 2000.0
        t[80:] += 1e6
    return t.tolist()


@pytest.mark.parametrize("collecting", [1, 10_000])
@pytest.mark.parametrize("kind", ["in order", "late", "gaps"])
@pytest.mark.parametrize("actions", [ARMS, Box(0, 3)], ids=["arms", "box"])
def test_learning_together_is_learning_alone(monkeypatch, actions, kind, collecting):
    monkeypatch.setattr("agents.gp.posteriors.bank.MIN_COLLECTING", collecting)
    rng, alone = np.random.default_rng(0), members(actions, kernels())
    mixture = Mixture(members(actions, kernels()))
    query = None if isinstance(actions, Finite) else QUERY
    for i, t in enumerate(times(kind)):
        chosen, y = action(actions, rng), rng.normal()
        mixture.observe(chosen, t, y)
        for posterior in alone:
            posterior.observe(chosen, t, y)
        if i % 7 == 0:
            mixture.predict(t + 1.0, query)
    for ours, theirs in zip(mixture.members, alone, strict=True):
        assert ours.log_evidence == pytest.approx(theirs.log_evidence, abs=1e-8)
        assert ours.count == theirs.count
        for ahead in (0.0, 2.5):
            t = max(times(kind)) + ahead
            np.testing.assert_allclose(
                ours.predict(t, query), theirs.predict(t, query), rtol=0, atol=1e-9
            )
    weights = Mixture(alone).weights
    np.testing.assert_allclose(mixture.weights, weights, atol=1e-8)


def test_members_come_and_go():
    """Those that stay go on with their own numbers, whatever bank they are in."""
    rng, together = np.random.default_rng(1), {}  # by number: copies of those alone
    alone = members(ARMS, kernels((5.0, 6.0, 7.0, 8.0, 9.0)))
    for t in range(60):
        if t % 4 == 0:
            staying = [i for i in together if rng.random() < 0.6]
            coming = rng.permutation(len(alone))[: rng.integers(2, 9)].tolist()
            fresh = {i: reloaded(alone[i]) for i in coming if i not in staying}
            together = {i: together[i] for i in staying} | fresh
            bank = Bank(list(together.values()))
        chosen, y = int(rng.integers(6)), rng.normal()
        bank.observe(chosen, float(t), y)
        for posterior in alone:
            posterior.observe(chosen, float(t), y)
        for i, own in together.items():
            expected = alone[i].predict(t + 0.5)
            np.testing.assert_allclose(own.predict(t + 0.5), expected, rtol=0, atol=1e-10)


def test_a_mixture_begins_anew_and_comes_back_to_the_bit():
    rng, mixture = np.random.default_rng(2), Mixture(members(ARMS, kernels()))
    for t in range(45):
        mixture.observe(int(rng.integers(6)), float(t), rng.normal())
    again = reloaded(mixture)
    for t in range(45, 90):
        chosen, y = int(rng.integers(6)), rng.normal()
        for posterior in (mixture, again):
            posterior.observe(chosen, float(t), y)
    np.testing.assert_array_equal(mixture.predict(91.0), again.predict(91.0))
    mixture.reset()
    fresh = Mixture(members(ARMS, kernels()))
    for posterior in (mixture, fresh):
        posterior.observe(0, 0.0, 1.0)
    np.testing.assert_array_equal(mixture.predict(1.0), fresh.predict(1.0))


def test_what_is_not_finite_changes_nothing():
    mixture = Mixture(members(ARMS, kernels()))
    with pytest.raises(ValueError, match="finite"):
        mixture.observe(0, 1.0, np.nan)
    with pytest.raises(IndexError):
        mixture.observe(-1, 1.0, 0.0)
    assert mixture.count == 0


def test_sums_over_candidates_are_made_once_a_moment(monkeypatch):
    sums = []
    moments = Layers.moments
    monkeypatch.setattr(Layers, "moments", lambda *args: (sums.append(1), moments(*args))[1])
    kernels = [SquaredExponential(1.0) * Periodic(period) for period in (5.0, 7.0)]
    mixture = Mixture([StateSpace(kernel, Box(0, 3), 0.2) for kernel in kernels])
    mixture.observe(np.ones(1), 0.0, 1.0)
    grid = np.linspace(0, 3, 50)[:, None]
    mixture.predict(1.0, grid)
    once = len(sums)
    mixture.predict(1.0, grid)
    assert len(sums) == once > 0
