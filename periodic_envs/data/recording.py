"""A table of measurements as a world."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.draws import Draws, OtherDraws
from periodic_envs.process import Origin, PublicInfo, WarmStart
from periodic_envs.world import World

OBJECTIVES = ("max", "min")
POLICIES = ("error", "hold", "interpolate")
"""Ways to fill gaps."""
MAX_MISSING = 0.5
"""The largest share of an arm's steps that is filled; with more, an arm is more guess than data."""


def rewards_of(values: Array, objective: str) -> Array:
    """Measurements as rewards: themselves to seek the most, their negatives to seek the least."""
    checks.one_of("objective", objective, OBJECTIVES)
    return values.copy() if objective == "max" else 0.0 - values


def fill_gaps(values: Array, names: Sequence[str], *, policy: str, what: str) -> Array:
    """The table with its gaps filled, each column by itself.

    Args:
        values: Shape (steps, arms), NaN where nothing was measured.
        names: What the columns are called, for messages.
        policy: "interpolate" (a straight line between the neighbours in time, the nearest value at
            the ends), "hold" (the last value, at the start the first), or "error" (no gap is
            accepted).
        what: What the table is, for messages: "3 to 12 March 2018".

    Raises:
        DataError: for "error" if there is a gap, else if a column has more than
            ``MAX_MISSING`` of them.
    """
    checks.one_of("missing", policy, POLICIES)
    missing = np.isnan(values)
    limit = 0.0 if policy == "error" else MAX_MISSING
    share = missing.mean(0)
    if (share > limit).any():
        worst = [f"{names[i]} ({share[i]:.1%})" for i in np.argsort(-share) if share[i] > limit]
        raise DataError(
            f"in {what} too much is missing of: {', '.join(worst)}; at most {limit:.0%} may be "
            f"with missing={policy!r}. Leave those out, or choose another window "
            f"(missing='interpolate' fills up to {MAX_MISSING:.0%})"
        )
    filled: Array = values.copy()
    steps = np.arange(len(values))
    for column in np.flatnonzero(missing.any(0)):
        known = np.flatnonzero(~missing[:, column])
        if policy == "hold":
            before = np.searchsorted(known, steps, side="right") - 1
            filled[:, column] = values[known[np.maximum(before, 0)], column]
        else:
            filled[:, column] = np.interp(steps, known, values[known, column])
    return filled


def replay(rewards: Array, public: PublicInfo, horizon: int) -> Draws:
    """The processes that give these rewards (copies, steps, arms) and no noise.

    The best action-reward pair of each step before the first decision is prior information.
    """
    copies, first = len(rewards), public.first_step
    past = rewards[:, :first]
    times = np.broadcast_to(np.arange(first), (copies, first))
    return Draws(
        tables=rewards,
        rows=np.arange(first + horizon),
        periods=np.full(copies, public.periods[0]),
        warm_start=WarmStart(times, past.argmax(2), past.max(2)) if first else None,
    )


def fingerprint(rewards: Array, names: Sequence[str]) -> str:
    """SHA-256 of rewards and of what they are called."""
    digest = hashlib.sha256(repr([[str(name) for name in names], rewards.shape]).encode())
    digest.update((rewards + 0.0).astype("<f8").tobytes())  # + 0.0: there is one zero
    return digest.hexdigest()


class Recording(World):
    """A world that always gives the same rewards (steps, arms)."""

    def __init__(self, rewards: Array, public: PublicInfo, origin: Origin) -> None:
        self.rewards, self._public, self._origin = rewards, public, origin

    @property
    def public(self) -> PublicInfo:
        """What agents may know."""
        return self._public

    @property
    def origin(self) -> Origin:
        """The origin of the rewards."""
        return self._origin

    def draw_many(self, rngs: Sequence[np.random.Generator], horizon: int) -> Draws:
        """Return what was recorded, once for each generator."""
        shared = np.broadcast_to(self.rewards, (len(rngs), *self.rewards.shape))
        return replay(shared, self.public, horizon)


class Recorded(World):
    """A world that is made from data: arguments, and a world behind them that does the rest."""

    @property
    def _recording(self) -> World:
        """The world that the arguments name; a subclass makes it once."""
        raise NotImplementedError

    @property
    def public(self) -> PublicInfo:
        """What agents may know."""
        return self._recording.public

    @property
    def origin(self) -> Origin:
        """The origin of the rewards."""
        origin = self._recording.origin
        assert origin is not None
        return origin

    def draw_many(self, rngs: Sequence[np.random.Generator], horizon: int) -> Draws | OtherDraws:
        """Return what was recorded, once for each generator."""
        return self._recording.draw_many(rngs, horizon)
