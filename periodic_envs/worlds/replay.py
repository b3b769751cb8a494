"""Your own measurements, replayed."""

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
from periodic_envs.data.gaps import POLICIES, fill_gaps
from periodic_envs.data.recording import OBJECTIVES, Recorded, Recording, fingerprint, rewards_of
from periodic_envs.process import Origin, PublicInfo
from periodic_envs.registration import register_world

if TYPE_CHECKING:
    from periodic_decisions.tables.report import Report
    from periodic_decisions.tables.series import Series

EXAMPLE = Path(__file__).parent.parent / "data" / "example_demand.csv"
EXAMPLE_PERIOD = 168.0
MAX_VALUE = 1e100
"""Sums of regrets of larger ones would overflow."""


@register_world("PeriodicGP-Replay-v0", noise="none")
@dataclass(frozen=True, kw_only=True, eq=False)
class Replay(Recorded):
    """Your own data: at each recorded time choose an arm, and get what was measured there.

    ## Description
    A table of rewards at regular times is replayed from beginning to end. Without ``data`` it is
    an invented example: four weeks of hourly ride requests at five places, with a weekly season.
    Look at your own file with ``periodic-gp data check FILE`` first.

    ## Action Space
    ``Discrete(n)``: the arm, in the order of the file. Names are public, and coordinates if given.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``; only ``(t,)`` with ``reveal_period=False``.
    ``t`` counts the steps since the beginning of the window. Of several periods the phase is that
    of the first; all of them are public.

    ## Rewards
    The recorded value of the chosen arm at that time (with ``objective="min"`` its negative), with
    no noise added. Regret is to the arm that was best at that very time, so that no policy that
    does not know the future comes near zero.

    ## Starting State
    ``t = warm_start``. Every seed gives the same episode. The best arm and its reward of each
    earlier step are in ``info["warm_start"]``.

    ## Episode End
    Truncated after ``horizon`` steps, without it at the end of the window.

    ## Arguments
    ``data`` (a path to .csv, .tsv, .txt or .parquet as a str, or a DataFrame; None for the
    example): long (time, arm, reward) or wide (time and a column per arm), times regular.
    ``period`` (the length of the season in steps, or of several, the main one first: 24, or
    [168, 24]; None to find them in the window, as ``periodic-gp data check`` does, and to say so:
    then agents know of seasons what only the data to come tell).
    ``objective`` ("max", or "min").
    ``start`` (the first time of the window, as in the data; None for the first there is) and
    ``steps`` (length of the window, the warm start included; None for all).
    ``warm_start`` (0: steps at the beginning of the window of which everybody knows the best).
    ``missing`` ("interpolate", "hold" or "error": what becomes of gaps; at most half of an arm's
    readings may be missing).
    ``arms`` (names of the arms to use; None for all), ``arm_features`` (a path, a DataFrame or a
    mapping: coordinates of each arm), ``time_column``, ``arm_column``, ``reward_column``,
    ``duplicates``, ``time_format``, ``separator``, ``decimal``, ``encoding``, ``na_values``,
    ``timezone`` (for tables that can be read in more than one way; see
    ``periodic_decisions.tables.series.read_series``), and those of every environment
    (``horizon``, ``noise``, ``noise_std``, ``reveal_period``, ``render_mode``).

    ## Version History
    v0: first version.
    """

    listed_as = ("Discrete(n)", "yours", "all")
    """Actions, period and horizon in a list of environments: they are the table's."""

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
    duplicates: str = "error"
    time_format: str | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na_values: str | float | Sequence[str | float] | None = None
    timezone: str | None = None

    def __post_init__(self) -> None:
        checks.one_of("objective", self.objective, OBJECTIVES)
        checks.one_of("missing", self.missing, POLICIES)
        checks.whole("warm_start", self.warm_start, 0)
        if self.period is not None:
            _checked_periods(self.period)
        if self.arms is not None and not isinstance(self.arms, str | list | tuple):
            raise DataError(f"arms must be a list of names, got {self.arms!r}")
        # Bad data are refused now, and read only once.
        if self.origin.notes:
            warnings.warn("; ".join(self.origin.notes), stacklevel=3)

    @cached_property
    def _periods(self) -> tuple[float, ...]:
        """The periods that were given, or those that are found."""
        if self.period is not None:
            return _checked_periods(self.period)
        if self.data is None:
            return (EXAMPLE_PERIOD,)
        found = _find_periods(self.series, self.objective)
        if not found:
            file = os.fspath(self.data) if isinstance(self.data, str | os.PathLike) else "FILE"
            raise DataError(
                "no season was found in the data, so that period must be given, its length in "
                f"steps: 'periodic-gp data check {file}' says more"
            )
        return found

    @cached_property
    def series(self) -> Series:
        """The window of the data, as recorded."""
        # Here, so that importing the worlds does not take the time of importing pandas.
        from periodic_decisions.tables.series import cut

        whole = _read(
            EXAMPLE if self.data is None else self.data,
            time_column=self.time_column,
            arm_column=self.arm_column,
            reward_column=self.reward_column,
            arms=tuple(self.arms) if isinstance(self.arms, list) else self.arms,
            duplicates=self.duplicates,
            time_format=self.time_format,
            separator=self.separator,
            decimal=self.decimal,
            encoding=self.encoding,
            na_values=self.na_values,
            timezone=self.timezone,
        )
        window = cut(whole, start=self.start, steps=self.steps)
        if self.warm_start >= len(window.values):
            raise DataError(
                f"warm_start must leave a step to decide: it is {self.warm_start:,}, but the window"
                f" has {len(window.values):,} steps"
            )
        return window

    @property
    def report(self) -> Report:
        """What the columns were taken for, the gaps and the duplicates of the window."""
        return self.series.report

    @cached_property
    def _recording(self) -> Recording:
        series = self.series
        filled = fill_gaps(series.values, series.names, policy=self.missing, what=series.span())
        if np.abs(filled).max() > MAX_VALUE:
            raise DataError(f"values must be below {MAX_VALUE:g}: rescale the data")
        rewards = rewards_of(filled, self.objective)
        path = isinstance(self.data, str | os.PathLike)
        public = self._public()
        places = [] if public.action_features is None else public.action_features.tolist()
        origin = Origin(
            source="example" if self.data is None else "file" if path else "dataframe",
            # The coordinates may come from a file, too: they are part of the data.
            fingerprint=fingerprint(rewards, [*series.names, *places]),
            steps=len(rewards) - self.warm_start,
            replay=True,
            notes=tuple(self._troubles()),
        )
        return Recording(rewards, public, origin)

    def _troubles(self) -> list[str]:
        troubles = self.report.troubles()
        if self.report.missing:
            troubles.append(f"gaps are filled by missing={self.missing!r}")
        if self.data is not None and self.period is None:
            steps = " and ".join(f"{period:,.6g}" for period in self._periods)
            word = "season was" if len(self._periods) == 1 else "seasons were"
            troubles.append(f"the {word} found in the data: {steps} steps")
        return troubles

    def _public(self) -> PublicInfo:
        names, features = self.series.names, None
        if self.arm_features is not None:
            from periodic_decisions.tables.features import read_features

            features = read_features(self.arm_features, names)
        return PublicInfo(
            n_actions=len(names),
            dim=1 if features is None else features.shape[1],
            periods=self._periods,
            action_features=features,
            action_names=names,
            first_step=self.warm_start,
        )


