"""Arms that hardly have a reading: often a name that was misspelt in a long table."""

from __future__ import annotations

import difflib

import numpy as np

from periodic_decisions.tables.series import Series
from periodic_envs.data.gaps import MAX_MISSING


def scarce_arms(series: Series) -> str | None:
    """What to do about arms with more gaps than a replay allows; None if there are none."""
    missing = np.isnan(series.values).mean(0)
    scarce = [
        name for name, share in zip(series.names, missing, strict=True) if share > MAX_MISSING
    ]
    others = [name for name in series.names if name not in scarce]
    if not scarce or len(others) < 2:
        return None
    parts = []
    for name in scarce[:3]:
        close = difflib.get_close_matches(name, others, n=1)
        meant = f" (is it {close[0]!r} misspelt?)" if close else ""
        parts.append(f"{missing[series.names.index(name)]:.0%} of {name!r}{meant}")
    more = f" and of {len(scarce) - 3:,} more arms" if len(scarce) > 3 else ""
    return (
        f"too much is missing: {', '.join(parts)}{more}; at most {MAX_MISSING:.0%} may be. Mend "
        f"the table, or keep the other arms alone: arms={others}"
    )
