"""Gain from knowing the phase, and schedules: the arm of each slot of a season."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from periodic_decisions.seasons.slots import Slots, by_slot, slot_choices
from periodic_decisions.tables.cells import count
from periodic_envs.arrays import Array

MIN_SEASONS_FOR_INTERVAL = 3
MAX_LINES = 40  # maximum number of printed lines of a schedule
MIN_SHARE = 0.01  # minimum share of the possible gain for which a schedule follows a season
COLUMNS = (
    "phase",
    "when",
    "arm",
    "expected_reward",
    "gain_over_best_fixed_arm",
    "low",
    "high",
    "seasons_seen",
)


@dataclass(frozen=True, eq=False)
class PhaseGain:
    """Mean rewards per step of policies with increasing knowledge.

    Attributes:
        random: Mean reward of arms chosen at random.
        static: Mean reward of the best fixed arm, in hindsight.
        per_phase: Mean reward of the arm that was best at the same phase in the other seasons.
        hindsight: Mean reward of the arm that was best at the same phase in all seasons; an
            optimistic estimate for future seasons.
        oracle: Mean reward of the best arm at every step.
        seasons: Number of seasons; the last one may be incomplete.
        profile: Mean reward of each arm by phase, shape (phases, arms).
    """

    random: float
    static: float
    per_phase: float
    hindsight: float
    oracle: float
    seasons: int
    profile: Array

    @property
    def share(self) -> float:
        """Gain from knowing the phase, as a share of the oracle's gain, at least 0."""
        return max(0.0, self.signed_share)

    @property
    def signed_share(self) -> float:
        """Same as ``share``, but negative if choosing by phase lowers the reward."""
        room = self.oracle - self.static
        return (self.per_phase - self.static) / room if room > 0 else 0.0


def measure_gain(rewards: Array, period: float, slots: Slots | None = None) -> PhaseGain | None:
    """Return the mean rewards of policies with and without knowledge of the phase.

    The result is None if the data do not reach a second season. The best arm of a phase is chosen
    by cross-validation over seasons: with many phases, an estimate in hindsight would be far too
    optimistic.

    Args:
        rewards: Rewards without gaps, shape (steps, arms).
        period: Length of the season in steps.
        slots: Phases of the season; None to use its steps as phases.
    """
    if period > len(rewards) - 1:
        return None
    if slots is None:
        (slots,) = slot_choices(None, len(rewards), period)
    season, phase = slots.season, slots.slot
    steps = np.arange(len(rewards))
    sums, counts = by_slot(rewards, season, phase, len(slots))
    best_by_phase = best_in_others(sums, counts)
    profile = sums.sum(0) / np.maximum(counts.sum(0), 1.0)
    return PhaseGain(
        random=float(rewards.mean()),
        static=float(rewards.mean(0).max()),
        per_phase=float(rewards[steps, best_by_phase[season, phase]].mean()),
        hindsight=float(rewards[steps, profile.argmax(1)[phase]].mean()),
        oracle=float(rewards.max(1).mean()),
        seasons=int(season.max()) + 1,
        profile=profile,
    )


def best_in_others(sums: Array, counts: Array) -> NDArray[np.intp]:
    """Return the arm that was best at the same slot in all other seasons, shape (seasons, slots).

    For a slot without data in other seasons, the best fixed arm of the other seasons is returned.

    Args:
        sums: Sums of the rewards, shape (seasons, slots, arms).
        counts: Numbers of rewards, of the same shape.
    """
    all_sums, all_counts = sums.sum(0), counts.sum(0)
    known_elsewhere = (all_counts - counts)[..., 0] > 0
    best_elsewhere = (all_sums.sum(0) - sums.sum(1)).argmax(1)
    best_by_phase = ((all_sums - sums) / np.maximum(all_counts - counts, 1.0)).argmax(2)
    return np.asarray(np.where(known_elsewhere, best_by_phase, best_elsewhere[:, None]))


def best_slots(
    rewards: Array, period: float, choices: Sequence[Slots]
) -> tuple[Slots, PhaseGain | None]:
    """Return the division into slots that has the largest gain in held-out seasons, and this gain.

    The gain is None if the data do not extend into a second season.
    """
    measured = [(slots, measure_gain(rewards, period, slots)) for slots in choices]
    return max(measured, key=lambda pair: 0.0 if pair[1] is None else pair[1].signed_share)


