"""Finite features for action kernels: k(a, b) = phi(a) . phi(b) to round-off.

Pivoted Cholesky finds the few actions that tell all others apart, and stops when nothing is left to
explain; the rank depends on how smooth the kernel is, not on how many actions there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from agents.arrays import Array
from agents.gp.actions import Actions, Box, Finite, InContext, Integers, Points
from agents.gp.designs import chebyshev, sobol
from agents.gp.kernels.base import Term

RESIDUAL = 1e-14
"""Relative variance left unexplained at which the search for features stops."""
TOLERANCE = 1e-12
"""Relative variance left unexplained that still counts as exact."""
MAX_RANK = {Finite: 1200, Box: 600}
"""Features beyond which another engine is the better one."""


class RankError(ValueError):
    """The kernel has no short list of features over these actions."""


@dataclass(frozen=True, eq=False)
class ArmFeatures:
    """Features of the arms of a finite set.

    Attributes:
        values: phi of every arm, strongest feature first, shape (n, m_a).
    """

    values: Array

    @property
    def weight(self) -> Array:
        """Largest phi_i^2 over the actions, shape (m_a,)."""
        return np.asarray((self.values**2).max(axis=0))

    def head(self, size: int) -> ArmFeatures:
        """The first ``size`` features."""
        return ArmFeatures(np.ascontiguousarray(self.values[:, :size]))

    def __call__(self, points: Points) -> Array:
        """phi of the given arms, shape (q, m_a)."""
        return self.values[points.arm]

    def slope(self, points: Points) -> Array:
        """Undefined between arms."""
        raise TypeError("arms have no gradient; use a box")


@dataclass(frozen=True, eq=False)
class Nystrom:
    """Features of the points of a box: phi(x) = B^T k(Z, x).

    Attributes:
        term: Its action kernels are k.
        nodes: Z, shape (r, d).
        mixing: B with B B^T = variance k(Z, Z)^-1, shape (r, m_a).
        weight: Largest phi_i^2 over the box, shape (m_a,).
    """

    term: Term
    nodes: Array
    mixing: Array
    weight: Array

    def head(self, size: int) -> Nystrom:
        """The first ``size`` features."""
        mixing = np.ascontiguousarray(self.mixing[:, :size])
        return replace(self, mixing=mixing, weight=self.weight[:size])

    def __call__(self, points: Points) -> Array:
        """phi, shape (q, m_a)."""
        return self.term.over_actions(points, Points(self.nodes)) @ self.mixing

    def slope(self, points: Points) -> Array:
        """Derivative of phi, shape (q, d, m_a)."""
        slope = self.term.slope(points, Points(self.nodes))
        return np.asarray(slope.transpose(0, 2, 1) @ self.mixing)


Basis = ArmFeatures | Nystrom


def find_basis(term: Term, actions: Actions) -> Basis:
    """Features of a term: phi(a) . phi(b) is its variance times its action kernels.

    Raises:
        RankError: If very many features would be needed, or actions have contexts.
    """
    if isinstance(actions, InContext):
        raise RankError("no short list of features is sought over contexts")
    points = actions.points() if isinstance(actions, Finite) else Points(_candidates(actions))
    L, pivots = _pivoted_cholesky(term, points, MAX_RANK[type(actions)])
    # Rotate to principal axes: L L^T stays, and the tail becomes weak enough to drop.
    value, vector = np.linalg.eigh(L.T @ L)
    rotation = vector[:, np.argsort(-value, kind="stable")]
    scale = np.sqrt(term.variance)
    features = scale * (L @ rotation)
    if isinstance(actions, Finite):
        return ArmFeatures(features)
    mixing = scale * solve_triangular(L[pivots], rotation, lower=True, trans=1)
    nystrom = Nystrom(term, points.x[pivots], mixing, (features**2).max(axis=0))
    _verify(nystrom, actions)
    return nystrom


def _pivoted_cholesky(term: Term, points: Points, max_rank: int) -> tuple[Array, Integers]:
    """L (n, r) with k = L L^T, and the r pivots; L[pivots] is lower triangular."""
    left = term.own(points)
    stop, rows = RESIDUAL * left.max(), np.zeros((64, len(left)))
    pivots: list[int] = []
    while left.max() > stop:
        p, r = int(left.argmax()), len(pivots)
        if r == min(max_rank, len(left)):
            break
        if r == len(rows):
            rows = np.concatenate((rows, np.zeros_like(rows)))
        row = term.over_actions(_one(points, p), points)[0] - rows[:r, p] @ rows[:r]
        rows[r] = row / np.sqrt(left[p])
        rows[r, pivots] = 0.0  # exactly, not to round-off
        left, pivots = np.maximum(left - rows[r] ** 2, 0.0), [*pivots, p]
        left[pivots] = 0.0
    if left.max() > TOLERANCE / RESIDUAL * stop:
        raise RankError(f"more than {max_rank} features needed")
    return np.ascontiguousarray(rows[: len(pivots)].T), np.array(pivots)


def _one(points: Points, p: int) -> Points:
    return Points(points.x[p : p + 1], None if points.arm is None else points.arm[p : p + 1])


def _candidates(box: Box) -> Array:
    """Where to look for nodes."""
    per_axis = {1: 256, 2: 48, 3: 16}.get(box.dimension)
    return chebyshev(box, per_axis) if per_axis else sobol(box, 4096)


def _verify(basis: Nystrom, box: Box) -> None:
    """Between the candidates, too, nothing may be left to explain."""
    points = box.points(sobol(box, 1024, shift=np.pi / 10))
    own = basis.term.variance * basis.term.own(points)
    left = own - (basis(points) ** 2).sum(axis=1)
    if np.abs(left).max() > 10 * TOLERANCE * own.max():
        raise RankError("the kernel is too rough for features over this box")
