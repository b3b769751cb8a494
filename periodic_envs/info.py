"""The ``info`` of a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from periodic_envs.process import Origin, RewardProcess


class StepReporter:
    """Writes ``info`` for the steps of one episode, and adds up the regret.

    Args:
        process: The world.
        origin: The origin of its rewards, if they come from data.
        regret: Whether to search for the best action of each step. Without, ``info`` has only
            ``t`` and ``phase``.
    """

    def __init__(self, process: RewardProcess, origin: Origin | None, *, regret: bool) -> None:
        self._process, self._origin, self._regret = process, origin, regret
        self._total = 0.0

    def report(self, t: int, mean: float) -> dict[str, Any]:
        """Return ``info`` after the decision at time ``t`` whose mean reward is ``mean``."""
        process = self._process
        info: dict[str, Any] = {"t": t, "phase": t % process.period}
        if self._regret:
            action, best = process.optimum(t)
            regret = best - mean if best > mean else 0.0  # below 0 only by round-off
            self._total = total = self._total + regret
            info["regret"] = regret
            info["cumulative_regret"] = total
            info["mean_reward"] = mean
            info["optimal_reward"] = best
            info["optimal_action"] = action
        if self._origin is not None:
            info["data_source"] = self._origin.source
        return info


class BatchReporter:
    """The same for many copies: every entry is an array, with a mask beside it."""

    def __init__(
        self, processes: Any, periods: Any, origin: Origin | None, *, copies: int, regret: bool
    ) -> None:
        self._processes, self._periods, self._origin = processes, periods, origin
        self._copies, self._regret = copies, regret
        self._total = np.zeros(copies)

    def report(self, t: int, mean: Any) -> dict[str, Any]:
        """Return ``info`` after the decisions at time ``t``."""
        info: dict[str, Any] = {
            "t": np.full(self._copies, t),
            "phase": np.full(self._copies, t % self._periods),
        }
        if self._regret:
            action, best = self._processes.optimum(t)
            regret = np.maximum(best - mean, 0.0)
            self._total = self._total + regret
            info["regret"] = regret
            info["cumulative_regret"] = self._total.copy()
            info["mean_reward"] = mean.copy()
            info["optimal_reward"] = best
            info["optimal_action"] = action
        if self._origin is not None:
            info["data_source"] = np.full(self._copies, self._origin.source, dtype=object)
        return with_masks(info, self._copies)


def with_masks(entries: dict[str, Any], copies: int) -> dict[str, Any]:
    """Return the entries, each with Gymnasium's mask of the copies that have it: all."""
    return entries | {f"_{key}": np.ones(copies, np.bool_) for key in entries}
