"""World with two nested seasons, a day and a week."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from periodic_envs import checks
from periodic_envs.draws import Draws, empty_tables
from periodic_envs.fields.seasons import cycle_length, product_draw, season_rows
from periodic_envs.registration import register_world
from periodic_envs.worlds.gaussian import Generators
from periodic_envs.worlds.synthetic import Synthetic


@register_world("PeriodicGP-MultiSeason-v0", horizon=672, noise_std=1.0)
@dataclass(frozen=True, kw_only=True)
class MultiSeason(Synthetic):
    """A daily pattern that differs from weekday to weekday: two nested seasons.

    ## Description
    By default, an episode has hourly steps over four weeks. One part of the reward function repeats
    every day. The other part is a daily pattern that changes during the week and repeats every
    week. The covariance is ``k = k_A * k_day * ((1 - weekly_share) + weekly_share * k_week)``. The
    observation contains only the phase of the day, but both periods are public.

    ## Action Space
    ``Box(-1, 1, (dim,), float32)``, or ``Discrete(n_actions)`` if ``n_actions`` is given.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``, or ``(t,)`` with ``reveal_period=False``.

    ## Rewards
    The reward is ``f(a, t)`` plus noise.

    ## Starting State
    Each episode starts at ``t = 0`` with a new function.

    ## Episode End
    The episode is truncated after ``horizon`` steps.

    ## Arguments
    - ``period`` (24): length of the short season, in steps.
    - ``long_period`` (168): length of the long season, in steps.
    - ``long_length_scale`` (1.0): length-scale of the periodic kernel of the long season.
    - ``weekly_share`` (0.5): share of the variance of the weekly part, in [0, 1].

    The arguments of ``PeriodicGP-Synthetic-v0`` are also accepted.

    ## Version History
    v0: first version.
    """

    period: float = 24.0
    long_period: float = 168.0
    long_length_scale: float = 1.0
    weekly_share: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("long_period", self.long_period)
        checks.within("long_length_scale", self.long_length_scale, 0.01, 1e4)
        checks.within("weekly_share", self.weekly_share, 0.0, 1.0)

    @property
    def periods(self) -> tuple[float, ...]:
        """Lengths of the two seasons, in steps."""
        return (float(self.period), float(self.long_period))

    def draw_many(self, rngs: Generators, horizon: int) -> Draws:
        """Draw one reward process from each generator."""
        nested = float(self.long_period / self.period).is_integer()
        cycle = cycle_length(horizon, self.long_period) if nested else horizon
        day_length = cycle_length(cycle, self.period)
        day = season_rows(day_length, self.period, self.time_length_scale)
        week = season_rows(cycle, self.long_period, self.long_length_scale)
        # The daily part is the product of the day and a constant.
        constant = np.full((cycle, 1), np.sqrt(1.0 - self.weekly_share))
        others = np.hstack([constant, np.sqrt(self.weekly_share) * week])
        bases = [self.draw_basis(rng) for rng in rngs]
        q, m = day.shape[1], len(bases[0].scale)
        weights = empty_tables(len(rngs), cycle, m)
        normal = np.empty((q, others.shape[1], m))
        for i, rng in enumerate(rngs):
            normal[:, 0] = rng.standard_normal((q, m))
            normal[:, 1:] = rng.standard_normal((q, week.shape[1], m))
            weights[i] = product_draw(day, others, normal)
        return self.draws(bases, weights, rows=np.arange(horizon) % cycle)
