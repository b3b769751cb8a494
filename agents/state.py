"""The state of agents and their parts: the attributes that change as they learn, by name."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agents.checks import require


class Stateful:
    """Something whose state can be taken and put back; its class names what changes in ``kept``.

    A class lists the names of its own attributes, those of its bases are added. Each is a number,
    None, a string, an array, another ``Stateful``, or a list, a deque or a dictionary: of numbers,
    of tuples of numbers, of arrays or of such parts. Whole columns of numbers are saved as arrays,
    so tuples and dictionaries come back as floats.
    """

    kept: ClassVar[tuple[str, ...]]

    def state(self) -> dict[str, Any]:
        """All that has changed since it was made: arrays and JSON-able values."""
        return {name: _state_of(getattr(self, name)) for name in _kept(type(self))}

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        for name in _kept(type(self)):
            setattr(self, name, self._restored(name, getattr(self, name), state[name]))
        self.rebuild()

    def rebuild(self) -> None:
        """Compute anew what follows from what is kept."""

    def new_part(self) -> Stateful | None:
        """A part for a list of them that grows and shrinks; None if no list does."""
        return None

    def _restored(self, name: str, now: Any, saved: Any) -> Any:
        """What was saved, in the place of what is there now."""
        if isinstance(now, Stateful):
            now.restore(saved)
            return now
        if isinstance(now, list) and (_are(Stateful, now) or _are(dict, saved)):
            parts = now if self.new_part() is None else [self.new_part() for _ in saved]
            for part, its in zip(parts, saved, strict=True):
                part.restore(its)
            return parts
        return _copied(name, now, saved)


def _copied(name: str, now: Any, saved: Any) -> Any:
    """What was saved, if it is of the kind of what is there now."""
    if isinstance(now, list | deque | dict):
        require(isinstance(saved, list | np.ndarray), f"{name} is a list", saved)
        rows = _rows(saved) if isinstance(saved, np.ndarray) else copy.deepcopy(saved)
        return deque(rows, now.maxlen) if isinstance(now, deque) else type(now)(rows)
    for kind, what in ((np.ndarray, "an array"), (int | float, "a number")):
        fits = saved is None or isinstance(saved, kind) or not isinstance(now, kind)
        require(fits, f"{name} is {what}", saved)
    return copy.deepcopy(saved)


def _kept(cls: type) -> dict[str, None]:
    """The names of a class and its bases, theirs first."""
    named = [vars(base)["kept"] for base in reversed(cls.__mro__) if "kept" in vars(base)]
    if not named:
        raise NotImplementedError(f"{cls.__name__} does not name what is kept: add kept = (...)")
    return dict.fromkeys(name for names in named for name in names)


def _are(kind: Any, values: Any) -> bool:
    return len(values) > 0 and all(isinstance(value, kind) for value in values)


def _rows(saved: NDArray[Any]) -> list[Any]:
    """A column as numbers, a table as tuples."""
    return saved.tolist() if saved.ndim == 1 else [tuple(row) for row in saved.tolist()]


def _state_of(value: Any) -> Any:
    if isinstance(value, Stateful):
        return value.state()
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, list | deque):
        if _are(Stateful, value):
            return [part.state() for part in value]
        if _are(tuple, value) or _are(float, value) or _are(int, value):
            return np.array(value)
        return list(value)
    return value
