"""What a decider is made with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

from periodic_decisions.deciding.clock import Clock
from periodic_decisions.deciding.durations import parse_duration, written
from periodic_decisions.deciding.errors import DeciderError

OBJECTIVES = {"max": 1.0, "min": -1.0}
MAX_ARMS = 1_000
MAX_NAME_LETTERS = 200
MAX_REMEMBERED = 1_000_000
DEFAULT_REMEMBERED = 20_000


@dataclass(frozen=True)
class Settings:
    """Everything that never changes; plain values, as they are kept in the file.

    Attributes:
        step: Length of a step, in words.
        seasons: Lengths of what repeats, in words, the main one first.
        agent: Who decides.
        timezone: Of times without an offset; None if there is none.
        objective: "max" or "min".
        explore: Share of choices that are made at random.
        remember: How many choices, and how many rewards, are kept.
        seed: Of all that is random.
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
    def checked(
        cls, *, step: Any, seasons: Any, explore: Any, remember: Any, seed: Any, **words: Any
    ) -> Settings:
        """Settings from what people write.

        Raises:
            DeciderError: If one of them cannot be.
        """
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
        if words["objective"] not in OBJECTIVES:
            raise DeciderError(f"objective must be 'max' or 'min', got {words['objective']!r}")
        if not (isinstance(explore, int | float) and 0 <= explore <= 1):
            raise DeciderError(f"explore must be a share between 0 and 1, got {explore!r}")
        texts = tuple(written(season) for season in lengths)
        kept = _whole("remember", remember, 1, MAX_REMEMBERED)
        drawn = _whole("seed", seed, 0, 2**63 - 1)
        made = cls(written(length), texts, explore=explore, remember=kept, seed=drawn, **words)
        _ = made.clock  # it says so if there is no such zone
        return made

    @cached_property
    def clock(self) -> Clock:
        """What counts the steps."""
        seasons = [parse_duration("a season", season) for season in self.seasons]
        return Clock.of(parse_duration("step", self.step), seasons, self.timezone)

    @property
    def periods(self) -> tuple[float, ...]:
        """The seasons in steps."""
        return tuple(parse_duration("a season", s) / self.clock.step for s in self.seasons)

    @property
    def sign(self) -> float:
        """What makes more of a reward better."""
        return OBJECTIVES[self.objective]

    def plain(self) -> dict[str, Any]:
        """For JSON, and for ``checked``."""
        return asdict(self)


def checked_arm(name: Any) -> str:
    """The name of an arm, as it may be shown and written into a table.

    Raises:
        DeciderError: If it is no such name.
    """
    if not isinstance(name, str) or name != " ".join(name.split()) or not name.isprintable():
        raise DeciderError(f"an arm is a printable word, without spaces around it, got {name!r}")
    if not 1 <= len(name) <= MAX_NAME_LETTERS:
        raise DeciderError(f"an arm's name has 1 to {MAX_NAME_LETTERS} letters, got {len(name)}")
    return name


def checked_arms(arms: Any) -> list[str]:
    """At least two different arms.

    Raises:
        DeciderError: If they are none.
    """
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise DeciderError(f"arms must be a list of names, got {arms!r}")
    names = [checked_arm(arm) for arm in arms]
    if len(set(names)) < len(names) or not 2 <= len(names) <= MAX_ARMS:
        raise DeciderError(
            f"arms must be 2 to {MAX_ARMS:,} different names, got {len(names)} of which "
            f"{len(set(names))} are different"
        )
    return names


def checked_reward(reward: Any, most: float) -> float:
    """A reward as a number.

    Raises:
        DeciderError: If it is no finite number, or greater in magnitude than ``most``.
    """
    try:
        value = math.nan if isinstance(reward, str | bytes) else float(reward)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not abs(value) <= most:
        raise DeciderError(
            f"a reward is a finite number of at most {most:g} in magnitude, got {reward!r}"
        )
    return value


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise DeciderError(
            f"{name} must be a whole number from {least:,} to {most:,}, got {value!r}"
        )
    return value
