"""World with two incommensurable seasons, almost-cyclostationary as in Remark 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from periodic_envs import checks
from periodic_envs.draws import Draws
from periodic_envs.fields.seasons import season_rows
from periodic_envs.registration import register_world
from periodic_envs.worlds.gaussian import Generators
from periodic_envs.worlds.synthetic import Synthetic


@register_world("PeriodicGP-AlmostPeriodic-v0", horizon=200, noise_std=1.0)
@dataclass(frozen=True, kw_only=True)
class AlmostPeriodic(Synthetic):
    """Two seasons whose lengths have no common multiple: nothing ever repeats exactly.

    ## Description
    Almost-cyclostationary in the sense of the paper's Remark 1: the mean of two independent
    periodic draws, of ``period`` and ``ratio * period`` steps (the golden ratio by default),
    ``k = k_A * (k_period + k_(ratio period)) / 2``. The observation shows the first season.

    ## Action Space
    ``Box(-1, 1, (dim,), float32)``, or ``Discrete(n_actions)`` when ``n_actions`` is given.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``; only ``(t,)`` with ``reveal_period=False``.

    ## Rewards
    ``f(a, t)`` plus noise.

    ## Starting State
    ``t = 0``, and a new function.

    ## Episode End
    Truncated after ``horizon`` steps.

    ## Arguments
    ``ratio`` (1.618...), and those of ``PeriodicGP-Synthetic-v0``.

    ## Version History
    v0: first version.
    """

    ratio: float = (1.0 + 5.0**0.5) / 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("ratio", self.ratio)

    @property
    def periods(self) -> tuple[float, ...]:
        """Lengths of both seasons."""
        return (float(self.period), float(self.ratio * self.period))

    def draw_many(self, rngs: Generators, horizon: int) -> Draws:
        """Draw one reward process from each generator."""
        seasons = [season_rows(horizon, p, self.time_length_scale) for p in self.periods]
        features = np.hstack(seasons) / np.sqrt(len(seasons))
        return self.draw_weighted(rngs, features, rows=np.arange(horizon))
