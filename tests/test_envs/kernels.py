"""Covariances of the worlds as their docstrings state them, with scikit-learn's kernels."""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import ExpSineSquared, Matern

from periodic_envs.worlds.gaussian import GaussianWorld


def matern(distance: Any, nu: float | None) -> np.ndarray:
    """Return Matern correlations at distances in length-scales; SE with ``nu=None``."""
    points = np.ravel(distance)[:, None]
    kernel = Matern(nu=np.inf if nu is None else nu)
    return kernel(points, [[0.0]]).reshape(np.shape(distance))


def periodic(lag: Any, period: float, length_scale: float) -> np.ndarray:
    """Return the periodic kernel at lags, Eq. (2)."""
    kernel = ExpSineSquared(length_scale, period)
    return kernel(np.ravel(lag)[:, None], [[0.0]]).reshape(np.shape(lag))


def action_covariance(world: GaussianWorld, a: Any, b: Any) -> float:
    """Return the covariance between two actions in [-1, 1]^dim."""
    if world.action_kernel == "linear":
        return float(a @ b) / world.dim
    distance = np.linalg.norm(a - b) * world.action_width / 2.0 / world.action_length_scale
    return float(matern(distance, world.nu if world.action_kernel == "matern" else None))


def time_covariance(world: Any, process: Any, t: int, s: int) -> float:
    """Return the covariance between two times, given periods, changes and contexts of a draw."""
    name = type(world).__name__
    if name in ("Stationary", "Piecewise"):
        return float(process.rows[t] == process.rows[s])
    scale = world.time_length_scale
    season = float(periodic(t - s, process.period, scale))
    if name == "AlmostPeriodic":
        return (season + float(periodic(t - s, world.ratio * world.period, scale))) / 2.0
    if name == "MultiSeason":
        week = float(periodic(t - s, world.long_period, world.long_length_scale))
        return season * (1.0 - world.weekly_share + world.weekly_share * week)
    if name == "Switching":
        return float(season * (1.0 - world.drift) ** (abs(t - s) / 2.0))
    if name == "Contextual":
        distance = np.linalg.norm(process.contexts[t] - process.contexts[s])
        return season * float(matern(distance / world.context_length_scale, None))
    if name == "Shift":
        course = process.course
        constant = float(periodic(np.linspace(0.0, 1.0, 1000, endpoint=False), 1.0, scale).mean())
        season = float(periodic(course.cycles[t] - course.cycles[s], 1.0, scale))
        return constant + course.amplitudes[t] * course.amplitudes[s] * (season - constant)
    return season


def covariance(world: Any, process: Any, a: Any, t: int, b: Any, s: int) -> float:
    """Return the covariance of f(a, t) and f(b, s); a finite action is an index."""
    points = [a, b]
    if world.n_actions is not None:
        arms = getattr(process.course, "arms", None)
        now = [a, b] if arms is None else [arms[t, a], arms[s, b]]
        points = [world.points[arm] for arm in now]
    return action_covariance(world, *points) * time_covariance(world, process, t, s)
