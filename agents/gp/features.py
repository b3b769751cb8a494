"""Features of a kernel: f(a, t) = sum over blocks of phi(a)^T W psi(t), W ~ N(0, I).

Action features satisfy k(a, b) = phi(a) . phi(b) up to round-off. A pivoted Cholesky decomposition
selects a few actions that explain all other actions, and stops when no variance is left. Its rank
depends on the smoothness of the kernel, not on the number of actions.

A term could be one block of all action features times all time features. For weak action features
only strong time features matter, so a term is divided into a few blocks with decreasing numbers of
time features. Each block is a full grid, which is contracted by one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from agents.arrays import Array
from agents.gp.actions import Actions, Box, Finite, InContext, Integers, Points, chebyshev, sobol
from agents.gp.kernels.base import Kernel, Term, TimeFeatures

RESIDUAL = 1e-14
"""Relative unexplained variance at which the decomposition stops."""
TOLERANCE = 1e-12
"""Relative unexplained variance up to which features count as exact."""
MAX_RANK = {Finite: 1200, Box: 600}
"""Largest number of action features of a term, by the type of the set of actions."""


class RankError(ValueError):
    """Raised if a kernel has no finite-dimensional feature map, or has too many features."""


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
        """Return the first ``size`` features."""
        return ArmFeatures(np.ascontiguousarray(self.values[:, :size]))

    def __call__(self, points: Points) -> Array:
        """Return phi of the given arms, shape (q, m_a)."""
        return self.values[points.arm]

    def slope(self, points: Points) -> Array:
        """Raise an error, since arms have no gradient."""
        raise TypeError("arms have no gradient: use a box of actions")


@dataclass(frozen=True, eq=False)
class Nystrom:
    """Features of the points of a box: phi(x) = B^T k(Z, x).

    Attributes:
        term: Term of a kernel; k is the product of its action kernels.
        nodes: Nodes Z, shape (r, d).
        mixing: Matrix B with B B^T = variance k(Z, Z)^-1, shape (r, m_a).
        weight: Largest phi_i^2 over the box, shape (m_a,).
    """

    term: Term
    nodes: Array
    mixing: Array
    weight: Array

    def head(self, size: int) -> Nystrom:
        """Return the first ``size`` features."""
        mixing = np.ascontiguousarray(self.mixing[:, :size])
        return replace(self, mixing=mixing, weight=self.weight[:size])

    def __call__(self, points: Points) -> Array:
        """Return phi of the given points, shape (q, m_a)."""
        return self.term.over_actions(points, Points(self.nodes)) @ self.mixing

    def slope(self, points: Points) -> Array:
        """Return the derivative of phi, shape (q, d, m_a)."""
        slope = self.term.slope(points, Points(self.nodes))
        return np.asarray(slope.transpose(0, 2, 1) @ self.mixing)


Basis = ArmFeatures | Nystrom


def find_basis(term: Term, actions: Actions) -> Basis:
    """Return action features of a term: phi(a) . phi(b) is the variance times the action kernels.

    Raises:
        RankError: If too many features are needed, or if the actions have contexts.
    """
    if isinstance(actions, InContext):
        raise RankError("actions with contexts have no features: use engine='incremental'")
    points = actions.points() if isinstance(actions, Finite) else Points(_candidates(actions))
    L, pivots = _pivoted_cholesky(term, points, MAX_RANK[type(actions)])
    # A rotation to principal axes keeps L L^T and makes the last features so weak that they can be
    # dropped.
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
    """Return L (n, r) with k = L L^T, and the r pivots; L[pivots] is lower triangular."""
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
        rows[r, pivots] = 0.0  # exactly zero, so that L[pivots] is triangular
        left, pivots = np.maximum(left - rows[r] ** 2, 0.0), [*pivots, p]
        left[pivots] = 0.0
    if left.max() > TOLERANCE / RESIDUAL * stop:
        raise RankError(
            f"the action kernel needs more than {max_rank} features: use engine='incremental'"
        )
    return np.ascontiguousarray(rows[: len(pivots)].T), np.array(pivots)


def _one(points: Points, p: int) -> Points:
    return Points(points.x[p : p + 1], None if points.arm is None else points.arm[p : p + 1])


def _candidates(box: Box) -> Array:
    """Return the points of a box among which nodes are selected."""
    per_axis = {1: 256, 2: 48, 3: 16}.get(box.dimension)
    return chebyshev(box, per_axis) if per_axis else sobol(box, 4096)


def _verify(basis: Nystrom, box: Box) -> None:
    """Raise an error unless the features also explain the variance at points between candidates."""
    points = box.points(sobol(box, 1024, shift=np.pi / 10))
    own = basis.term.variance * basis.term.own(points)
    left = own - (basis(points) ** 2).sum(axis=1)
    if np.abs(left).max() > 10 * TOLERANCE * own.max():
        raise RankError(
            "the action kernel is too rough for a finite-dimensional feature map over this box: "
            "use a longer length-scale or engine='incremental'"
        )


DROP = 1e-14
"""Share of the prior variance below which a feature is dropped; in total, about 1e-13 is lost."""
LEVELS = 8
"""Largest number of blocks per term; ``_counts`` chooses the fastest number."""


@dataclass(frozen=True)
class Block:
    """Block of the state, a grid of action features times time features.

    Attributes:
        columns: Range of the action features.
        clock: Range of the time features.
        rows: Range of the entries of the state.
        log_rho: Logarithm of the decay per unit of time.
    """

    columns: slice
    clock: slice
    rows: slice
    log_rho: float

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of action and time features, (m_a, m_t)."""
        return (self.columns.stop - self.columns.start, self.clock.stop - self.clock.start)


