"""The belief N(w, P) about the weights of the features, and how it moves.

Between observations a term with decay forgets (Kalman predict step, rho per unit of time),

    w <- r w,    P <- r r^T * P + diag(1 - r^2),    r = rho^dt,

and an observation y = h . w + noise, h = phi(a) x psi(t), is a rank-one step

    g = P h,    s = h . g + sigma^2,    w <- w + g (y - h . w) / s,    P <- P - g g^T / s.

At one time t all actions share psi(t): it is contracted first, (m, m) -> (M_a, m) -> (M_a, M_a),
which serves the prediction of every action and the update that follows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dger

from agents.gp.arrays import Array
from agents.gp.features import Features


class Slice(NamedTuple):
    """The belief at one time t: f(a, t) = phi(a) . v with v ~ N(mean, covariance)."""

    t: float
    psi: Array  # (M_t,)
    rho: Array  # (M_t,): decay of each time feature from the time of the state to t
    mean: Array  # (M_a,)
    covariance: Array  # (M_a, M_a)


class Belief:
    """Weights w (m,) with covariance P (m, m), valid at ``time``."""

    def __init__(self, features: Features) -> None:
        self.features = features
        blocks, m, M = features.blocks, features.size, features.width
        self.w, self.P, self.time = np.zeros(m), np.eye(m), -math.inf
        self._cross = np.empty((M, m))
        self._log_rho = np.zeros(len(features.clock.nu))
        self._column, self._tick = np.empty(m, dtype=np.intp), np.empty(m, dtype=np.intp)
        for b in blocks:
            self._log_rho[b.clock] = b.log_rho
            self._column[b.rows], self._tick[b.rows] = np.indices(b.shape).reshape(2, -1)
            self._column[b.rows] += b.columns.start
            self._tick[b.rows] += b.clock.start
        self.decays = bool(self._log_rho.any())
        # Views, made once: w, P and cross only ever change in place.
        self._grids = [self.P[b.rows].reshape(*b.shape, m) for b in blocks]
        self._weights = [self.w[b.rows].reshape(b.shape) for b in blocks]
        self._crosses = [self._cross[:, b.rows].reshape(M, *b.shape) for b in blocks]
        self._slice: Slice | None = None

    def at(self, t: float) -> Slice:
        """The belief about f(., t); kept until the next update."""
        if self._slice is not None and self._slice.t == t:
            return self._slice
        psi, M = self.features.psi(t), self.features.width
        rho = self._decay(t)
        wave = rho * psi if self.decays else psi
        mean, covariance = np.empty(M), np.empty((M, M))
        for b, grid, weights in zip(self.features.blocks, self._grids, self._weights, strict=True):
            np.matmul(wave[b.clock], grid, out=self._cross[b.columns])
            np.matmul(weights, wave[b.clock], out=mean[b.columns])
        for b, cross in zip(self.features.blocks, self._crosses, strict=True):
            np.matmul(cross, wave[b.clock], out=covariance[:, b.columns])
        if self.decays:
            fresh = (1.0 - rho**2) * psi**2
            for b in self.features.blocks:
                i = range(b.columns.start, b.columns.stop)
                covariance[i, i] += fresh[b.clock].sum()
        self._slice = Slice(t, psi, rho, mean, covariance)
        return self._slice

    def update(self, phi: Array, t: float, y: float, noise_variance: float) -> float:
        """Take in y = phi . v + noise at time t; returns its log density.

        If t lies before the time of the state and something decays, the state stays where it is
        and y counts as a blurred view of it: f(., t) = rho^dt f(., now) + fresh variation.
        """
        now = self.at(t)
        s = float(phi @ now.covariance @ phi) + noise_variance
        e = y - float(phi @ now.mean)
        g = phi @ self._cross
        if self.decays and t >= self.time:
            self._move(g, phi, now)
        self.w += g * (e / s)
        g /= math.sqrt(s)
        dger(-1.0, g, g, a=self.P.T, overwrite_a=1)  # P is symmetric: P.T is P, Fortran-ordered
        self.time, self._slice = max(t, self.time), None
        return -0.5 * (e * e / s + math.log(2 * math.pi * s))

    def copy_from(self, w: Array, P: Array, time: float) -> None:
        """Overwrite the state."""
        self.w[:], self.P[:], self.time, self._slice = w, P, time, None

    def _decay(self, t: float) -> Array:
        lag = 0.0 if math.isinf(self.time) else abs(t - self.time)
        return np.exp(self._log_rho * lag)

    def _move(self, g: Array, phi: Array, now: Slice) -> None:
        """Move the state, and with it the gain g, to the time of the slice."""
        r = now.rho[self._tick]
        g *= r
        g += (1.0 - r * r) * phi[self._column] * now.psi[self._tick]
        self.w *= r
        self.P *= np.multiply.outer(r, r)
        self.P.flat[:: len(r) + 1] += 1.0 - r * r