def _read(source: Any, **reading: Any) -> Series:
    """The whole table; a file of which many windows are made is read once."""
    from periodic_decisions.tables.series import read_series

    try:
        path, about = os.fspath(source), os.stat(source)
        hash(tuple(reading.values()))
    except (TypeError, ValueError, OSError):  # no file, or nothing that can be remembered
        return read_series(source, **reading)
    changed = (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    return _read_file(path, changed, tuple(reading.items()))


@lru_cache(maxsize=2)
def _read_file(path: str, changed: tuple[int, ...], reading: tuple[tuple[str, Any], ...]) -> Series:
    """A file as it is since it was changed last. Whoever has it shares it: it is read-only."""
    from periodic_decisions.tables.series import read_series

    series = read_series(path, **dict(reading))
    series.values.setflags(write=False)
    return series


_found: dict[str, tuple[float, ...]] = {}
"""Periods that were found, by what they were found in: a sweep makes the same world many times."""


def _find_periods(series: Series, objective: str) -> tuple[float, ...]:
    """The seasons of the data, what gains most first."""
    from periodic_decisions.seasons.season import find_seasons

    key = fingerprint(series.values, [series.clock.at(0), series.clock.step_text(), objective])
    if key not in _found:
        seasons = find_seasons(series.values, clock=series.clock, objective=objective)
        _found[key] = tuple(season.period for season in seasons.found)
    return _found[key]


def _checked_periods(period: float | Sequence[float]) -> tuple[float, ...]:
    """One or several periods, the main one first."""
    if not isinstance(period, list | tuple | np.ndarray):
        return (checks.positive("period", period),)
    periods = tuple(checks.positive("each period", one) for one in period)
    if not periods or len(set(periods)) < len(periods):
        raise ValueError(f"period must be a number or different numbers, got {list(period)!r}")
    return periods
