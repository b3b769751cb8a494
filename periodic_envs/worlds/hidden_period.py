"""World with a season of unknown length."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from periodic_envs import checks
from periodic_envs.draws import Draws, empty_tables
from periodic_envs.fields.seasons import harmonic_power, unit_waves
from periodic_envs.registration import register_world
from periodic_envs.worlds.gaussian import Generators, unit_normals
from periodic_envs.worlds.synthetic import Synthetic


@register_world("PeriodicGP-HiddenPeriod-v0", horizon=400, noise_std=1.0, reveal_period=False)
@dataclass(frozen=True, kw_only=True)
class HiddenPeriod(Synthetic):
    """A periodic reward function with a random, hidden period in each episode.

    ## Description
    This is the world of ``PeriodicGP-Synthetic-v0`` with a real-valued period, which is drawn
    log-uniformly from [``shortest``, ``longest``] at every reset. Agents observe only the time.

    ## Action Space
    ``Box(-1, 1, (dim,), float32)``, or ``Discrete(n_actions)`` if ``n_actions`` is given.

    ## Observation Space
    ``(t,)``, or ``(t, cos 2 pi t / period, sin 2 pi t / period)`` with ``reveal_period=True``.

    ## Rewards
    The reward is ``f(a, t)`` plus noise.

    ## Starting State
    Each episode starts at ``t = 0`` with a new period and a new function.

    ## Episode End
    The episode is truncated after ``horizon`` steps.

    ## Arguments
    - ``shortest`` (10.0): shortest period, in steps.
    - ``longest`` (40.0): longest period, in steps.

    The arguments of ``PeriodicGP-Synthetic-v0`` except ``period`` are also accepted.

    ## Version History
    v0: first version.
    """

    period: float = field(default=20.0, init=False, repr=False)  # the period is drawn at reset
    shortest: float = 10.0
    longest: float = 40.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("shortest", self.shortest)
        checks.at_least("longest", self.longest, self.shortest)

    @property
    def periods(self) -> tuple[float, ...]:
        """Empty tuple, since the period is hidden."""
        return ()

    def draw_many(self, rngs: Generators, horizon: int) -> Draws:
        """Draw a period and then a reward process from each generator."""
        low, high = np.log(self.shortest), np.log(self.longest)
        periods = np.exp([rng.uniform(low, high) for rng in rngs])
        bases = [self.draw_basis(rng) for rng in rngs]
        amplitude = np.sqrt(harmonic_power(self.time_length_scale))
        scale = np.concatenate([amplitude, amplitude[1:]])[:, None]
        rows = np.arange(horizon)
        weights = empty_tables(len(rngs), horizon, len(bases[0].scale))
        for part, normal in unit_normals(rngs, (len(scale), weights.shape[2])):
            waves = unit_waves(rows, periods[part], len(amplitude) - 1)
            np.matmul(waves, scale * normal, out=weights[part])
        return self.draws(bases, weights, rows=rows, periods=periods)
