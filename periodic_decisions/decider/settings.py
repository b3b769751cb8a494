"""Settings of a decider, and checks of arms and rewards."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

from agents.base import MAX_REWARD
from periodic_decisions.decider.clock import DeciderError, StepClock, parse_duration, written

OBJECTIVES = {"max": 1.0, "min": -1.0}
MAX_ARMS = 1_000
MAX_NAME_LETTERS = 200
MAX_REMEMBERED = 1_000_000
DEFAULT_REMEMBERED = 20_000


@dataclass(frozen=True)
class Settings:
    """Fixed settings of a decider; plain values, as kept in its file.

    Attributes:
        step: Length of a step, as text.
        seasons: Lengths of the seasons, as text, the main one first.
        agent: The agent.
        timezone: Time zone of times without an offset; None for none.
        objective: "max" or "min".
        explore: Share of choices that are made at random.
        remember: Number of choices, and of rewards, that are kept.
        seed: Seed of all random numbers.
    """

    step: str
    seasons: tuple[str, ...]
    agent: str
    timezone: str | None
    objective: str
    explore: float
    remember: int
    seed: int

    @classmethod
    def checked(cls, *, step: Any, seasons: Any, **others: Any) -> Settings:
        """Return settings from a user's values, or raise a ``DeciderError``."""
        if isinstance(seasons, str | timedelta) or not isinstance(seasons, Iterable):
            raise DeciderError(f"seasons must be a list such as ['1 day', '1 week'], got {seasons}")
        length = parse_duration("step", step)
        lengths = [parse_duration("a season", season) for season in seasons]
        for season in lengths:
            if season <= length:
                raise DeciderError(
                    f"a season must be longer than the step, got {written(season)} and "
                    f"{written(length)}"
                )
        made = cls(written(length), tuple(map(written, lengths)), **others)
        if made.objective not in OBJECTIVES:
            raise DeciderError(f"objective must be 'max' or 'min', got {made.objective!r}")
        if not (isinstance(made.explore, int | float) and 0 <= made.explore <= 1):
            raise DeciderError(f"explore must be a share between 0 and 1, got {made.explore!r}")
        check_whole("remember", made.remember, 1, MAX_REMEMBERED)
        check_whole("seed", made.seed, 0, 2**63 - 1)
        _ = made.clock  # raises an error for an unknown zone
        return made

    @cached_property
    def clock(self) -> StepClock:
        """Counter of the steps."""
        seasons = [parse_duration("a season", season) for season in self.seasons]
        return StepClock.of(parse_duration("step", self.step), seasons, self.timezone)

    @property
    def periods(self) -> tuple[float, ...]:
        """The seasons in steps."""
        return tuple(parse_duration("a season", s) / self.clock.step for s in self.seasons)

    @property
    def sign(self) -> float:
        """Factor that makes more of a reward better."""
        return OBJECTIVES[self.objective]


def check_whole(name: str, value: Any, least: int, most: int) -> None:
    """Refuse all but whole numbers in a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise DeciderError(
            f"{name} must be a whole number from {least:,} to {most:,}, got {value!r}"
        )


def checked_arms(arms: Any) -> list[str]:
    """Return at least two different names that can be shown and written into a table."""
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise DeciderError(f"arms must be a list of names, got {arms!r}")
    names = [checked_arm(arm) for arm in arms]
    if len(set(names)) < len(names) or not 2 <= len(names) <= MAX_ARMS:
        raise DeciderError(
            f"arms must be 2 to {MAX_ARMS:,} different names, got {len(names)} of which "
            f"{len(set(names))} are different"
        )
    return names


def checked_arm(name: Any) -> str:
    """Return the name of an arm, or raise a ``DeciderError``."""
    if not isinstance(name, str) or name != " ".join(name.split()) or not name.isprintable():
        raise DeciderError(f"an arm is a printable word, without spaces around it, got {name!r}")
    if not 1 <= len(name) <= MAX_NAME_LETTERS:
        raise DeciderError(f"an arm's name has 1 to {MAX_NAME_LETTERS} letters, got {len(name)}")
    return name


def checked_reward(reward: Any) -> float:
    """Return a reward as a number, or raise a ``DeciderError``."""
    try:
        value = math.nan if isinstance(reward, str | bytes | bool) else float(reward)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not abs(value) <= MAX_REWARD:
        raise DeciderError(
            f"a reward is a finite number of at most {MAX_REWARD:g} in magnitude, got {reward!r}"
        )
    return value
