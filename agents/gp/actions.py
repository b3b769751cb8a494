"""Sets of actions, actions as points, and designs of points in a box."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents.arrays import Array

Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Points:
    """Actions in the form that kernels accept.

    Attributes:
        x: Coordinates, shape (n, d).
        arm: Arm numbers, shape (n,); None for actions of a box.
        context: Context of each action, shape (n, c), or None.
    """

    x: Array
    arm: Integers | None = None
    context: Array | None = None


@dataclass(frozen=True, eq=False)
class Finite:
    """Finite set of actions; an action is the number of a row of ``x``.

    Attributes:
        x: Coordinates of the arms, shape (n, d). For arms without coordinates, use
            ``Finite.arms(n)``.
    """

    x: Array
    _all: Points = field(init=False, repr=False)
    _numbers: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        x = np.array(self.x, dtype=np.float64)
        if x.ndim != 2 or not len(x) or not np.isfinite(x).all():
            raise ValueError(
                f"coordinates must be finite, of shape (n, d) with n > 0, got shape {x.shape}"
            )
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "_numbers", np.arange(len(x)))
        object.__setattr__(self, "_all", Points(x, self._numbers))

    @classmethod
    def arms(cls, n: int) -> Finite:
        """Return a set of ``n`` arms whose only coordinate is the number of the arm."""
        return cls(np.arange(n, dtype=np.float64)[:, None])

    def __len__(self) -> int:
        return len(self.x)

    def points(self, actions: Any = None) -> Points:
        """Return the given arms (all of them by default) with their coordinates."""
        if actions is None:
            return self._all
        if type(actions) is int and 0 <= actions < len(self.x):  # fast path for a single arm
            return Points(self.x[actions : actions + 1], self._numbers[actions : actions + 1])
        arm = np.atleast_1d(np.asarray(actions)).astype(np.int64)
        if arm.size and not 0 <= arm.min() <= arm.max() < len(self.x):
            raise IndexError(f"an arm must be from 0 to {len(self.x) - 1}, got {actions}")
        return Points(self.x[arm], arm)

    def buffer(self, capacity: int) -> NDArray[Any]:
        """Return a buffer for ``capacity`` actions."""
        return np.zeros(capacity, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Box:
    """Box of actions; an action is a point x with ``low <= x <= high``, shape (d,)."""

    low: Array
    high: Array

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        low, high = np.broadcast_arrays(np.atleast_1d(low), np.atleast_1d(high))
        if low.ndim != 1 or not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
            raise ValueError(f"a box needs finite bounds low < high, got {low} and {high}")
        object.__setattr__(self, "low", np.array(low, dtype=np.float64))
        object.__setattr__(self, "high", np.array(high, dtype=np.float64))

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return len(self.low)

    def points(self, actions: Any) -> Points:
        """Return actions of shape (q, d), or one action of shape (d,), as points."""
        x = np.asarray(actions, dtype=np.float64)
        return Points(x if x.ndim == 2 else x.reshape(-1, self.dimension))

    def buffer(self, capacity: int) -> NDArray[Any]:
        """Return a buffer for ``capacity`` actions."""
        return np.zeros((capacity, self.dimension))


@dataclass(frozen=True, eq=False)
class InContext:
    """Actions in contexts. A row has an arm number or box coordinates, followed by a context.

    Attributes:
        actions: Set of the actions without contexts.
        dimension: Number of entries of a context.
    """

    actions: Finite | Box
    dimension: int

    def joined(self, actions: Any, context: Array) -> Array:
        """Return one row for each of the given actions (all arms if None), all with one context."""
        if actions is None:
            actions = np.arange(len(self.actions)) if isinstance(self.actions, Finite) else ()
        alone = np.asarray(actions, dtype=np.float64).reshape(-1, self._width)
        rows = np.empty((len(alone), self._width + self.dimension))
        rows[:, : self._width], rows[:, self._width :] = alone, context
        return rows

    def points(self, actions: Any) -> Points:
        """Return several rows, or a single row, as points with contexts."""
        rows = np.asarray(actions, dtype=np.float64).reshape(-1, self._width + self.dimension)
        first, context = rows[:, : self._width], rows[:, self._width :]
        chosen = first[:, 0].astype(np.int64) if isinstance(self.actions, Finite) else first
        points = self.actions.points(chosen)
        return Points(points.x, points.arm, context)

    def buffer(self, capacity: int) -> NDArray[Any]:
        """Return a buffer for ``capacity`` rows."""
        return np.zeros((capacity, self._width + self.dimension))

    @property
    def _width(self) -> int:
        return 1 if isinstance(self.actions, Finite) else self.actions.dimension


Actions: TypeAlias = Finite | Box | InContext


def grid(box: Box, n: int) -> Array:
    """Return ``n`` equidistant points of a one-dimensional box, ends included, shape (n, 1)."""
    return np.linspace(box.low, box.high, n)


def sobol(box: Box, n: int, shift: ArrayLike = 0.0) -> Array:
    """Return the first ``n`` Sobol points of a box, shape (n, d).

    ``n`` is rounded down to a power of two. In the unit cube, ``shift`` is added to the points
    modulo 1.
    """
    from scipy.stats import qmc  # slow to import, and not always needed

    unit = (qmc.Sobol(box.dimension, scramble=False).random_base2(int(np.log2(n))) + shift) % 1.0
    return np.asarray(box.low + unit * (box.high - box.low))


def corners(box: Box) -> Array:
    """Return the 2^d corners of a box, shape (2^d, d)."""
    return np.array(list(itertools.product(*zip(box.low, box.high, strict=True))))


def chebyshev(box: Box, per_axis: int) -> Array:
    """Return a grid that includes the sides of a box and is denser near them.

    Its shape is (per_axis^d, d).
    """
    axis = 0.5 - 0.5 * np.cos(np.pi * np.arange(per_axis) / (per_axis - 1))
    axes = np.meshgrid(*[axis] * box.dimension)
    unit = np.stack(axes, axis=-1).reshape(-1, box.dimension)
    return np.asarray(box.low + unit * (box.high - box.low))