@dataclass(frozen=True)
class SeasonalMean:
    """Mean over seasons, with its 95 % interval if there are enough seasons."""

    mean: float
    low: float | None = None
    high: float | None = None
    seasons: int = 0

    @classmethod
    def of(cls, by_season: Array) -> SeasonalMean:
        """Return the mean over seasons of an array with one value per season (NaN if missing)."""
        seen = by_season[~np.isnan(by_season)]
        n, mean = len(seen), float(seen.mean()) if len(seen) else 0.0
        if n < MIN_SEASONS_FOR_INTERVAL:
            return cls(mean, seasons=n)
        half = float(stdtrit(n - 1, 0.975) * seen.std(ddof=1) / np.sqrt(n))
        return cls(mean, mean - half, mean + half, n)

    def text(self) -> str:
        """Return the mean and its interval as text: "+3.4 [2.1, 4.6]"."""
        mean = f"{'+' if self.mean > 0 else ''}{_number(self.mean)}"
        if self.low is None or self.high is None:
            return mean
        return f"{mean} [{_number(self.low)}, {_number(self.high)}]"


@dataclass(frozen=True, eq=False)
class Schedule:
    """Arm of each slot of a season.

    Attributes:
        slots: Slots of the season; None without a season.
        names: Names of the arms.
        fixed: Best fixed arm.
        arms: Arm of each slot; the fixed arm unless another arm is better in held-out seasons.
        rewards: Mean reward (negative cost) in each season and slot, shape (seasons, slots); NaN
            if the slot has no reading. The arms for a season are chosen with data of the other
            seasons.
        gains: Difference between ``rewards`` and the rewards of the fixed arm, of the same shape.
        weights: Number of readings in each season and slot, of the same shape.
        sign: Factor that converts rewards to values of the table: -1 for costs.
    """

    slots: Slots | None
    names: tuple[str, ...]
    fixed: int
    arms: NDArray[np.intp]
    rewards: Array
    gains: Array
    weights: Array
    sign: float

    @property
    def always(self) -> bool:
        """Return whether one arm is chosen in all slots."""
        return bool((self.arms == self.fixed).all())

    def over(self, slots: Sequence[int]) -> tuple[float, SeasonalMean]:
        """Return the expected value in the given slots, and the gain over the fixed arm."""
        index = np.asarray(slots)
        weights = self.weights[:, index]
        total = weights.sum(1)
        seen = total > 0
        sums = [np.nansum(t[:, index] * weights, axis=1) for t in (self.rewards, self.gains)]
        value, gain = (np.where(seen, s / np.maximum(total, 1.0), np.nan) for s in sums)
        mean = self.sign * float(np.nanmean(value)) if seen.any() else float("nan")
        return mean, SeasonalMean.of(gain)

    def lines(self) -> list[str]:
        """Return lines that describe the schedule; adjacent slots with one arm share a line."""
        name = self.names[self.fixed]
        if self.slots is None or self.always:
            return [f"Schedule: always {name}, the best arm over all the data."]
        head = ("when", "arm", "cost" if self.sign < 0 else "reward", "gain")
        rows = [head, *(self._row(when, slots) for when, slots in self._runs())]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        text = [
            f"  {when:<{widths[0]}}  {arm:<{widths[1]}}  {value:>{widths[2]}}  {gain}".rstrip()
            for when, arm, value, gain in rows
        ]
        left = len(text) - 1 - MAX_LINES
        if left > 1:
            text = [*text[: MAX_LINES + 1], f"  ... and {left:,} more lines; --schedule writes all"]
        title = (
            f"Schedule by {self.slots.what}, with means per step and gains over always choosing "
            f"{name}:"
        )
        return [title, *text, self._precision()]

    def _row(self, when: str, slots: list[int]) -> tuple[str, str, str, str]:
        arm = int(self.arms[slots[0]])
        value, gain = self.over(slots)
        return when, self.names[arm], _number(value), "" if arm == self.fixed else gain.text()

    def _precision(self) -> str:
        seen = int((self.weights.sum(1) > 0).sum())
        if seen < MIN_SEASONS_FOR_INTERVAL:
            return (
                f"(The data have {count(seen, 'season')}; intervals need at least "
                f"{MIN_SEASONS_FOR_INTERVAL}.)"
            )
        return (
            f"(Numbers in brackets are 95 % intervals over {seen:,} seasons. Arms are evaluated in "
            "seasons that were not used to choose them.)"
        )

    def _runs(self) -> list[tuple[str, list[int]]]:
        """Return the name and the slots of each line of the schedule.

        Adjacent slots of a group are merged if they have the same arm. If several groups have the
        same merged slots with the same arm, their lines are merged, too.
        """
        assert self.slots is not None
        slots = self.slots
        groups = [list(run) for _, run in groupby(range(len(slots)), lambda i: slots.groups[i])]
        runs: dict[tuple[int, int, int], list[int]] = {}
        for number, group in enumerate(groups):
            for arm, run in groupby(enumerate(group), lambda pair: int(self.arms[pair[1]])):
                places = [place for place, _ in run]
                runs.setdefault((places[0], places[-1], arm), []).append(number)
        merged = []
        for (first, last, _), among in runs.items():
            name = _ranges([slots.groups[groups[number][0]] for number in among], among)
            everything = last - first + 1 == len(groups[among[0]]) and bool(name)
            span = slots.span(groups[among[0]][first], groups[among[0]][last], name)
            together = [slot for number in among for slot in groups[number][first : last + 1]]
            merged.append((name if everything else span, together))
        return merged

    def csv(self) -> str:
        """Return the schedule as a CSV table with one line per slot."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for slot in range(len(self.arms)):
            value, gain = self.over([slot])
            fixed = self.arms[slot] == self.fixed
            bounds = (None, None) if fixed else (gain.low, gain.high)
            numbers = [value, 0.0 if fixed else gain.mean, *bounds]
            when = "always" if self.slots is None else self.slots.label(slot)
            texts = ["" if n is None or np.isnan(n) else f"{n:.6g}" for n in numbers]
            writer.writerow([slot, when, self.names[self.arms[slot]], *texts, gain.seasons])
        return file.getvalue()


def _ranges(names: list[str], numbers: list[int]) -> str:
    """Return names as text, with three or more consecutive names joined: "Mon-Wed, Fri".

    ``numbers`` contains the position of each name in the calendar.
    """
    runs = groupby(zip(names, numbers, strict=True), lambda pair: pair[1] - numbers.index(pair[1]))
    parts = [[name for name, _ in run] for _, run in runs]
    return ", ".join(f"{p[0]}-{p[-1]}" if len(p) > 2 else ", ".join(p) for p in parts)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def plan(
    rewards: Array, slots: Slots | None, names: Sequence[str], *, sign: float = 1.0
) -> Schedule:
    """Choose the arm of each slot and evaluate it in held-out seasons.

    Pooled slots, such as nine o'clock on all working days, share an arm unless a separate arm for a
    single slot is significantly better. An arm other than the best fixed arm is chosen only if its
    reward is higher. Both comparisons use held-out seasons.

    Args:
        rewards: Rewards without gaps, shape (steps, arms).
        slots: Slots of the season; None to choose the best fixed arm.
        names: Names of the arms.
        sign: -1 if the rewards are the negatives of costs.
    """
    fixed = int(rewards.mean(0).argmax())
    steps = np.zeros(len(rewards), dtype=np.intp)
    season, slot, n = (steps, steps, 1) if slots is None else (slots.season, slots.slot, len(slots))
    sums, counts = by_slot(rewards, season, slot, n)
    weights = counts[..., 0]
    means = np.where(weights[..., None] > 0, sums / np.maximum(counts, 1.0), np.nan)
    always = means[..., fixed]
    arms = np.array([fixed])
    chosen = always
    if slots is not None:
        pools = np.arange(n) if slots.pools is None else slots.pools
        single, single_rewards = _choose(sums, counts, means, np.arange(n))
        pooled, pooled_rewards = _choose(sums, counts, means, pools)
        apart = _clearly_above(single_rewards - pooled_rewards)
        chosen = np.where(apart, single_rewards, pooled_rewards)
        unit = np.where(apart, pools.max() + 1 + np.arange(n), pools)
        gained = np.bincount(unit, np.nansum((chosen - always) * weights, axis=0))[unit]
        arms = np.where(gained > 0, np.where(apart, single, pooled), fixed)
    rewards_by_slot = np.where(arms == fixed, always, chosen)
    return Schedule(
        slots, tuple(names), fixed, arms, rewards_by_slot, rewards_by_slot - always, weights, sign
    )


def _choose(
    sums: Array, counts: Array, means: Array, pools: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Array]:
    """Choose one arm for each pool of slots.

    Returns:
        A tuple ``(arms, rewards)``: the best arm of each slot over all seasons, shape (slots,),
        and, for each season and slot, the mean reward of the arm that is best in the other seasons,
        shape (seasons, slots).
    """
    all_sums, all_counts = np.zeros((2, len(sums), int(pools.max()) + 1, sums.shape[2]))
    for slot, pool in enumerate(pools):
        all_sums[:, pool] += sums[:, slot]
        all_counts[:, pool] += counts[:, slot]
    elsewhere = best_in_others(all_sums, all_counts)[:, pools]
    best = (all_sums.sum(0) / np.maximum(all_counts.sum(0), 1.0)).argmax(1)[pools]
    return best, np.take_along_axis(means, elsewhere[..., None], axis=2)[..., 0]


def _clearly_above(differences: Array) -> NDArray[np.bool_]:
    """Return a mask of the slots whose mean difference exceeds twice its standard error.

    Args:
        differences: Difference of two rewards in each season and slot, shape (seasons, slots); NaN
            if the slot has no reading.
    """
    seen = ~np.isnan(differences)
    n = np.maximum(seen.sum(0), 1)
    mean = np.nansum(differences, axis=0) / n
    squares = np.nansum((differences - mean) ** 2, axis=0)
    return np.asarray((n > 1) & (mean > 2.0 * np.sqrt(squares / np.maximum(n - 1, 1) / n)))
