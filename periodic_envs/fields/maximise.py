"""Global maxima over the action box of many functions that share one feature map."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array
from periodic_envs.fields.basis import Basis

_CHUNK = 2_000_000
"""Maximum number of grid values in memory at a time."""
_STARTS = 32
"""Number of ascents per function for each dimension beyond the first."""


def maximise(basis: Basis, weights: Array) -> tuple[Array, Array]:
    """Maximise ``phi(a) . w_i`` over the box for every row ``w_i`` of ``weights`` (n, m).

    In one dimension, the functions are evaluated on a grid that is finer than the highest
    frequency. Newton ascents start from all local maxima of the grid that may be close to the
    global maximum. In more dimensions, Newton ascents start from the best of thousands of
    quasi-random points. In two and three dimensions, tests compare the results with brute force. In
    more than three dimensions, this search cannot be exhaustive.

    Returns:
        Best actions, shape (n, d), and their values, shape (n,).
    """
    points = _search_points(basis)
    features = basis(points)
    size = max(1, _CHUNK // len(points))
    chunks = [
        _maximise_chunk(basis, weights[i : i + size], points, features)
        for i in range(0, len(weights), size)
    ]
    actions, values = zip(*chunks, strict=True)
    return np.concatenate(actions), np.concatenate(values)


def _search_points(basis: Basis) -> Array:
    if basis.dim == 1:
        # The distance between neighbouring points is half a radian at the highest frequency, so
        # that no local maximum is missed.
        return np.linspace(-1.0, 1.0, int(np.ceil(4.0 * basis.bandwidth)) + 3)[:, None]
    from scipy.stats import qmc  # slow to import, and not always needed

    sobol = qmc.Sobol(basis.dim, scramble=False).random_base2(min(9 + 2 * basis.dim, 15))
    # Points outside the box are clipped to it, since many maxima lie on faces and edges.
    return np.asarray(np.clip(1.2 * (2.0 * sobol - 1.0), -1.0, 1.0))


def _maximise_chunk(
    basis: Basis, weights: Array, points: Array, features: Array
) -> tuple[Array, Array]:
    height = weights @ features.T
    row, start = _hills(height) if basis.dim == 1 else _highest(height, _STARTS * (basis.dim - 1))
    action, value = _ascend(basis, weights[row], points[start])
    # After sorting by (row, value), the last entry of each row is its highest maximum.
    order = np.lexsort((value, row))
    last = order[np.flatnonzero(np.diff(row[order], append=len(weights)))]
    return action[last], value[last]


def _hills(height: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows and columns of the local maxima in ``height``, shape (functions, points).

    A local maximum is left out if it is further below the largest value of its row than 2 % of the
    range of the row.
    """
    padded = np.pad(height, ((0, 0), (1, 1)), constant_values=-np.inf)
    top = height.max(1, keepdims=True)
    slack = 0.02 * (top - height.min(1, keepdims=True))
    candidate = (height >= padded[:, :-2]) & (height >= padded[:, 2:]) & (height >= top - slack)
    row, column = np.nonzero(candidate)
    return row, column


def _highest(height: Array, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    # The points are sorted by index, so that ties are broken in the same way in every batch.
    column = np.sort(np.argpartition(height, -count, axis=1)[:, -count:], axis=1)
    return np.repeat(np.arange(len(height)), count), column.ravel()


def _ascend(basis: Basis, weights: Array, start: Array) -> tuple[Array, Array]:
    """Return the end points of damped Newton ascents in the box, and the values at these points.

    Ascent i starts at row i of ``start``.
    """
    action = start.copy()
    value, gradient, hessian = basis.derivatives(action, weights)
    damping = np.zeros(len(action))
    moving = np.arange(len(action))
    for _ in range(100):
        x, g, h = action[moving], gradient[moving], hessian[moving]
        proposal = np.clip(x + _newton_step(x, g, h, damping[moving]), -1.0, 1.0)
        new_value, new_gradient, new_hessian = basis.derivatives(proposal, weights[moving])
        # The error of the value is quadratic in the last step. With steps of 1e-8 it is below
        # round-off.
        moved = np.abs(proposal - x).max(1) > 1e-8
        better = new_value > value[moving]
        # Steps that do not increase the value are rejected and repeated with more damping.
        damping[moving] = np.where(better, damping[moving] / 8.0, damping[moving] * 4.0 + 1.0)
        accepted = moving[better]
        action[accepted] = proposal[better]
        value[accepted] = new_value[better]
        gradient[accepted] = new_gradient[better]
        hessian[accepted] = new_hessian[better]
        moving = moving[moved]
        if len(moving) == 0:
            break
    return action, value


def _newton_step(x: Array, gradient: Array, hessian: Array, damping: Array) -> Array:
    """Solve ``(shift I - H) step = g`` for the coordinates that are not at an active bound."""
    held = ((x >= 1.0) & (gradient > 0)) | ((x <= -1.0) & (gradient < 0))
    if x.shape[1] == 1:
        bend = np.abs(hessian[:, 0])
        return np.where(held, 0.0, gradient) / (bend + damping[:, None] + 1e-12)
    free = ~held
    size = np.abs(hessian).max((1, 2))
    gradient = np.where(free, gradient, 0.0)
    hessian = np.where(free[:, :, None] & free[:, None, :], hessian, 0.0)
    hessian -= (held * size[:, None])[:, :, None] * np.eye(x.shape[1])
    # A shift above the largest eigenvalue of H gives an ascent direction even if H is not negative
    # definite.
    curvature = np.linalg.eigvalsh(hessian)[:, -1]
    shift = np.maximum(curvature + 0.1 * size, 0.0) * (curvature > -1e-3 * size) + damping
    matrix = (shift + 1e-12)[:, None, None] * np.eye(x.shape[1]) - hessian
    return np.linalg.solve(matrix, gradient[:, :, None])[:, :, 0]
