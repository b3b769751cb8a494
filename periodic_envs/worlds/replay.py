"""Replay of a table of measurements."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from periodic_envs import checks
from periodic_envs.data.errors import DataError
from periodic_envs.data.recording import (
    OBJECTIVES,
    POLICIES,
    DataWorld,
    Recording,
    fill_gaps,
    fingerprint,
    rewards_of,
)
from periodic_envs.process import Origin, PublicInfo
from periodic_envs.registration import register_world

if TYPE_CHECKING:
    from periodic_envs.data.table import RewardTable

EXAMPLE = Path(__file__).parent.parent / "data" / "example_demand.csv"
EXAMPLE_PERIOD = 168.0
MAX_VALUE = 1e100
"""Largest magnitude of values, so that sums of regrets do not overflow."""


@register_world("PeriodicGP-Replay-v0", noise="none")
@dataclass(frozen=True, kw_only=True, eq=False)
class Replay(DataWorld):
    """Your own data: at each recorded time choose an arm, and get what was measured there.

    ## Description
    A table of rewards at regular times is replayed from beginning to end. Without ``data`` it is
    a synthetic example: four weeks of hourly ride requests at five places, with a weekly season.

    ## Action Space
    ``Discrete(n)``: the arm, in the order of the file. Names are public, and coordinates if given.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``; only ``(t,)`` with ``reveal_period=False``.
    ``t`` counts the steps since the beginning of the window. Of several periods the phase is that
    of the first; all of them are public.

    ## Rewards
    The recorded value of the chosen arm at that time (with ``objective="min"`` its negative), with
    no noise added. Regret is relative to the best arm at each time, so that policies without
    knowledge of the future have positive regret.

    ## Starting State
    ``t = warm_start``. Every seed gives the same episode. The best arm and its reward of each
    earlier step are in ``info["warm_start"]``.

    ## Episode End
    Truncated after ``horizon`` steps, without it at the end of the window.

    ## Arguments
    ``data`` (a DataFrame, or a path to a comma-separated .csv or a .parquet file as a str; None
    for the example): wide (time and a column for each arm) or long (columns time, arm, reward),
    times regular and in ISO 8601 or numbers. ``periodic_decisions.tables.read_series`` reads tables
    in other formats, and ``periodic-gp data check`` finds their seasons. ``period`` (the length of
    the season in steps, or of several, the main one first: 24, or [168, 24]; needed with ``data``).
    ``objective`` ("max", or "min"). ``start`` (the first time of the window, as in the data; None
    for the first there is) and ``steps`` (length of the window, the warm start included; None for
    all). ``warm_start`` (0: steps at the beginning of the window whose best arms are known to all
    agents). ``missing`` ("interpolate", "hold" or "error": how gaps are filled; at most half of an
    arm's readings may be missing). ``arms`` (names of the arms to use; None for all),
    ``arm_features`` (a path, a DataFrame or a mapping: coordinates of each arm), ``time_column``,
    ``arm_column``, ``reward_column``, and those of every environment (``horizon``, ``noise``,
    ``noise_std``, ``reveal_period``, ``render_mode``).

    ## Version History
    v0: first version.
    """

    listed_as = ("Discrete(n)", "yours", "all")
    """Actions, period and horizon in a list of environments, which depend on the table."""

    data: Any = None
    period: float | Sequence[float] | None = None
    objective: str = "max"
    start: Any = None
    steps: int | None = None
    warm_start: int = 0
    missing: str = "interpolate"
    arms: Sequence[str] | None = None
    arm_features: Any = None
    time_column: str | None = None
    arm_column: str | None = None
    reward_column: str | None = None

    def __post_init__(self) -> None:
        checks.one_of("objective", self.objective, OBJECTIVES)
        checks.one_of("missing", self.missing, POLICIES)
        checks.whole("warm_start", self.warm_start, 0)
        if self.arms is not None and not isinstance(self.arms, list | tuple):
            raise DataError("invalid-arms", f"arms must be a list of names, got {self.arms!r}")
        # Invalid data raise errors now; data are read once.
        if self.origin.notes:
            warnings.warn("; ".join(self.origin.notes), stacklevel=3)

    @cached_property
    def _periods(self) -> tuple[float, ...]:
        if self.period is not None:
            return _checked_periods(self.period)
        if self.data is None:
            return (EXAMPLE_PERIOD,)
        raise DataError(
            "missing-argument",
            "period, the length of the season in steps, must be given with data: "
            "'periodic-gp data check FILE' finds seasons",
        )

    @cached_property
    def table(self) -> RewardTable:
        """Window of the data."""
        whole = _read(
            EXAMPLE if self.data is None else self.data,
            time_column=self.time_column,
            arm_column=self.arm_column,
            reward_column=self.reward_column,
            arms=None if self.arms is None else tuple(self.arms),
        )
        window = whole.window(self.start, self.steps)
        if self.warm_start >= len(window.values):
            raise DataError(
                "too-few-steps",
                f"warm_start must leave a step to decide: it is {self.warm_start:,}, but the window"
                f" has {len(window.values):,} steps",
            )
        return window

    @cached_property
    def _recording(self) -> Recording:
        table, public = self.table, self._public()
        filled = fill_gaps(table.values, table.names, policy=self.missing, what=table.span())
        if np.abs(filled).max() > MAX_VALUE:
            raise DataError(
                "value-too-large", f"values must be below {MAX_VALUE:g}: rescale the data"
            )
        rewards = rewards_of(filled, self.objective)
        path = isinstance(self.data, str | os.PathLike)
        places = [] if public.action_features is None else public.action_features.tolist()
        origin = Origin(
            source="example" if self.data is None else "file" if path else "dataframe",
            # Coordinates are part of the data, since they may come from a file.
            fingerprint=fingerprint(rewards, [*table.names, *places]),
            steps=len(rewards) - self.warm_start,
            replay=True,
            notes=tuple(self._notes()),
        )
        return Recording(rewards, public, origin)

    def _notes(self) -> list[str]:
        share = float(np.isnan(self.table.values).mean())
        if not share:
            return []
        return [f"{share:.2%} of the readings are missing and filled by missing={self.missing!r}"]

    def _public(self) -> PublicInfo:
        from periodic_envs.data.table import read_features

        names, features = self.table.names, None
        if self.arm_features is not None:
            features = read_features(self.arm_features, names)
        return PublicInfo(
            n_actions=len(names),
            dim=1 if features is None else features.shape[1],
            periods=self._periods,
            action_features=features,
            action_names=names,
            first_step=self.warm_start,
        )


def _read(source: Any, **columns: Any) -> RewardTable:
    """Return the whole table; files are read once for many windows."""
    # Imported here, since importing pandas is slow.
    from periodic_envs.data.table import read_rewards

    if not isinstance(source, str | os.PathLike):
        return read_rewards(source, **columns)
    try:
        facts = os.stat(source)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a path"
        raise DataError("file-not-found", f"cannot read {str(source)!r}: {reason}") from error
    changed = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    return _read_file(os.fspath(source), changed, tuple(columns.items()))


@lru_cache(maxsize=2)
def _read_file(
    path: str, changed: tuple[int, ...], columns: tuple[tuple[str, Any], ...]
) -> RewardTable:
    """Return the table of an unchanged file, read-only since worlds share it."""
    from periodic_envs.data.table import read_rewards

    table = read_rewards(path, **dict(columns))
    table.values.setflags(write=False)
    return table


def _checked_periods(period: float | Sequence[float]) -> tuple[float, ...]:
    """Return one or several periods, the main one first."""
    if not isinstance(period, list | tuple | np.ndarray):
        return (checks.positive("period", period),)
    periods = tuple(checks.positive("each period", one) for one in period)
    if not periods or len(set(periods)) < len(periods):
        raise ValueError(f"period must be a number or different numbers, got {list(period)!r}")
    return periods
