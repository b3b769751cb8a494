"""The bins of a season, which references and statistics have in common.

A module of its own: what plays runs needs it, and should not depend on statistics, since runs are
played again when the code that they depend on has changed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def phase_bins(t: ArrayLike, period: float) -> NDArray[np.intp]:
    """The bin of the season that each time falls into, shape (steps,).

    A season is cut into ``round(period)`` bins of equal length, at least one. For a whole period
    that is one bin per phase; for 12.4 it is 12 bins of 12.4/12 steps.

    >>> phase_bins([0, 1, 23, 24, 25], 24).tolist()
    [0, 1, 23, 0, 1]
    """
    bins = number_of_bins(period)
    # Nudged: 62 is five seasons of 12.4 and belongs to bin 0, whatever round-off says.
    position = np.floor(np.asarray(t, dtype=np.float64) * bins / period + 1e-9)
    return position.astype(np.intp) % bins


def number_of_bins(period: float) -> int:
    """Bins of a season."""
    return max(1, round(period))
