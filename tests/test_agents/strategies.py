"""Random kernels, action sets and observations for property tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from agents.gp import (
    Actions,
    Box,
    Constant,
    Decay,
    EmpiricalCovariance,
    Finite,
    Harmonics,
    Index,
    Kernel,
    Linear,
    Matern,
    Periodic,
    SquaredExponential,
    TimeSquaredExponential,
    TruncatedPeriodic,
)

ARMS = 6
seeds = st.integers(0, 2**32 - 1)
scales = st.floats(0.5, 5.0)


def covariance(seed: int) -> EmpiricalCovariance:
    root = np.random.default_rng(seed).normal(size=(ARMS, ARMS))
    return EmpiricalCovariance(root @ root.T / ARMS)


smooth = st.one_of(
    st.builds(SquaredExponential, st.floats(1.5, 5.0)),
    st.builds(SquaredExponential, st.tuples(st.floats(1.5, 5.0), st.floats(1.5, 5.0))),
    st.just(Linear()),
)
over_arms = st.one_of(
    smooth,
    st.builds(Matern, st.sampled_from([0.5, 1.5, 2.5, 1.2, 4.0]), scales),
    st.just(Index()),
    st.builds(covariance, seeds),
)
periods = st.one_of(st.integers(1, 30).map(float), st.floats(1.5, 40.0))
lasting = st.one_of(
    st.just(Constant()),
    st.builds(Periodic, periods, st.floats(0.4, 12.0)),
    st.builds(TruncatedPeriodic, periods, st.floats(0.4, 3.0), st.integers(1, 5)),
    st.builds(Harmonics, periods, st.integers(1, 3), st.integers(3, 6)),
)
forgetting = st.one_of(lasting, st.builds(Decay, st.floats(0.001, 0.5)))


def terms(
    actions: st.SearchStrategy[Any], clocks: st.SearchStrategy[Any]
) -> st.SearchStrategy[Kernel]:
    return st.builds(
        lambda variance, a, clock, other: variance * a * clock * other,
        st.floats(0.2, 3.0),
        actions,
        clocks,
        st.one_of(st.just(Constant()), st.builds(Decay, st.floats(0.01, 0.3)))
        if clocks is forgetting
        else st.just(Constant()),
    )


def sums(
    actions: st.SearchStrategy[Any], clocks: st.SearchStrategy[Any]
) -> st.SearchStrategy[Kernel]:
    one = terms(actions, clocks)
    return st.one_of(one, st.builds(lambda p, q: p + q, one, one))


any_time = st.one_of(forgetting, st.builds(TimeSquaredExponential, st.floats(1.0, 20.0)))


@dataclass(frozen=True)
class Case:
    """Observations of some actions."""

    actions: Actions
    chosen: Any
    t: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    noise_variance: float
    query: Any

    def feed(self, engine: Any, kernel: Kernel, *features: Any, weighted: bool = False) -> Any:
        """Return a posterior that has seen the observations."""
        posterior = engine(kernel, self.actions, self.noise_variance, *features)
        for action, t, y, weight in zip(self.chosen, self.t, self.y, self.weight, strict=True):
            posterior.observe(action, float(t), float(y), *([float(weight)] if weighted else []))
        return posterior

    @property
    def now(self) -> float:
        """A time soon after the last observation."""
        return float(self.t.max(initial=0.0)) + 0.5


@st.composite
def cases(
    draw: st.DrawFn, *, finite: bool = True, ordered: bool = True, whole: bool = False
) -> Case:
    rng, n = np.random.default_rng(draw(seeds)), draw(st.integers(0, 40))
    t = np.cumsum(rng.exponential(size=n))
    t = np.sort(rng.integers(0, 60, n).astype(float)) if whole else t
    t = t if ordered else rng.permutation(t)
    common = t, rng.normal(size=n), np.exp(rng.normal(size=n)), draw(st.floats(0.01, 2.0))
    x = rng.uniform(-3, 3, (ARMS, 2))
    if finite:
        return Case(Finite(x), rng.integers(0, ARMS, n), *common, None)
    return Case(Box([-3, -3], [3, 3]), rng.uniform(-3, 3, (n, 2)), *common, x[:5])


def assert_predicts_as(
    ours: Any, theirs: Any, t: float, query: Any = None, *, evidence: bool = True
) -> None:
    """Two posteriors have the same moments at time t and, unless forgotten, the same evidence."""
    for one, other in zip(ours.predict(t, query), theirs.predict(t, query), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8 * (1 + np.abs(other).max()))
    if evidence:
        assert ours.log_evidence == pytest.approx(theirs.log_evidence, rel=1e-7, abs=1e-7)
    assert ours.count == theirs.count
    if query is not None:
        for one, other in zip(ours.gradient(t, query), theirs.gradient(t, query), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-7 * (1 + np.abs(other).max()))
