"""What to do where nothing was measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

POLICIES = ("error", "hold", "interpolate")
MAX_MISSING = 0.5
"""The largest share of an arm's steps that is filled in; with more, an arm is more guess than data.
"""


def fill_gaps(values: Array, names: Sequence[str], *, policy: str, what: str) -> Array:
    """The table with its gaps filled, each column by itself.

    Args:
        values: Shape (steps, arms), NaN where nothing was measured.
        names: What the columns are called, for messages.
        policy: "interpolate" (a straight line between the neighbours in time, the nearest value at
            the ends), "hold" (the last value, at the start the first), or "error" (no gap is
            accepted).
        what: What the table is, for messages: "3 to 12 March 2018".

    Raises:
        DataError: for "error" if there is a gap, else if a column has more than
            ``MAX_MISSING`` of them.
    """
    checks.one_of("missing", policy, POLICIES)
    missing = np.isnan(values)
    limit = 0.0 if policy == "error" else MAX_MISSING
    share = missing.mean(0)
    if (share > limit).any():
        worst = [f"{names[i]} ({share[i]:.1%})" for i in np.argsort(-share) if share[i] > limit]
        shown = ", ".join(worst[:5]) + (f" and {len(worst) - 5} more" if len(worst) > 5 else "")
        raise DataError(
            f"in {what} too much is missing of: {shown}; at most {limit:.0%} may be "
            f"(missing={policy!r}). Leave those out, choose another window"
            + (", or fill the gaps with missing='interpolate'" if policy == "error" else "")
        )
    filled: Array = values.copy()
    steps = np.arange(len(values))
    for column in np.flatnonzero(missing.any(0)):
        known = np.flatnonzero(~missing[:, column])
        if policy == "hold":
            before = np.searchsorted(known, steps, side="right") - 1
            filled[:, column] = values[known[np.maximum(before, 0)], column]
        else:
            filled[:, column] = np.interp(steps, known, values[known, column])
    return filled
