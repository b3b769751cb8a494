"""World with two incommensurable seasons, as in Remark 1 of the paper."""

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
    """Two seasons whose lengths have no common multiple, so that rewards never repeat exactly.

    ## Description
    The reward function is almost cyclostationary in the sense of the paper's Remark 1. It is the
    sum of two independent periodic draws, divided by the square root of 2. Their periods are
    ``period`` and ``ratio * period`` steps, where ``ratio`` is the golden ratio by default. The
    covariance is ``k = k_A * (k_period + k_(ratio period)) / 2``. The observation contains the
    phase of the first season.

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
    - ``ratio`` (1.618..., the golden ratio): second period divided by the first period.

    The arguments of ``PeriodicGP-Synthetic-v0`` are also accepted.

    ## Version History
    v0: first version.
    """

    ratio: float = (1.0 + 5.0**0.5) / 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("ratio", self.ratio)

    @property
    def periods(self) -> tuple[float, ...]:
        """Lengths of the two seasons, in steps."""
        return (float(self.period), float(self.ratio * self.period))

    def draw_many(self, rngs: Generators, horizon: int) -> Draws:
        """Draw one reward process from each generator."""
        seasons = [season_rows(horizon, p, self.time_length_scale) for p in self.periods]
        features = np.hstack(seasons) / np.sqrt(len(seasons))
        return self.draw_weighted(rngs, features, rows=np.arange(horizon))