@dataclass(frozen=True, eq=False)
class Features:
    """All features of a kernel over a set of actions.

    Attributes:
        bases: Action features, one basis per term, with M_a columns in total.
        clock: Time features of all terms, concatenated, M_t in total.
        blocks: Combinations of action features and time features that make up the state.
        whole_times: True if all t must be whole numbers.
    """

    bases: tuple[Basis, ...]
    clock: TimeFeatures
    blocks: tuple[Block, ...]
    whole_times: bool

    @property
    def size(self) -> int:
        """Length m of the state."""
        return int(self.blocks[-1].rows.stop)

    @property
    def width(self) -> int:
        """Number M_a of action features."""
        return int(self.blocks[-1].columns.stop)

    def phi(self, points: Points) -> Array:
        """Return the action features, shape (q, M_a)."""
        parts = [basis(points) for basis in self.bases]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def slope(self, points: Points) -> Array:
        """Return the derivative of phi, shape (q, d, M_a)."""
        parts = [basis.slope(points) for basis in self.bases]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)

    def psi(self, t: float) -> Array:
        """Return the time features, shape (M_t,)."""
        if self.whole_times and t != int(t):
            raise ValueError(f"times must be whole numbers if whole_times=True, got t = {t}")
        return self.clock(t)

    def psi_of_all(self, t: Array) -> Array:
        """Return the time features of several times, shape (n, M_t)."""
        if self.whole_times and (t % 1.0).any():
            raise ValueError(
                f"times must be whole numbers if whole_times=True, got t = {t[t % 1.0 != 0.0][0]}"
            )
        return self.clock(t[:, None])

    def at_other_frequencies(self, kernel: Kernel) -> Features | None:
        """Return the features of another kernel if only its frequencies differ, otherwise None."""
        clock = _joined([_clock(term, self.whole_times) for term in kernel.terms])
        same = np.array_equal(clock.amplitude, self.clock.amplitude)
        same = same and np.array_equal(clock.shift, self.clock.shift)
        return replace(self, clock=clock) if same else None


def find_features(
    kernel: Kernel,
    actions: Actions,
    *,
    whole_times: bool = False,
    bases: Sequence[Basis] | None = None,
    drop: float = DROP,
) -> Features:
    """Build the features of a kernel.

    Args:
        kernel: Sum of terms whose time kernels all have a spectrum.
        actions: Finite set or box.
        whole_times: Promise that every t is a whole number. This reduces the number of features if
            periods are short: a period tau that is a whole number needs at most tau time features.
        bases: Action features of each term, if they are known from a kernel that differs only in
            its time kernels.
        drop: Share of the prior variance below which a feature is dropped.

    Raises:
        RankError: If the kernel has no finite-dimensional feature map, or has too many features.
    """
    clocks = [_clock(term, whole_times) for term in kernel.terms]
    bases = list(bases or (find_basis(term, actions) for term in kernel.terms))
    total = sum(float(basis.weight.sum()) for basis in bases)
    counts = [_counts(b.weight / total, c, drop) for b, c in zip(bases, clocks, strict=True)]
    bases = [basis.head(len(count)) for basis, count in zip(bases, counts, strict=True)]
    blocks = tuple(_blocks(kernel.terms, counts, clocks))
    return Features(tuple(bases), _joined(clocks), blocks, whole_times)


def _joined(clocks: list[TimeFeatures]) -> TimeFeatures:
    """Return the time features of all terms, concatenated."""
    fields = "nu", "shift", "amplitude"
    return TimeFeatures(*(np.concatenate([getattr(c, f) for c in clocks]) for f in fields))


def _clock(term: Term, whole_times: bool) -> TimeFeatures:
    spectrum = term.spectrum()
    if spectrum is None:
        raise RankError(
            f"the time kernel {term.clocks} has no finite-dimensional feature map: "
            "use engine='incremental'"
        )
    return TimeFeatures.of(spectrum.folded() if whole_times else spectrum, whole_times=whole_times)


def _counts(weight: Array, clock: TimeFeatures, drop: float) -> Integers:
    """Return the number of time features for each action feature, rounded to a few values."""
    needed = (np.outer(weight, clock.amplitude**2) > drop).sum(axis=1)
    # The numbers must not increase, since each block is a contiguous range of action features.
    needed = np.maximum.accumulate(needed[::-1])[::-1]
    needed = needed[: max(1, np.count_nonzero(needed))]
    steps = [-(-int(needed.max()) // levels) for levels in range(1, LEVELS + 1)]
    rounded = [np.minimum(-(-needed // step) * step, len(clock.nu)) for step in steps]
    # Measured cost of a step in microseconds: 6 per block, and 5e-4 m^2 for a state of length m.
    return min(rounded, key=lambda count: 6.0 * len(np.unique(count)) + 5e-4 * count.sum() ** 2)


def _blocks(
    terms: Iterable[Term], counts: list[Integers], clocks: list[TimeFeatures]
) -> Iterator[Block]:
    """Yield the blocks in the order of the state."""
    column = tick = row = 0
    for term, count, clock in zip(terms, counts, clocks, strict=True):
        spectrum = term.spectrum()
        assert spectrum is not None
        for size in np.unique(count)[::-1]:
            width = int((count == size).sum())
            block = Block(
                slice(column, column + width),
                slice(tick, tick + int(size)),
                slice(row, row + width * int(size)),
                spectrum.log_rho,
            )
            yield block
            column, row = block.columns.stop, block.rows.stop
        tick += len(clock.nu)
