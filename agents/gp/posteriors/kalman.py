"""Kalman filter: the belief N(w, P) about the weights of the features.

Between observations a term with decay forgets (Kalman predict step, rho per unit of time),

    w <- r w,    P <- r r^T * P + diag(1 - r^2),    r = rho^dt,

and an observation y = h . w + noise, h = phi(a) x psi(t), is a rank-one update

    g = P h,    s = h . g + sigma^2,    w <- w + g (y - h . w) / s,    P <- P - g g^T / s.

At a time t all actions have the same psi(t). P is therefore contracted with psi(t) first, (m, m) ->
(M_a, m) -> (M_a, M_a), in O(m^2); the result serves the predictions for all actions and the next
update. P and w are stored as one array S = [P, w], since all operations are the same for both.

Forgetting would write all of P at every step. S is therefore stored for an earlier time, the
``base``. With R = diag(r) for the time since the base, the state is N(R w, R P R + I - R^2), and
an observation is a rank-one update of S with R^-1 g instead of g.

A large S exceeds the cache, and each rank-one update would read and write all of S. Updates are
therefore collected as rows x = (g, -e) / sqrt(s) of X, and S - X^T X is formed for 16 updates in
one product.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, lapack, solve_triangular
from scipy.linalg.blas import dgemm, dger

from agents.arrays import Array
from agents.gp.features import Features

LARGE = 500
"""Length of the state from which rank-one updates are collected."""
BATCH = 128
"""Number of observations in one batch update."""
COLLECT = 16
"""Number of rank-one updates that are collected before they are applied; a larger number would make
predictions slower."""
MIN_LAZY = 100
"""Length of the state from which S is stored for an earlier time, the ``base``."""
LEAST_RHO = 1e-3
"""Decay since the base below which S is moved to the present, to prevent overflow."""


class Slice(NamedTuple):
    """Belief at one time t: f(a, t) = phi(a) . v with v ~ N(mean, covariance)."""

    t: float
    psi: Array  # (M_t,)
    rho: Array  # (M_t,): decay of each time feature from the base of the state to t
    mean: Array  # (M_a,)
    covariance: Array  # (M_a, M_a)


class Moments(NamedTuple):
    """Moments of v for k states: mean (k, M_a) and covariance (k, M_a, M_a)."""

    mean: Array
    covariance: Array


class Room(NamedTuple):
    """Arrays of a state, or of several states, which are layers along an additional first axis."""

    S: Array  # (m, m + 1)
    cross: Array  # (M_a, m + 1)
    covariance: Array  # (M_a, M_a)
    X: Array  # (c, m + 1): space for c collected updates

    @classmethod
    def of(cls, layers: tuple[int, ...], m: int, M: int, collected: int) -> Room:
        """Return uninitialised arrays for states of length m with M action features.

        ``layers`` is () for one state and (k,) for k states. ``collected`` is the number of
        rank-one updates that can be collected.
        """
        shapes = (m, m + 1), (M, m + 1), (M, M), (collected, m + 1)
        return cls(*(np.empty(layers + shape) for shape in shapes))

    def layer(self, i: int) -> Room:
        """Return the arrays of one layer."""
        return Room(*(array[i] for array in self))


class KalmanFilter:
    """Belief about the weights, with mean w (m,) and covariance P (m, m).

    S = [P, w] is stored for the time ``base``; ``time`` is the time of the newest observation.
    """

    def __init__(self, features: Features) -> None:
        self.features = features
        m = features.size
        self.time, self.base = -math.inf, -math.inf
        self.log_rho = np.zeros(len(features.clock.nu))
        self.column, self.tick = np.empty(m, dtype=np.intp), np.empty(m, dtype=np.intp)
        for b in features.blocks:
            self.log_rho[b.clock] = b.log_rho
            grid = np.indices(b.shape).reshape(2, -1)
            self.column[b.rows] = grid[0] + b.columns.start
            self.tick[b.rows] = grid[1] + b.clock.start
        self.decays = bool(self.log_rho.any())
        self.pending = 0
        self.slice: Slice | None = None
        room = self._own_room()
        room.S[:] = np.eye(m, m + 1)
        self._use_arrays(room)

    def _own_room(self) -> Room:
        m, M = self.features.size, self.features.width
        return Room.of((), m, M, COLLECT if m >= LARGE else 0)

    def move_to(self, room: Room) -> None:
        """Move the state to the arrays of ``room``."""
        self.form()
        room.S[:], self.slice = self.S, None
        self._use_arrays(room)

    def move_out(self) -> None:
        """Move the state to separate arrays if it is a layer of shared arrays."""
        if self.S.base is not None:
            self.move_to(self._own_room())

    def _use_arrays(self, room: Room) -> None:
        self.S, self._cross, self._covariance, self._X = room
        blocks, m, M = self.features.blocks, self.features.size, self.features.width
        # The views are created only once, since the arrays change in place.
        self._inner = [
            (b.clock, self.S[b.rows].reshape(*b.shape, m + 1), self._cross[b.columns])
            for b in blocks
        ]
        self._outer = [
            (b.clock, self._cross[:, b.rows].reshape(M, *b.shape), self._covariance[:, b.columns])
            for b in blocks
        ]

    def at(self, t: float) -> Slice:
        """Return the belief about f(., t), valid until the next update or call with a new t."""
        if self.slice is not None and self.slice.t == t:
            return self.slice
        if self.decays and t < self.time:
            self.settle(self.time)
        psi = self.features.psi(t)
        rho = self._decay(t)
        wave = rho * psi if self.decays else psi
        for clock, grid, out in self._inner:
            np.matmul(wave[clock], grid, out=out)
        if self.pending:
            self._catch_up(wave)
        for clock, cross, out in self._outer:
            np.matmul(cross, wave[clock], out=out)
        if self.decays and t != self.base:
            self._refresh((1.0 - rho**2) * psi**2)
        self.slice = Slice(t, psi, rho, self._cross[:, -1], self._covariance)
        return self.slice

    def update(self, phi: Array, t: float, y: float, noise_variance: float) -> float:
        """Learn from y = phi . v + noise at time t, and return the log density of y.

        If t precedes the time of a decaying state, the state is not moved, and y is treated as a
        noisy observation of the state: f(., t) = rho^dt f(., now) + independent process noise.
        """
        now = self.at(t)
        if self.decays and t > self.time and now.rho.min() < LEAST_RHO:
            self.settle(t)
            now = self.at(t)
        s = float(phi @ now.covariance @ phi) + noise_variance
        g = phi @ self._cross  # (P h, h . w)
        e = y - float(g[-1])
        # A small state is moved to t. For a large state, g becomes R^-1 g (see the docstring of the
        # module).
        if self.decays and t > self.time and len(self.S) < MIN_LAZY:
            self._move(g[:-1], phi, now)
        elif self.decays and t >= self.time and t != self.base:
            fresh = (1.0 / now.rho - now.rho) * now.psi
            g[:-1] += phi[self.column] * fresh[self.tick]
        g[-1] = -e
        g *= 1.0 / math.sqrt(s)
        self.subtract(g)
        self.advance(t)
        return -0.5 * (e * e / s + math.log(2 * math.pi * s))

    def advance(self, t: float) -> None:
        """Update the time of the state after an observation at time t."""
        if math.isinf(self.base):  # the prior holds at any time
            self.base = t
        self.time, self.slice = max(t, self.time), None

    def discount(self, factor: float) -> None:
        """Multiply the weights of all observations so far by ``factor``, O(m^3).

        This multiplies P^-1 - I and P^-1 w by the factor. With M = factor I + (1 - factor) P,
        P <- M^-1 P and w <- factor M^-1 w.
        """
        if self.decays:
            raise ValueError(
                "cannot discount observations if the kernel decays: use engine='incremental'"
            )
        self.form()
        P = self.S[:, :-1]
        M = (1.0 - factor) * P
        M.flat[:: len(P) + 1] += factor
        self.S[:, -1] *= factor
        self.S[:] = cho_solve(cho_factor(M, lower=True), self.S)
        P[:] = 0.5 * (P + P.T)
        self.slice = None

    def learn(self, phi: Array, t: Array, y: Array, noise_variance: float) -> float:
        """Learn from many observations in batches, and return their log density.

        This method requires a kernel without decay (``decays`` is false).

        With the rows h of a batch in H and the Cholesky factor L of H P H^T + sigma^2 I,
        V = L^-1 [H P, H w - y] and S <- S - (L^-1 H P)^T V. This is faster than single updates,
        since BLAS works on blocks.
        """
        total, self.slice = 0.0, None
        self.form()
        for part in (slice(i, i + BATCH) for i in range(0, len(t), BATCH)):
            H = self._rows(phi[part], t[part])
            # Before the first observation, S = [I, 0].
            V = np.pad(H, ((0, 0), (0, 1))) if math.isinf(self.time) else H @ self.S
            L = cholesky(V[:, :-1] @ H.T + noise_variance * np.eye(len(H)), lower=True)
            V[:, -1] -= y[part]
            V = solve_triangular(L, V, lower=True, check_finite=False)
            steps = np.ascontiguousarray(V[:, :-1])
            dgemm(-1.0, V.T, steps.T, 1.0, self.S.T, trans_b=1, overwrite_c=1)
            total -= 0.5 * float(V[:, -1] @ V[:, -1]) + float(np.log(np.diagonal(L)).sum())
            self.time = max(self.time, float(t[part].max()))
        return total - 0.5 * len(t) * math.log(2 * math.pi)

    def _rows(self, phi: Array, t: Array) -> Array:
        """Return h of each observation, shape (n, m)."""
        psi = self.features.psi_of_all(t)
        H = np.empty((len(t), self.features.size))
        for b in self.features.blocks:
            grid = phi[:, b.columns, None] * psi[:, None, b.clock]
            H[:, b.rows] = grid.reshape(len(t), -1)
        return H

    def update_all(self, phi: Array, t: float, y: Array, noise_variance: Array) -> float:
        """Learn from several values observed at one time.

        A single matrix product is used if t is the time of the state and the filter does not
        collect updates. Otherwise, each value is a separate update.

        Args:
            phi: Action features, shape (q, M_a).
            t: Time of the values.
            y: Values, shape (q,).
            noise_variance: Noise variances, shape (q,).

        Returns:
            Log density of the values.
        """
        if len(self._X) or t != self.time:
            rows = zip(phi, y.tolist(), noise_variance.tolist(), strict=True)
            return sum(self.update(row, t, value, noise) for row, value, noise in rows)
        self.settle(t)
        now, G = self.at(t), phi @ self._cross
        K = phi @ now.covariance @ phi.T
        K.flat[:: len(y) + 1] += noise_variance
        L, wrong = lapack.dpotrf(K, lower=1)
        if wrong:
            raise np.linalg.LinAlgError(
                "the covariance of the values at one time is not positive definite"
            )
        G[:, -1] -= y
        X = lapack.dtrtrs(L, G, lower=1)[0]
        steps = np.ascontiguousarray(X[:, :-1])
        dgemm(-1.0, X.T, steps.T, 1.0, self.S.T, trans_b=1, overwrite_c=1)
        self.slice = None
        log_det = 2.0 * float(np.log(np.diagonal(L)).sum())
        return -0.5 * (float(X[:, -1] @ X[:, -1]) + log_det + len(y) * math.log(2 * math.pi))

    @property
    def X(self) -> Array:
        """Collected updates that have not been applied to S, shape (``pending``, m + 1)."""
        return self._X[: self.pending]

    def load(self, S: Array, time: float, base: float) -> None:
        """Replace the state, and discard the collected updates."""
        self.S[:], self.time, self.base, self.slice = S, time, base, None
        self.pending = 0

    def _decay(self, t: float) -> Array:
        lag = 0.0 if math.isinf(self.base) else abs(t - self.base)
        return np.exp(self.log_rho * lag)

    def subtract(self, x: Array) -> None:
        """Subtract the rank-one update x x^T, without its last row, from S.

        A filter that collects updates applies several updates in one product. The cost is O(m^2)
        per update. BLAS changes S.T in place, since it expects Fortran order.
        """
        if not len(self._X):
            dger(-1.0, x, x[:-1], a=self.S.T, overwrite_a=1)
            return
        self._X[self.pending] = x
        self.pending += 1
        if self.pending == len(self._X):
            self.form()

    def form(self) -> None:
        """Apply the collected updates to S in one matrix product, with cost O(m^2) per update."""
        if self.pending:
            steps = np.ascontiguousarray(self.X[:, :-1])
            dgemm(-1.0, self.X.T, steps.T, 1.0, self.S.T, trans_b=1, overwrite_c=1)
            self.pending = 0

    def _catch_up(self, wave: Array) -> None:
        """Apply the collected updates to the contracted state."""
        X, M = self.X, self.features.width
        contracted = np.empty((len(X), M))
        for b in self.features.blocks:
            grid = X[:, b.rows].reshape(-1, *b.shape)
            np.matmul(grid, wave[b.clock], out=contracted[:, b.columns])
        self._cross -= contracted.T @ X

    def _refresh(self, fresh: Array) -> None:
        """Add the process noise since the time ``base`` to the covariance of v."""
        # In the flattened covariance, the entries of the diagonal are M_a + 1 apart.
        width = self.features.width + 1
        for b in self.features.blocks:
            if b.log_rho:
                diagonal = slice(b.columns.start * width, b.columns.stop * width, width)
                self._covariance.ravel()[diagonal] += fresh[b.clock].sum()

    def _move(self, g: Array, phi: Array, now: Slice) -> None:
        """Move a small state and the gain g = P h to the time of the slice, in place."""
        self.form()
        r = now.rho[self.tick]
        fresh = 1.0 - r * r
        g *= r
        g += fresh * phi[self.column] * now.psi[self.tick]
        self.S *= np.multiply.outer(r, np.append(r, 1.0))
        self.S.ravel()[:: len(r) + 2] += fresh
        self.base = now.t

    def settle(self, t: float) -> None:
        """Move S and ``base`` to time t, which must not precede the time of the state."""
        if not self.decays or math.isinf(self.base) or self.base == t:
            return
        self.form()
        r = self._decay(t)[self.tick]
        for b in self.features.blocks:
            if b.log_rho:  # all entries of a block have the same decay
                self.S[b.rows] *= r[b.rows.start]
                self.S[:, b.rows] *= r[b.rows.start]
        self.S.ravel()[:: len(r) + 2] += 1.0 - r * r
        self.time, self.base, self.slice = t, t, None
