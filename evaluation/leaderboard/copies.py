"""Who chose what: submissions are compared by their actions, not by their files.

A file can be changed without changing anything that matters: another label, another time, another
compression, a millionth of a coordinate.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.leaderboard.bundle import BundleError, Manifest
from evaluation.leaderboard.steps import Actions

ACTION_TOLERANCE = 1e-6
"""Of the coordinates of a box, where the same agent is run again; arms must be equal."""
COPY_TOLERANCE = 1e-3
"""Of the coordinates of a box, where two submissions are compared."""
NEARLY_ALL = 0.9
"""Share of equal actions from which on a verdict names the other submission.

Of the 43 agents of the edition 2026 that holds for one pair, gp-ucb and et-gp-ucb.
"""

MAX_NAMED = 3
"""Such submissions in a verdict."""


def equal_actions(one: NDArray[Any], other: NDArray[Any], tolerance: float) -> NDArray[np.bool_]:
    """Of each step of a run, whether the same was chosen."""
    gap = np.abs(one - other).reshape(len(one), -1).max(axis=1)
    return np.asarray(gap <= tolerance)


def digest_of(challenge: str, actions: Actions) -> str:
    """SHA-256 of what was chosen under a protocol, whatever file it came in."""
    digest = hashlib.sha256(challenge.encode())
    for own in actions:
        scale = ACTION_TOLERANCE if own.dtype.kind == "f" else 1
        digest.update(np.rint(own / scale).astype("<i8").tobytes())
    return digest.hexdigest()


def remark_on(
    manifest: Manifest, actions: Actions, others: Iterable[tuple[Manifest, Actions]]
) -> str:
    """What there is to say of a submission beside all others; mostly nothing.

    One's own steps under another name, by the same authors, are only named: two settings of an
    agent can come to the same.

    Raises:
        BundleError: If every action is somebody else's, or the submission is there already.
    """
    near = []
    for other, theirs in others:
        if other.id == manifest.id:
            continue
        share = _share(actions, theirs)
        whose = f"{other.label!r} by {', '.join(other.authors)} (submission {other.id[:12]})"
        if share == 1.0 and other.authors != manifest.authors:
            raise BundleError(f"its steps are those of {whose}")
        if share == 1.0 and other.label == manifest.label:
            raise BundleError(f"it is there already: its steps are those of {whose}")
        if share >= NEARLY_ALL:
            near.append((share, whose))
    nearest = sorted(near, reverse=True)[:MAX_NAMED]
    return "".join(f"; {_percent(share)} of them are those of {whose}" for share, whose in nearest)


def _share(one: Actions, other: Actions) -> float:
    """Of all steps, those in which the same was chosen."""
    pairs = zip(one, other, strict=True)
    equal = [equal_actions(mine, theirs, COPY_TOLERANCE) for mine, theirs in pairs]
    return float(np.concatenate(equal).mean())


def _percent(share: float) -> str:
    """Never rounded up to all."""
    return f"{math.floor(1e4 * share) / 1e2:g} %"
