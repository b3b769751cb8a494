"""The moments of a mixture in the space of action features, where all candidates share one.

Each candidate says f(a, t) = phi_i(a) . v_i with v_i ~ N(mean_i, C_i). If all terms have the same
action kernel, every phi_i consists of stretches of one common phi, scaled; so v_i is folded into
the space of phi, and the mixture has there

    mean = sum_i omega_i mean_i,
    covariance = sum_i omega_i (C_i + mean_i mean_i^T) - mean mean^T.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from agents.arrays import Array
from agents.gp.posteriors.base import Gradient, Posterior, Prediction
from agents.gp.posteriors.state_space import StateSpace, predicted, sloped

NEGLIGIBLE = 1e-12
"""Weight below which a candidate is left out of predictions; it goes on learning."""


class Part(NamedTuple):
    """Where the features of one term of a candidate lie: its columns, and their scale."""

    columns: slice
    scale: float


class Shared:
    """Candidates with finite features and one action kernel."""

    def __init__(self, members: Sequence[StateSpace]) -> None:
        self._members = members
        widths = [max(_widths(member)) for member in members]
        # The widest has all the features that any other has.
        self._widest, self.width = members[int(np.argmax(widths))], max(widths)
        sizes = _widths(self._widest)
        term = int(np.argmax(sizes))
        start = sum(sizes[:term])
        self._columns = slice(start, start + self.width)
        unit = self._widest.kernel.terms[term].variance
        self._parts = [_parts(member, unit) for member in members]
        self._memo: tuple[float, Array, tuple[Array, Array]] | None = None

    @classmethod
    def of(cls, members: Sequence[Posterior]) -> Shared | None:
        """None if the candidates have not all one action kernel and finite features."""
        able = [member for member in members if isinstance(member, StateSpace)]
        if len(able) < len(members):
            return None
        kernels = [term.actions for member in able for term in member.kernel.terms]
        return cls(able) if all(kernel == kernels[0] for kernel in kernels) else None

    def predict(self, t: float, weights: Array, actions: Any) -> Prediction:
        """Mean and variance of the mixture."""
        phi = self._widest.phi(actions)[:, self._columns]
        return predicted(phi, *self._moments(t, weights))

    def gradient(self, t: float, weights: Array, actions: Any) -> Gradient:
        """Prediction with its derivatives."""
        points = self._widest.actions.points(actions)
        features = self._widest.features
        phi = features.phi(points)[:, self._columns]
        slope = features.slope(points)[:, :, self._columns]
        return sloped(phi, slope, *self._moments(t, weights))

    def _moments(self, t: float, weights: Array) -> tuple[Array, Array]:
        """Mean (M,) and covariance (M, M) of v; kept for the next question about this moment."""
        if self._memo is not None and self._memo[0] == t and self._memo[1] is weights:
            return self._memo[2]
        mean, second = np.zeros(self.width), np.zeros((self.width, self.width))
        for weight, member, parts in zip(weights, self._members, self._parts, strict=True):
            if weight > NEGLIGIBLE:
                now = member.now(t)
                m, C = _folded(now.mean, now.covariance, parts, self.width)
                mean += weight * m
                second += weight * (C + np.outer(m, m))
        moments = mean, second - np.outer(mean, mean)
        self._memo = (t, weights, moments)
        return moments


def _widths(member: StateSpace) -> list[int]:
    """Number of action features of each term."""
    return [len(basis.weight) for basis in member.features.bases]


def _parts(member: StateSpace, unit: float) -> list[Part]:
    ends = np.cumsum([0, *_widths(member)]).tolist()
    return [
        Part(slice(start, stop), math.sqrt(term.variance / unit))
        for start, stop, term in zip(ends, ends[1:], member.kernel.terms, strict=False)
    ]


def _folded(mean: Array, covariance: Array, parts: list[Part], width: int) -> tuple[Array, Array]:
    """Add up the terms, each in its stretch of the common features."""
    m, C = np.zeros(width), np.zeros((width, width))
    for p in parts:
        rows = p.columns.stop - p.columns.start
        m[:rows] += p.scale * mean[p.columns]
        for q in parts:
            columns = q.columns.stop - q.columns.start
            C[:rows, :columns] += p.scale * q.scale * covariance[p.columns, q.columns]
    return m, C
