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
from agents.gp.posteriors.stack import Stack
from agents.gp.posteriors.state_arrays import Moments
from agents.gp.posteriors.state_space import StateSpace, predicted, sloped

NEGLIGIBLE = 1e-12
"""Weight below which a candidate is left out of predictions; it goes on learning."""


class Part(NamedTuple):
    """Where the features of one term of a candidate lie: its columns, and their scale."""

    columns: slice
    scale: float


class Shared:
    """Candidates with finite features and one action kernel."""

    def __init__(self, members: Sequence[StateSpace], stacks: Sequence[Stack]) -> None:
        widths = [max(_widths(member)) for member in members]
        # The widest has all the features that any other has.
        self._widest, self.width = members[int(np.argmax(widths))], max(widths)
        sizes = _widths(self._widest)
        term = int(np.argmax(sizes))
        start = sum(sizes[:term])
        self._columns = slice(start, start + self.width)
        unit = self._widest.kernel.terms[term].variance
        self._groups = _groups(members, stacks, unit)
        self._memo: tuple[float, Array, tuple[Array, Array]] | None = None

    @classmethod
    def of(cls, members: Sequence[Posterior], stacks: Sequence[Stack]) -> Shared | None:
        """None if the candidates have not all one action kernel and finite features."""
        able = [member for member in members if isinstance(member, StateSpace)]
        if len(able) < len(members):
            return None
        kernels = [term.actions for member in able for term in member.kernel.terms]
        return cls(able, stacks) if all(kernel == kernels[0] for kernel in kernels) else None

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
        counted = np.where(weights > NEGLIGIBLE, weights, 0.0)
        for group in self._groups:
            group.add_to(mean, second, t, counted)
        moments = mean, second - mean[:, None] * mean
        self._memo = (t, weights, moments)
        return moments


class Group:
    """Candidates with features of the same shape: those of a stack, or one alone.

    Args:
        source: Says what they believe.
        where: Their numbers among all candidates.
        parts: Where the features of each of their terms lie.
    """

    def __init__(self, source: Stack | StateSpace, where: list[int], parts: list[Part]) -> None:
        self._source, self._parts = source, parts
        self._where, self._order = np.sort(where), np.argsort(where)
        self._in_order = bool((np.diff(where) > 0).all())

    def add_to(self, mean: Array, second: Array, t: float, weights: Array) -> None:
        """Add the weighted sums of means (M,) and of second moments (M, M), term by term."""
        weight = weights[self._where]
        if not weight.any():
            return
        now = self._source.moments(t)
        if not self._in_order:  # sums are the same to the bit, however the layers lie
            now = Moments(now.mean[self._order], now.covariance[self._order])
        width = now.covariance.shape[1]
        C = (weight @ now.covariance.reshape(len(weight), -1)).reshape(width, width)
        m = np.zeros((len(weight), len(mean)))
        for p in self._parts:
            rows = p.columns.stop - p.columns.start
            m[:, :rows] += p.scale * now.mean[:, p.columns]
            for q in self._parts:
                columns = q.columns.stop - q.columns.start
                second[:rows, :columns] += p.scale * q.scale * C[p.columns, q.columns]
        weighted = weight[:, None] * m
        mean += weighted.sum(axis=0)
        second += weighted.T @ m


def _groups(members: Sequence[StateSpace], stacks: Sequence[Stack], unit: float) -> list[Group]:
    number = {id(member): i for i, member in enumerate(members)}
    stacked = [[number.pop(id(member)) for member in stack.members] for stack in stacks]
    groups = [
        Group(stack, where, _parts(stack.members[0], unit))
        for stack, where in zip(stacks, stacked, strict=True)
    ]
    alone = [Group(members[i], [i], _parts(members[i], unit)) for i in number.values()]
    return groups + alone


def _widths(member: StateSpace) -> list[int]:
    """Number of action features of each term."""
    return [len(basis.weight) for basis in member.features.bases]


def _parts(member: StateSpace, unit: float) -> list[Part]:
    ends = np.cumsum([0, *_widths(member)]).tolist()
    return [
        Part(slice(start, stop), math.sqrt(term.variance / unit))
        for start, stop, term in zip(ends, ends[1:], member.kernel.terms, strict=False)
    ]
