"""What ``info`` says of a step, worked out when somebody reads it.

The best action of a continuous world is found by a search that takes longer than all else in a
step, and whoever trains on rewards alone never asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from periodic_envs.process import Origin, RewardProcess

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
        self._process, self._first_step, self._origin = process, first_step, origin
        self.means: list[Any] = []
        self._totals: list[Any] = []
        self.names = NAMES if origin is None else (*NAMES, "data_source")

    def entries(self, step: int) -> dict[str, Any]:
        """The ``info`` of a step."""
        t, mean = self._first_step + step, self.means[step]
        action, best = self._process.optimum(t)
        regret = self._lost(best, mean)
        total = self._total(step, regret)
        return self._named(t, t % self._process.period, regret, total, mean, best, action)

    def _named(self, *values: Any) -> dict[str, Any]:
        if self._origin is not None:
            values = (*values, self._origin.source)
        return dict(zip(self.names, values, strict=True))

    def _lost(self, best: Any, mean: Any) -> Any:
        return max(best - mean, 0.0)  # below zero by round-off at the optimum

    def _total(self, step: int, regret: Any) -> Any:
        """Regret up to and including a step; what nobody has read before is made up for."""
        totals = self._totals
        for earlier in range(len(totals), step):
            best = self._process.optimum(self._first_step + earlier)[1]
            totals.append(self._sum(self._lost(best, self.means[earlier])))
        if len(totals) == step:
            totals.append(self._sum(regret))
        return totals[step]

    def _sum(self, regret: Any) -> Any:
        return self._totals[-1] + regret if self._totals else 0.0 + regret


class BatchRecord(Record):
    """The same for many copies: every entry is an array of its own, with a mask beside it."""

    def __init__(
        self, process: Any, first_step: int, origin: Origin | None, *, periods: Any
    ) -> None:
        super().__init__(process, first_step, origin)
        self._periods = periods
        self._keys = self.names
        self.names = (*self._keys, *(f"_{name}" for name in self._keys))

    def entries(self, step: int) -> dict[str, Any]:
        """The ``info`` of a step."""
        t, mean = self._first_step + step, self.means[step]
        action, best = self._process.optimum(t)
        regret = self._lost(best, mean)
        total = self._total(step, regret)
        copies = len(mean)
        phase = np.full(copies, t % self._periods)
        return self._named(
            np.full(copies, t), phase, regret, total.copy(), mean.copy(), best, action
        )

    def _named(self, *values: Any) -> dict[str, Any]:
        copies = len(values[0])
        if self._origin is not None:
            values = (*values, np.full(copies, self._origin.source, dtype=object))
        masks = [np.ones(copies, np.bool_)] * len(values)
        return dict(zip(self.names, (*values, *masks), strict=True))

    def _lost(self, best: Any, mean: Any) -> Any:
        return np.maximum(best - mean, 0.0)


class StepInfo(dict[str, Any]):
    """A dictionary whose entries are worked out when the first of them is read.

    Whether a key is there can be asked without that. Copied or pickled it is a plain ``dict``.
    """

    __slots__ = ("_record", "_step")

    def __init__(self, record: Record, step: int) -> None:
        self._record: Record | None = record
        self._step = step

    def _settle(self) -> None:
        record, self._record = self._record, None
        if record is not None:
            for key, value in record.entries(self._step).items():
                dict.setdefault(self, key, value)  # what somebody has set meanwhile stays

    def __missing__(self, key: str) -> Any:
        if self._record is None:
            raise KeyError(key)
        self._settle()
        return self[key]

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
