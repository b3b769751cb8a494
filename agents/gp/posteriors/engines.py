"""Choice of the fastest engine for a kernel, a set of actions and a horizon."""

from __future__ import annotations

import cmath
import math

import numpy as np

from agents.checks import positive
from agents.gp.actions import Actions, Finite, InContext
from agents.gp.features import Features, RankError, find_features
from agents.gp.kernels.base import Kernel
from agents.gp.kernels.time import TimeSquaredExponential
from agents.gp.posteriors.base import Posterior
from agents.gp.posteriors.incremental import Incremental
from agents.gp.posteriors.state_space import StateSpace

ENGINES = ("auto", "incremental", "state-space")
MAX_STATE_SIZE = 8000
"""Largest number m of features in a state, which takes 8 m^2 bytes."""
INFLUENCE = 1e-13
"""Largest influence of a dropped observation, relative to that of the newest observation."""


def make_posterior(
    kernel: Kernel,
    actions: Actions,
    noise_variance: float,
    *,
    horizon: int | None = None,
    engine: str = "auto",
    whole_times: bool = False,
) -> Posterior:
    """Return a posterior without observations; ``posterior.name`` names the engine.

    Args:
        kernel: Prior covariance of f.
        actions: ``Finite(x)`` or ``Box(low, high)``.
        noise_variance: Variance of the observation noise.
        horizon: Number of future observations; None if it is unknown or very large.
        engine: "auto" (the fastest engine over the horizon), "incremental" or "state-space".
        whole_times: Promise that every t is a whole number, which reduces the cost if periods are
            short.

    Raises:
        RankError: If the engine is "state-space" and the kernel has no finite-dimensional feature
            map.
    """
    positive("noise_variance", noise_variance)
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    features = None
    if engine == "state-space":
        features = find_features(kernel, actions, whole_times=whole_times)
    elif engine == "auto":
        features = _worthwhile_features(kernel, actions, horizon, whole_times)
    if features is not None:
        return StateSpace(kernel, actions, noise_variance, features)
    window = exact_window(kernel, noise_variance, peak_variance(kernel, actions))
    return Incremental(kernel, actions, noise_variance, window)


def peak_variance(kernel: Kernel, actions: Actions) -> float:
    """Return the largest prior variance of all arms, or of the centre and two corners of a box."""
    if isinstance(actions, Finite):
        return float(kernel.diagonal(actions.points()).max())
    if isinstance(actions, InContext):
        return peak_variance(kernel, actions.actions)
    probe = [actions.low, actions.high, (actions.low + actions.high) / 2]
    return float(kernel.diagonal(actions.points(np.stack(probe))).max())


def _worthwhile_features(
    kernel: Kernel, actions: Actions, horizon: int | None, whole_times: bool
) -> Features | None:
    """Return the features if they exist and the state-space engine is faster, otherwise None."""
    # Up to 50 steps (``SHORT`` in ``mixture.py``), the state-space engine is not worthwhile.
    short = horizon is not None and horizon <= 50
    if short or isinstance(actions, InContext):
        return None
    try:
        features = find_features(kernel, actions, whole_times=whole_times)
    except RankError:
        return None
    # Number of actions at which an acquisition function predicts per step.
    evaluated = (
        len(actions) if isinstance(actions, Finite) else 256 if actions.dimension == 1 else 2048
    )
    cheaper = _state_space_cost(features, evaluated) < _incremental_cost(
        horizon or 100_000, evaluated
    )
    return features if cheaper and features.size <= MAX_STATE_SIZE else None


def _state_space_cost(features: Features, evaluated: int) -> float:
    """Return the estimated time of a step in microseconds.

    The coefficients were measured on one core of a 2020 CPU.
    """
    passes = 4.0 if any(block.log_rho for block in features.blocks) else 1.0
    contraction = 40.0 + 8.0 * len(features.blocks) + 4e-4 * passes * features.size**2
    return contraction + 7e-5 * evaluated * features.width**2


def _incremental_cost(horizon: int, evaluated: int) -> float:
    """Return the estimated time of a step in microseconds, averaged over the horizon.

    The estimate is for the same CPU as in ``_state_space_cost``.
    """
    # The cost of step t grows with t^2, whose mean over the horizon is horizon^2 / 3.
    return 100.0 + horizon**2 / 3 * (3e-4 + 7e-5 * evaluated)


def exact_window(kernel: Kernel, noise_variance: float, peak: float) -> float | None:
    """Return the age from which observations have negligible influence, or None.

    A squared exponential in time (C-GP-UCB) has no finite state, but old observations lose their
    influence. The age exceeds the lag at which the correlation becomes negligible, since an old
    observation also informs the present through later observations. In the worst case, with one
    observation of the same action per unit of time, the influence at lag d is the Fourier transform
    of 1 / (S + sigma^2), where

        S(omega) = v l sqrt(2 pi) exp(-omega^2 l^2 / 2)

    is the spectral density of the kernel. The influence falls like exp(-eta d / l), with eta the
    imaginary part of the nearest zero of S + sigma^2, at omega l = sqrt(2 log(v l sqrt(2 pi) /
    sigma^2) + 2 pi i). With l = 10, v = 1 and sigma^2 = 0.01, the influence is 1e-15 at an age of
    44 l, whereas the correlation is 1e-15 at a lag of 8.3 l.

    Args:
        kernel: Kernel; the age is None unless every term has a squared exponential in time.
        noise_variance: Variance sigma^2 of the noise.
        peak: Largest prior variance v.
    """
    scales = [
        [clock.length_scale for clock in term.clocks if isinstance(clock, TimeSquaredExponential)]
        for term in kernel.terms
    ]
    if not all(scales):
        return None
    length_scale = max(min(of_term) for of_term in scales)
    ratio = math.sqrt(2 * math.pi) * length_scale * peak / noise_variance
    eta = cmath.sqrt(2 * math.log(max(ratio, 1.0)) + 2j * math.pi).imag
    reach = math.sqrt(-2 * math.log(INFLUENCE))  # lag at which the correlation is negligible
    return length_scale * max(reach, -math.log(INFLUENCE) / eta)
