"""World with a season that changes in phase, length, amplitude or arms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.draws import Draws, empty_tables
from periodic_envs.fields.course import KINDS, Change, Course, change_times, course_of
from periodic_envs.fields.seasons import harmonic_power, unit_waves
from periodic_envs.process import PublicInfo
from periodic_envs.registration import register_world
from periodic_envs.worlds.gaussian import Generators, unit_normals
from periodic_envs.worlds.synthetic import Synthetic

NOTICES = ("none", "change", "full")


@register_world("PeriodicGP-Shift-v0", horizon=400, noise_std=1.0)
@dataclass(frozen=True, kw_only=True)
class Shift(Synthetic):
    """A periodic reward function whose phase, period, arms or amplitude change at unknown times.

    ## Description
    This is the world of ``PeriodicGP-SyntheticDiscrete-v0``, but it changes ``changes`` times in an
    episode. The kind of each change is drawn from the words in ``change``. With "phase", the season
    jumps by ``size`` / 2 of its length, forwards or backwards. With "period", the season becomes
    longer or shorter by a factor of 1 + ``size``, and continues from the current phase. With
    "swap", a share ``size`` of the arms exchange their rewards in pairs; the coordinates of the
    arms do not change. With "amplitude", the periodic part of the rewards becomes stronger or
    weaker by a factor of 1 + ``size``; the part that is constant in time does not change. The
    directions and the pairs are also random.

    With the same seed, worlds that differ only in ``change``, ``size``, ``changes`` or ``gap`` have
    the same noise, and the same mean rewards until the first change. Worlds with the same
    ``changes`` and ``gap`` also change at the same times.

    ## Action Space
    ``Discrete(n_actions)``, or ``Box(-1, 1, (dim,), float32)`` with ``n_actions=None``.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``, or ``(t,)`` with ``reveal_period=False``.
    This phase belongs to the season at the start, and does not follow the changes.

    With ``notify="change"``, the observation also contains ``changed``, which is 1 in the first
    observation after a change and 0 otherwise. With ``notify="full"``, it contains ``changed`` and
    the current state of the properties that the words in ``change`` affect. With "phase" or
    "period", these entries are ``cos_season`` and ``sin_season``, the cosine and sine of the
    current phase. With "period", ``period_now`` is (p - p0) / (p + p0) for the current period p and
    the period p0 at the start. With "amplitude", ``amplitude_now`` is the same expression for the
    amplitudes. With "swap", each arm i has an entry ``arm_i``: the number of the arm whose rewards
    arm i currently gives, scaled from -1 for the first arm to 1 for the last arm.

    ## Rewards
    The reward is ``f(a, t)`` plus noise.

    ## Starting State
    Each episode starts at ``t = 0`` with a new function and new changes.

    ## Episode End
    The episode is truncated after ``horizon`` steps.

    ## Arguments
    - ``change`` ("phase"): one of the words "phase", "period", "swap" and "amplitude", or a list of
      these words.
    - ``size`` (0.5): size of each change, above 0 and at most 1.
    - ``changes`` (2): number of changes.
    - ``gap`` (None): minimum number of steps before, between and after the changes; None for half
      of their mean distance ``horizon / (changes + 1)``.
    - ``notify`` ("none"): "none", "change" or "full"; see the section "Observation Space".
    - ``n_actions`` (20): number of arms, or None for a box.

    The arguments of ``PeriodicGP-Synthetic-v0`` are also accepted.

    The times of the changes depend on the length of an episode. Therefore, with another
    ``horizon``, the same seed gives changes at different times.

    ## Version History
    v0: first version.
    """

    n_actions: int | None = 20
    change: str | Sequence[str] = "phase"
    size: float = 0.5
    changes: int = 2
    gap: int | None = None
    notify: str | None = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.kinds or any(kind not in KINDS for kind in self.kinds):
            raise ValueError(
                f"change must be one of {', '.join(KINDS)}, or a non-empty list of them, got "
                f"{self.change!r}"
            )
        if "swap" in self.kinds and (self.n_actions or 0) < 2:
            raise ValueError(f"change='swap' needs n_actions of at least 2, got {self.n_actions!r}")
        checks.within("size", self.size, 0.0, 1.0)
        checks.positive("size", self.size)
        checks.whole("changes", self.changes, 0)
        if self.gap is not None:
            checks.whole("gap", self.gap, 1)
        # The command line's notation converts the word none to None.
        checks.one_of("notify", "none" if self.notify is None else self.notify, NOTICES)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of changes that ``change`` names."""
        return tuple(self.change) if isinstance(self.change, list | tuple) else (str(self.change),)

    def check_horizon(self, horizon: int) -> None:
        """Raise a ValueError if an episode is too short for the changes and their gaps."""
        needed = (self.changes + 1) * self._gap(horizon)
        if self.changes and needed > horizon:
            raise ValueError(
                f"horizon must be at least {needed} for changes={self.changes} with "
                f"gap={self._gap(horizon)}, got {horizon}"
            )

    def _gap(self, horizon: int) -> int:
        return max(1, horizon // (2 * (self.changes + 1))) if self.gap is None else self.gap

    @cached_property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        names = tuple(self._notice_names())
        return replace(super().public, context_dim=len(names), context_names=names or None)

    def _notice_names(self) -> Iterator[str]:
        if self.notify in ("change", "full"):
            yield "changed"
        if self.notify != "full":
            return
        if {"phase", "period"} & set(self.kinds):
            yield from ("cos_season", "sin_season")
        if "period" in self.kinds:
            yield "period_now"
        if "amplitude" in self.kinds:
            yield "amplitude_now"
        if "swap" in self.kinds:
            yield from (f"arm_{arm}" for arm in range(self.n_actions or 0))

    def draw_many(self, rngs: Generators, horizon: int) -> Draws:
        """Draw one reward process from each generator: the function first, then the changes."""
        self.check_horizon(horizon)
        bases = [self.draw_basis(rng) for rng in rngs]
        power = np.sqrt(harmonic_power(self.time_length_scale))
        scale = np.concatenate([power, power[1:]])[:, None]
        weights = empty_tables(len(rngs), horizon, len(bases[0].scale))
        courses: list[Course] = []
        for part, normal in unit_normals(rngs, (len(scale), weights.shape[2])):
            drawn = [self._course(rng, horizon) for rng in rngs[part]]
            cycles = np.stack([course.cycles[:-1] for course in drawn])
            waves = unit_waves(cycles, np.ones(len(drawn)), len(power) - 1)
            # The first wave is the constant, which the amplitude does not affect.
            waves[:, :, 1:] *= np.stack([course.amplitudes[:-1] for course in drawn])[:, :, None]
            np.matmul(waves, scale * normal, out=weights[part])
            courses += drawn
        notices = np.stack([self._notices(course) for course in courses])
        draws = self.draws(
            bases,
            weights,
            rows=np.arange(horizon),
            courses=courses,
            contexts=notices if notices.shape[2] else None,
        )
        return self._in_their_places(draws) if "swap" in self.kinds else draws

    def _course(self, rng: np.random.Generator, horizon: int) -> Course:
        # The changes have a separate generator, so that they do not affect the noise drawn next.
        own = np.random.default_rng(int(rng.integers(2**63)))
        time, kind, way = own.random((3, self.changes))
        orders = own.random((self.changes, self.n_actions or 0)).argsort(axis=1)
        kinds = self.kinds
        changes = [
            Change(int(t), kinds[int(k * len(kinds))], bool(w < 0.5), order)
            for t, k, w, order in zip(
                change_times(time, horizon, self._gap(horizon)), kind, way, orders, strict=True
            )
        ]
        return course_of(changes, horizon=horizon, period=self.period, size=self.size)

    def _in_their_places(self, draws: Draws) -> Draws:
        """Return the reward processes with their arms permuted at each time."""
        assert draws.courses is not None
        tables = empty_tables(*draws.tables.shape)
        for room, table, course in zip(tables, draws.tables, draws.courses, strict=True):
            arms = course.arms
            room[:] = table if arms is None else np.take_along_axis(table, arms[:-1], axis=1)
        return replace(draws, tables=tables)

    def _notices(self, course: Course) -> Array:
        """Return the observation entries that report changes, shape (horizon + 1, entries)."""
        steps = np.arange(len(course.cycles))
        angles = 2.0 * np.pi * course.cycles
        last = max((self.n_actions or 0) - 1, 1)
        arms = np.arange(last + 1) if course.arms is None else course.arms
        entries = {
            "changed": np.isin(steps, course.changes).astype(np.float64),
            "cos_season": np.cos(angles),
            "sin_season": np.sin(angles),
            "period_now": (course.periods - self.period) / (course.periods + self.period),
            "amplitude_now": (course.amplitudes - 1.0) / (course.amplitudes + 1.0),
        }
        places = np.broadcast_to(2.0 * arms / last - 1.0, (len(steps), last + 1))
        entries |= {f"arm_{arm}": places[:, arm] for arm in range(last + 1)}
        columns = [entries[name] for name in self._notice_names()]
        return np.stack(columns, axis=1) if columns else np.empty((len(steps), 0))
