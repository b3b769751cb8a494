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
from periodic_envs.data.errors import DataError, FilledGapsWarning
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
"""Largest absolute value of a reading, so that sums of regrets do not overflow."""


@register_world("PeriodicGP-Replay-v0", noise="none")
@dataclass(frozen=True, kw_only=True, eq=False)
class Replay(DataWorld):
    """Your own data: choose an arm at each recorded time, and receive its recorded value.

    ## Description
    The world replays a table of rewards at regularly spaced times from beginning to end. Without
    ``data``, the table is a synthetic example: four weeks of hourly ride requests at five places,
    with a weekly season.

    ## Action Space
    ``Discrete(n)``: the arm, in the order of the table. The names of the arms are public, and their
    coordinates are public if they are given.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``, or ``(t,)`` with ``reveal_period=False``.
    ``t`` is the number of steps since the beginning of the window. If several periods are given,
    the observation contains the phase of the first period, and all periods are public.

    ## Rewards
    The reward is the recorded value of the chosen arm at that time, or its negative with
    ``objective="min"``. No noise is added. The regret is relative to the best arm at each time, so
    policies without knowledge of the future have positive regret.

    ## Starting State
    Each episode starts at ``t = warm_start``. Every seed gives the same episode. The best arm of
    each earlier step and its reward are in ``info["warm_start"]`` after ``reset``.

    ## Episode End
    The episode is truncated after ``horizon`` steps, or at the end of the window if ``horizon`` is
    not given.

    ## Arguments
    - ``data`` (None): DataFrame, or path (a str) of a comma-separated .csv file or a .parquet file;
      None for the example. The table is wide (time, and a column for each arm) or long (columns
      time, arm, reward). The times must be regularly spaced, and must be numbers or ISO 8601
      strings. The function ``periodic_decisions.tables.read_series`` reads tables in other formats,
      and the command ``periodic-gp data check`` finds the seasons of a table.
    - ``period`` (168.0 for the example): length of the season in steps, or a list of lengths with
      the main season first, such as 24 or [168, 24]. This argument is required with ``data``.
    - ``objective`` ("max"): "max" for high values, "min" for low values.
    - ``start`` (None): first time of the window, as in the data; None for the first time of the
      data.
    - ``steps`` (None): length of the window, including the warm start; None for all steps.
    - ``warm_start`` (0): number of steps at the beginning of the window whose best arms are known
      to all agents.
    - ``missing`` ("interpolate"): treatment of gaps. With "interpolate", a gap is filled with a
      straight line between the values before and after it. With "hold", the last value is repeated.
      With "error", no gap is accepted. At most half of the readings of an arm may be missing.
    - ``arms`` (None): names of the arms to use; None for all arms.
    - ``arm_features`` (None): coordinates of each arm, as a path, a DataFrame or a mapping.
    - ``time_column``, ``arm_column`` and ``reward_column`` (None): names of these columns.

    The arguments common to all environments are also accepted: ``horizon``, ``noise``,
    ``noise_std``, ``noise_df``, ``reveal_period``, ``regret`` and ``render_mode``.

    ## Version History
    v0: first version.
    """

    listed_as = ("Discrete(n)", "yours", "all")
    """Actions, period and horizon in the list of environments; they depend on the table."""

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
        # The origin is read here, so that invalid data raise an error now and not at the first
        # draw. The data are read only once.
        if self.origin.notes:
            warnings.warn("; ".join(self.origin.notes), FilledGapsWarning, stacklevel=3)

    @cached_property
    def _periods(self) -> tuple[float, ...]:
        if self.period is not None:
            return _checked_periods(self.period)
        if self.data is None:
            return (EXAMPLE_PERIOD,)
        raise DataError(
            "missing-argument",
            "period, the length of the season in steps, is required if data is set: run "
            "'periodic-gp data check FILE' to find seasons",
        )

    @cached_property
    def table(self) -> RewardTable:
        """Window of the table that is replayed."""
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
                f"warm_start must be less than {len(window.values):,}, the number of steps in the "
                f"window, got {self.warm_start:,}",
            )
        return window

    @cached_property
    def _recording(self) -> Recording:
        table, public = self.table, self._public()
        filled = fill_gaps(table.values, table.names, policy=self.missing, what=table.span())
        if np.abs(filled).max() > MAX_VALUE:
            raise DataError(
                "value-too-large",
                f"absolute values must be at most {MAX_VALUE:g}, got {np.abs(filled).max():g}: "
                "rescale the data",
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
        return [
            f"{share:.2%} of the readings are missing and are filled by missing={self.missing!r}"
        ]

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
    """Return the whole table; a file is read only once for many windows."""
    # Imported here, since importing pandas is slow.
    from periodic_envs.data.table import read_rewards

    if not isinstance(source, str | os.PathLike):
        return read_rewards(source, **columns)
    try:
        facts = os.stat(source)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a valid path"
        raise DataError("file-not-found", f"cannot read {str(source)!r}: {reason}") from error
    changed = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    return _read_file(os.fspath(source), changed, tuple(columns.items()))


@lru_cache(maxsize=2)
def _read_file(
    path: str, changed: tuple[int, ...], columns: tuple[tuple[str, Any], ...]
) -> RewardTable:
    """Return the table of a file, read-only since worlds share it.

    ``changed`` identifies the version of the file, so that a changed file is read again.
    """
    from periodic_envs.data.table import read_rewards

    table = read_rewards(path, **dict(columns))
    table.values.setflags(write=False)
    return table


def _checked_periods(period: float | Sequence[float]) -> tuple[float, ...]:
    """Return the valid periods as a tuple, with the main period first."""
    if not isinstance(period, list | tuple | np.ndarray):
        return (checks.positive("period", period),)
    periods = tuple(checks.positive("each period", one) for one in period)
    if not periods or len(set(periods)) < len(periods):
        raise ValueError(
            f"period must be a number or a non-empty list of distinct numbers, got {list(period)!r}"
        )
    return periods
