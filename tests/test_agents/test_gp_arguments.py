"""Arguments and inputs that Gaussian processes reject."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agents.gp import (
    Box,
    Constant,
    ContextSquaredExponential,
    Decay,
    EmpiricalCovariance,
    Finite,
    InContext,
    Index,
    Matern,
    Mixture,
    Normaliser,
    Periodic,
    PeriodSearch,
    RankError,
    SquaredExponential,
    StateSpace,
    TimeSquaredExponential,
    fit,
    make_posterior,
)
from agents.gp.features import find_features
from agents.gp.relevance import time_scale
from tests.dense import Dense

ARMS, BOX = Finite(np.arange(6.0)[:, None]), Box(0, 9)
PLANE = InContext(Box([-1.0, -1.0], [1.0, 1.0]), 1)
STILL, WAVE = Index() * Constant(), Index() * Periodic(5.0)
SEASON = SquaredExponential() * Periodic(5.0)
SHADED = SquaredExponential((0.5, 1.0)) * Periodic(5.0) * ContextSquaredExponential(0.7)
PAST = [([[1.0]], [0.0], [1.0])]


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: Periodic(0.0), ValueError, "period"),
        (lambda: Periodic(24.0, -1.0), ValueError, "length_scale"),
        (lambda: Decay(1.0), ValueError, "eps"),
        (lambda: TimeSquaredExponential(np.nan), ValueError, "length_scale"),
        (lambda: SquaredExponential((1.0, 0.0)), ValueError, "length-scale"),
        (lambda: Matern(0.0), ValueError, "nu"),
        (lambda: EmpiricalCovariance(np.array([[1.0, 2.0], [0.0, 1.0]])), ValueError, "matrix"),
        (lambda: Constant(-1.0) * Index(), ValueError, "variance"),
        (lambda: Index()(BOX.points([[1.0]]), BOX.points([[1.0]])), TypeError, None),
        (lambda: Box(1, 1), ValueError, "low"),
        (lambda: Finite(np.zeros((0, 2))), ValueError, "coordinates"),
        (lambda: make_posterior(SEASON, ARMS, 0.1, engine="fast"), ValueError, "engine"),
        (lambda: make_posterior(SEASON, ARMS, 0.0), ValueError, "noise_variance"),
        *(
            (lambda k=k, a=a: make_posterior(k, a, 0.1, engine="state-space"), RankError, None)
            for k, a in (
                (Index() * TimeSquaredExponential(1.0), ARMS),
                (Matern(0.5) * Constant(), BOX),
                (SHADED, PLANE),
            )
        ),
        (lambda: Dense(SHADED, PLANE.actions, 0.1).predict(0, np.zeros((1, 2))), TypeError, None),
        (lambda: StateSpace(Index() * Decay(0.1), ARMS, 0.1).discount(0.5), ValueError, None),
        (
            lambda: StateSpace(
                WAVE, ARMS, 0.1, find_features(WAVE, ARMS, whole_times=True)
            ).observe(0, 0.5, 1.0),
            ValueError,
            "t = 0.5",
        ),
        (lambda: Mixture([]), ValueError, "candidate"),
        (lambda: Mixture([StateSpace(STILL, ARMS, 0.1)], np.zeros(1)), ValueError, "prior"),
        (lambda: PeriodSearch(SEASON, ARMS, 0.1, low=5.0, high=5.0), ValueError, "low"),
        (lambda: time_scale(WAVE + STILL), ValueError, "time"),
        (lambda: fit(SEASON, BOX, [], 0.1), ValueError, "stretches"),
        (lambda: fit(SEASON, BOX, PAST, 0.1, spread=0.0), ValueError, "spread"),
        (lambda: Normaliser(0.0, 0.0), ValueError, "scale"),
    ],
)
def test_gp_rejects_impossible_arguments(
    call: Callable[[], Any], error: type[Exception], name: str | None
) -> None:
    with pytest.raises(error, match=name):
        call()
