"""World with a drifting season, which is the paper's third extension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.draws import Draws, empty_tables
from periodic_envs.fields.seasons import season_rows
from periodic_envs.registration import register_world
from periodic_envs.worlds.gaussian import Generators
from periodic_envs.worlds.synthetic import Synthetic

_BLOCK = 16
"""Number of steps of the drift that one matrix product computes."""


@register_world("PeriodicGP-Switching-v0", horizon=200, noise_std=1.0)
@dataclass(frozen=True, kw_only=True)
class Switching(Synthetic):
    """A periodic reward function whose pattern drifts slowly: periodic kernel x decay.

    ## Description
    This is the "switching periodic environment" of the paper's discussion. Its kernel in time is
    the periodic kernel times ``(1 - drift)^(|t - t'| / 2)``. With the default drift of 0.02 and a
    season of 20 steps, the correlation at the same phase is 0.82 after one season and 0.36 after
    five seasons.

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
    - ``drift`` (0.02): rate of the drift per step, in [0, 1].

    The arguments of ``PeriodicGP-Synthetic-v0`` are also accepted.

    The whole drift is drawn before the noise. Therefore, with another ``horizon``, the same seed
    gives the same function with different noise.

    ## Version History
    v0: first version.
    """

    drift: float = 0.02

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.within("drift", self.drift, 0.0, 1.0)

    def draw_many(self, rngs: Generators, horizon: int) -> Draws:
        """Draw one reward process from each generator."""
        bases = [self.draw_basis(rng) for rng in rngs]
        features = season_rows(horizon, self.period, self.time_length_scale)
        weights = empty_tables(len(rngs), horizon, len(bases[0].scale))
        for rng, room in zip(rngs, weights, strict=True):
            self._drift(features, rng, room)
        return self.draws(bases, weights, rows=np.arange(horizon))

    def _drift(self, features: Array, rng: np.random.Generator, weights: Array) -> None:
        """Set each row t of ``weights`` to ``psi(t) . W(t)``; psi(t) is row t of ``features``.

        The random matrix W drifts: ``W(t + 1) = rho W(t) + sqrt(1 - rho^2) * unit normal``.
        """
        rho, steps = np.sqrt(1.0 - self.drift), np.arange(_BLOCK)
        lags = steps[:, None] - steps
        shocked = np.tril(np.sqrt(self.drift) * rho ** np.maximum(lags, 0))
        # Each matrix maps W at the step before a block, and the shocks in the block, to W at all
        # steps of the block.
        later = np.column_stack([rho ** (steps + 1), shocked])
        # The first step is a draw from the stationary distribution instead of a shock.
        first = np.column_stack([rho ** (steps + 1), rho**steps, shocked[:, 1:]])
        shocks = np.zeros((1 + _BLOCK, features.shape[1] * weights.shape[1]))
        for start in range(0, len(features), _BLOCK):
            rows = features[start : start + _BLOCK, None]
            size = len(rows)
            rng.standard_normal(out=shocks[1 : 1 + size])
            path = (later if start else first)[:size, : 1 + size] @ shocks[: 1 + size]
            shocks[0] = path[-1]
            moved = rows @ path.reshape(size, features.shape[1], -1)
            weights[start : start + _BLOCK] = moved[:, 0]
