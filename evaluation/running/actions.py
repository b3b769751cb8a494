"""Actions as plain numbers, whatever an agent hands out."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


def plain(action: Any) -> Any:
    """An action as a number or an array of Python's and NumPy's own types, nothing else.

    Called on the agent's stack: methods of an agent's own class must never run on the judge's.
    What is neither comes out as a text, which no world takes.
    """
    if action is None or type(action) in (bool, int, float):
        return action
    if type(action) is str:
        return action[:200]
    try:
        if isinstance(action, np.ndarray | list | tuple) and np.ndim(action):
            kind = np.asarray(action).dtype.kind
            return np.array(action, dtype=np.float64 if kind == "f" else np.int64, subok=False)
        if isinstance(action, np.floating | float):
            return float.__float__(float(action))
        return int.__index__(operator.index(action))
    except Exception:
        return _described(action)


def _described(action: Any) -> str:
    try:
        return str.__str__(repr(action))[:200]
    except Exception:
        return type(action).__name__
