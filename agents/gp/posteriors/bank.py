"""Batched states of the candidates of a mixture.

Candidates that differ only in their time kernels (a period, a rate of forgetting) have states of
the same shape and learn from the same observations. An update of a single filter takes about thirty
array operations (``kalman.py``). In this module each operation is executed once for all candidates,
on shared arrays; layer i of a shared array is the array of candidate i's filter.

Candidate i has f(a, t) = phi_i(a) . v_i with v_i ~ N(mean_i, C_i). If all terms have the same
action kernel, every phi_i is a concatenation of scaled slices of a common phi. Each v_i is then
mapped to the space of phi, in which the mixture has

    mean = sum_i omega_i mean_i,
    covariance = sum_i omega_i (C_i + mean_i mean_i^T) - mean mean^T.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm

from agents.arrays import Array
from agents.checks import finite_observation
from agents.gp.posteriors.base import Gradient, Prediction
from agents.gp.posteriors.kalman import LEAST_RHO, Moments, Room, Slice
from agents.gp.posteriors.state_space import StateSpace, predicted, sloped

NEGLIGIBLE = 1e-12
"""Weight below which predictions omit a candidate; the candidate continues to learn."""
MIN_COLLECTING = 100
"""Length of a state from which rank-one updates are collected, since the states of all candidates
then exceed the cache."""
COLLECTED_STEPS = 8
"""Number of rank-one updates that are collected before they are applied (see ``kalman.py``)."""


class Bank:
    """Candidates with finitely many features, whose updates and predictions are batched.

    Args:
        members: Candidates.
        before: Obsolete bank whose arrays are reused if possible.

    Attributes:
        shares: True if all terms have the same action kernel, which ``predict`` requires.
    """

    def __init__(self, members: Sequence[StateSpace], before: Bank | None = None) -> None:
        groups: dict[Any, list[int]] = {}
        for i, member in enumerate(members):
            groups.setdefault(i if member.features.whole_times else _shape(member), []).append(i)
        # The features of the widest candidate include those of all others.
        self._widest = max(members, key=lambda member: max(_widths(member)))
        widths = _widths(self._widest)
        self._width = max(widths)
        term = widths.index(self._width)
        start = sum(widths[:term])
        self._columns = slice(start, start + self._width)
        unit = self._widest.kernel.terms[term].variance
        self._groups: list[tuple[Layers | StateSpace, Array, list[tuple[slice, float]]]] = []
        for shape, where in groups.items():
            group: Layers | StateSpace = members[where[0]]
            if len(where) > 1:
                known = None if before is None else before._layers(shape)
                group = Layers([members[i] for i in where], known)
            else:
                members[where[0]].filter.move_out()
            self._groups.append((group, np.array(where), _parts(members[where[0]], unit)))
        kernels = [term.actions for member in members for term in member.kernel.terms]
        self.shares = all(kernel == kernels[0] for kernel in kernels)
        self._memo: tuple[float, Array, tuple[Array, Array]] | None = None

    def _layers(self, shape: Any) -> Layers | None:
        """Return the layers whose states have the given shape, or None."""
        layers = (group for group, _, _ in self._groups if isinstance(group, Layers))
        return next((group for group in layers if _shape(group.members[0]) == shape), None)

    def observe(self, action: Any, t: float, y: float) -> None:
        """Update all candidates with an observation."""
        self._memo = None
        for group, _, _ in self._groups:
            group.observe(action, t, y)

    def predict(self, t: float, weights: Array, actions: Any) -> Prediction:
        """Return the mean and variance of the mixture."""
        phi = self._widest.phi(actions)[:, self._columns]
        return predicted(phi, *self._moments(t, weights))

    def gradient(self, t: float, weights: Array, actions: Any) -> Gradient:
        """Return the prediction with its derivatives."""
        points, features = self._widest.actions.points(actions), self._widest.features
        phi = features.phi(points)[:, self._columns]
        slope = features.slope(points)[:, :, self._columns]
        return sloped(phi, slope, *self._moments(t, weights))

    def _moments(self, t: float, weights: Array) -> tuple[Array, Array]:
        """Return the mean, shape (M,), and the covariance, shape (M, M), of v under the mixture.

        The last result is cached.
        """
        if self._memo is not None and self._memo[0] == t and self._memo[1] is weights:
            return self._memo[2]
        mean, second = np.zeros(self._width), np.zeros((self._width, self._width))
        counted = np.where(weights > NEGLIGIBLE, weights, 0.0)
        for group, where, parts in self._groups:
            weight = counted[where]
            if weight.any():
                _add(mean, second, weight, group.moments(t), parts)
        # covariance = E[v v^T] - E[v] E[v]^T
        moments = mean, second - mean[:, None] * mean
        self._memo = (t, weights, moments)
        return moments


def _add(
    mean: Array, second: Array, weight: Array, now: Moments, parts: list[tuple[slice, float]]
) -> None:
    """Add the weighted sums of the means to ``mean``, and of the second moments to ``second``."""
    width = now.covariance.shape[1]
    C = (weight @ now.covariance.reshape(len(weight), -1)).reshape(width, width)
    m = np.zeros((len(weight), len(mean)))
    for p, scale in parts:
        rows = p.stop - p.start
        m[:, :rows] += scale * now.mean[:, p]
        for q, other in parts:
            second[:rows, : q.stop - q.start] += scale * other * C[p, q]
    weighted = weight[:, None] * m
    mean += weighted.sum(axis=0)
    second += weighted.T @ m


def _parts(member: StateSpace, unit: float) -> list[tuple[slice, float]]:
    """Return, for each term, the columns of its action features in phi_i and their scale.

    The scale is relative to features of variance ``unit``.
    """
    ends = np.cumsum([0, *_widths(member)]).tolist()
    return [
        (slice(start, stop), math.sqrt(term.variance / unit))
        for start, stop, term in zip(ends, ends[1:], member.kernel.terms, strict=False)
    ]


def _widths(member: StateSpace) -> list[int]:
    """Return the number of action features of each term."""
    return [len(basis.weight) for basis in member.features.bases]


def _shape(member: StateSpace) -> Any:
    """Return the properties that all layers of a group share: action features and blocks."""
    terms = tuple((term.variance, term.actions) for term in member.kernel.terms)
    blocks = tuple(
        (b.columns.start, b.columns.stop, b.clock.start, b.clock.stop, b.rows.start, b.rows.stop)
        for b in member.features.blocks
    )
    return terms, blocks, len(member.features.clock.nu)


class _Views(NamedTuple):
    """Views of the shared arrays for one block, in all layers."""

    clock: slice
    S: Array
    inner: Array
    X: Array
    columns: slice
    cross: Array
    outer: Array
    diagonal: Array


class Layers:
    """States of the same shape, each of which is a layer of shared arrays.

    Args:
        members: States.
        before: Obsolete layers; if they include these states in the same order, their arrays are
            reused.

    Attributes:
        members: State of each layer.
    """

    def __init__(self, members: Sequence[StateSpace], before: Layers | None = None) -> None:
        features = members[0].features
        k, m, M = len(members), features.size, features.width
        self.members, self._filters = members, [member.filter for member in members]
        old = {} if before is None else {id(each): i for i, each in enumerate(before._filters)}
        places = [old.get(id(each), -1) for each in self._filters]
        self._room: Room
        if before is not None and min(places) >= 0 and places == sorted(places):
            self._room = before._room
        else:
            self._room = Room.of((k,), m, M, COLLECTED_STEPS if m >= MIN_COLLECTING else 0)
            places = [-1] * k
        for i, each in enumerate(self._filters):
            if places[i] != i:
                each.move_to(self._room.layer(i))
        self._describe()

    def _describe(self) -> None:
        """Create tables of the layers' parameters, and views of the shared arrays."""
        members, features, k = self.members, self.members[0].features, len(self.members)
        m, M = features.size, features.width
        clocks = [member.features.clock for member in members]
        self._nu, self._shift, self._amplitude = (
            np.stack([getattr(clock, name) for clock in clocks])
            for name in ("nu", "shift", "amplitude")
        )
        self._log_rho = np.stack([each.log_rho for each in self._filters])
        self._decays = bool(self._log_rho.any())
        self._noise = np.array([member.noise_variance for member in members])
        S, cross, covariance, X = (array[:k] for array in self._room)
        diagonal = np.einsum("kii->ki", covariance)
        self._views = [
            _Views(
                b.clock,
                S[:, b.rows].reshape(k, *b.shape, m + 1),
                cross[:, b.columns, None],
                X[:, :, b.rows].reshape(k, -1, *b.shape),
                b.columns,
                cross[:, :, b.rows].reshape(k, M, *b.shape),
                covariance[:, :, b.columns, None],
                diagonal[:, b.columns],
            )
            for b in features.blocks
        ]
        self._cross, self._X, self._moments = cross, X, Moments(cross[:, :, -1], covariance)
        self._slices: list[Slice] = []

    def moments(self, t: float) -> Moments:
        """Return the moments of all members at time t, valid until the next call or update."""
        if self._at(t):
            return self._moments
        slices = [member.now(t) for member in self.members]
        return Moments(np.stack([s.mean for s in slices]), np.stack([s.covariance for s in slices]))

    def observe(self, action: Any, t: float, y: float) -> None:
        """Update all members with an observation.

        The members are updated individually if their states cannot be batched at t.
        """
        finite_observation(t, y)
        phi = self.members[0].phi_of(action)
        if not self._at(t):
            for member in self.members:
                member.observe(action, t, y)
            return
        if self._decays and self._rho.min() < LEAST_RHO:
            for each in self._filters:
                each.settle(t)
            self._at(t)
        # These are the operations of ``KalmanFilter.update``, for all layers.
        s = self._moments.covariance @ phi @ phi + self._noise
        g = phi @ self._cross
        e = y - g[:, -1]
        if self._decays:
            fresh = (1.0 / self._rho - self._rho) * self._psi
            first = self._filters[0]
            g[:, :-1] += phi[first.column] * fresh[:, first.tick]
        g[:, -1] = -e
        g /= np.sqrt(s)[:, None]
        for x, each in zip(g, self._filters, strict=True):
            each.subtract(x)
        density = -0.5 * (e * e / s + np.log(2 * np.pi * s))
        for member, own in zip(self.members, density.tolist(), strict=True):
            member.learned(phi, t, y, own)

    def _at(self, t: float) -> bool:
        """Return whether the states can be batched at t; if so, compute all moments at t."""
        known, now = self._slices, [each.slice for each in self._filters]
        if known and known[0].t == t and all(map(operator.is_, known, now)):
            return True
        lag = self._lag(t)
        if lag is None:
            return False
        # This is the formula of ``TimeFeatures``, for all layers.
        psi = self._amplitude * np.cos(2 * np.pi * (self._nu * t % 1.0) - self._shift)
        rho = np.exp(self._log_rho * lag)
        wave = rho * psi
        for view in self._views:
            np.matmul(wave[:, None, None, view.clock], view.S, out=view.inner)
        if self._filters[0].pending:
            self._catch_up(wave)
        for view in self._views:
            np.matmul(view.cross, wave[:, None, view.clock, None], out=view.outer)
        if self._decays and lag:
            fresh = (1.0 - rho**2) * psi**2
            for view in self._views:
                diagonal = view.diagonal
                diagonal += fresh[:, view.clock].sum(axis=1)[:, None]
        self._slices = [Slice(t, *one) for one in zip(psi, rho, *self._moments, strict=True)]
        for each, own in zip(self._filters, self._slices, strict=True):
            each.slice = own
        self._psi, self._rho = psi, rho
        return True

    def _catch_up(self, wave: Array) -> None:
        """Apply the collected updates to the contracted states."""
        pending = self._filters[0].pending
        contracted = np.empty((len(wave), pending, self._cross.shape[1]))
        for view in self._views:
            grid, part = view.X[:, :pending], wave[:, None, view.clock, None]
            np.matmul(grid, part, out=contracted[:, :, view.columns, None])
        for X, own, cross in zip(self._X, contracted, self._cross, strict=True):
            dgemm(-1.0, X[:pending].T, own.T, 1.0, cross.T, trans_b=1, overwrite_c=1)

    def _lag(self, t: float) -> float | None:
        """Return the time from the common ``base`` of the decaying states to t.

        The result is None if their bases differ, or if t is earlier than the time of one of them.
        It is 0 if no state decays, or if there are no observations.
        """
        moving = [each for each in self._filters if each.decays]
        bases = {each.base for each in moving}
        if len(bases) > 1 or any(t < each.time for each in moving):
            return None
        if len({each.pending for each in self._filters}) > 1:
            for each in self._filters:
                each.form()
        base = bases.pop() if bases else -math.inf
        return 0.0 if math.isinf(base) else t - base
