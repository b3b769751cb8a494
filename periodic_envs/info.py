"""What ``info`` says of a step, worked out when somebody reads it.

The best action of a continuous world is found by a search that takes longer than all else in a
step, and whoever trains on rewards alone never asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from periodic_envs.process import FiniteProcess, Origin, RewardProcess

NAMES = (
    "t",
    "phase",
    "regret",
    "cumulative_regret",
    "mean_reward",
    "optimal_reward",
    "optimal_action",
)


class Record:
    """The decisions of an episode, as far as ``info`` tells of them.

    Attributes:
        means: mean reward of each decision so far.
        names: the keys of every step's ``info``.
    """

    def __init__(self, process: RewardProcess, first_step: int, origin: Origin | None) -> None:
        self._process, self.first_step, self._origin = process, first_step, origin
        self.means: list[Any] = []
        self._totals: list[Any] = [0.0]  # before each decision, and after the last that was read
        self.names = NAMES if origin is None else (*NAMES, "data_source")
        # The best of a table is looked up in less time than it takes to put it off.
        self._at_once = isinstance(process, FiniteProcess)

    def add(self, mean: Any) -> dict[str, Any]:
        """Note the mean reward of the next decision; what ``info`` says of it."""
        step = len(self.means)
        self.means.append(mean)
        if self._at_once:
            return self.entries(step)
        return StepInfo(self, step)

    def time(self, step: int) -> Any:
        """The one entry that costs nothing."""
        return self.first_step + step

    def entries(self, step: int) -> dict[str, Any]:
        """What ``info`` says of a step."""
        t, mean = self.first_step + step, self.means[step]
        action, best = self._process.optimum(t)
        regret = self._lost(best, mean)
        entries = {
            "t": t,
            "phase": t % self._process.period,
            "regret": regret,
            "cumulative_regret": self._total(step, regret),
            "mean_reward": mean,
            "optimal_reward": best,
            "optimal_action": action,
        }
        if self._origin is not None:
            entries["data_source"] = self._origin.source
        return entries

    def _lost(self, best: Any, mean: Any) -> Any:
        lost = best - mean
        return 0.0 if lost < 0.0 else lost  # by round-off at the optimum

    def _total(self, step: int, regret: Any) -> Any:
        """Regret up to and including a step; what nobody has read before is made up for."""
        totals = self._totals
        if len(totals) == step + 1:
            total = totals[step] + regret
            totals.append(total)
            return total
        for earlier in range(len(totals) - 1, step + 1):
            best = self._process.optimum(self.first_step + earlier)[1]
            totals.append(totals[earlier] + self._lost(best, self.means[earlier]))
        return totals[step + 1]


class BatchRecord(Record):
    """The same for many copies: every entry is an array of its own, with a mask beside it."""

    def __init__(
        self, process: Any, first_step: int, origin: Origin | None, *, periods: Any, copies: int
    ) -> None:
        super().__init__(process, first_step, origin)
        self._periods, self._copies = periods, copies
        self._keys = self.names
        self.names = (*self._keys, *(f"_{name}" for name in self._keys))

    def time(self, step: int) -> Any:
        """The one entry that costs nothing."""
        return np.full(self._copies, self.first_step + step)

    def entries(self, step: int) -> dict[str, Any]:
        """What ``info`` says of a step."""
        t, mean = self.first_step + step, self.means[step]
        action, best = self._process.optimum(t)
        regret = self._lost(best, mean)
        entries = {
            "t": np.full(self._copies, t),
            "phase": np.full(self._copies, t % self._periods),
            "regret": regret,
            "cumulative_regret": self._total(step, regret).copy(),
            "mean_reward": mean.copy(),
            "optimal_reward": best,
            "optimal_action": action,
        }
        if self._origin is not None:
            entries["data_source"] = np.full(self._copies, self._origin.source, dtype=object)
        return entries | {f"_{name}": np.ones(self._copies, np.bool_) for name in self._keys}

    def _lost(self, best: Any, mean: Any) -> Any:
        return np.maximum(best - mean, 0.0)


class StepInfo(dict[str, Any]):
    """A dictionary whose entries, but for the time, are worked out when one of them is read.

    Whether a key is there can be asked without that. Copied or pickled it is a plain ``dict``.
    """

    __slots__ = ("_record", "_step")

    def __init__(self, record: Record, step: int) -> None:
        self._record: Record | None = record
        self._step = step
        # Not empty: some that are written in C, json among them, look no further then.
        self["t"] = record.time(step)

    def _settle(self) -> None:
        record, self._record = self._record, None
        if record is not None:
            entries = record.entries(self._step)
            entries.update(dict.items(self))  # what somebody has set meanwhile stays
            dict.update(self, entries)

    def __missing__(self, key: str) -> Any:
        if self._record is None:
            raise KeyError(key)
        self._settle()
        return dict.__getitem__(self, key)

    def __contains__(self, key: object) -> bool:
        pending = self._record.names if self._record is not None else ()
        return dict.__contains__(self, key) or key in pending

    def get(self, key: str, default: Any = None) -> Any:
        """The entry, or else the default."""
        return self[key] if key in self else default  # noqa: SIM401 (this is get)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def _settled(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    def call(self: StepInfo, *args: Any, **kwargs: Any) -> Any:
        self._settle()
        return method(self, *args, **kwargs)

    call.__name__, call.__doc__ = name, method.__doc__
    return call


for _name in (
    *("__delitem__", "__eq__", "__ior__", "__iter__", "__len__", "__ne__", "__or__", "__repr__"),
    *("__reversed__", "__ror__", "clear", "copy", "items", "keys", "pop", "popitem"),
    *("setdefault", "values"),
):
    setattr(StepInfo, _name, _settled(_name))
