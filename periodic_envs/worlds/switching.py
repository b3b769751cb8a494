"""A season whose pattern drifts: the paper's third extension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.fields.seasons import season_features
from periodic_envs.process import TabularProcess
from periodic_envs.registration import register_world
from periodic_envs.worlds.synthetic import Synthetic

_BLOCK = 1024
"""Steps of the drift simulated at once: bounds the memory of long horizons."""


@register_world("PeriodicGP-Switching-v0", horizon=200, noise_std=1.0)
@dataclass(frozen=True, kw_only=True)
class Switching(Synthetic):
    """A repeating reward function whose pattern is slowly forgotten: periodic x decay.

    ## Description
    The "switching periodic environment" of the paper's discussion: the periodic kernel times
    ``(1 - drift)^(|t - t'| / 2)``. With the default drift of 0.02 a season of 20 steps resembles
    the one before with correlation 0.82, and five seasons later with 0.36.

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
    ``drift`` (0.02, in [0, 1]), and those of ``PeriodicGP-Synthetic-v0``. The whole drift is drawn
    before the noise: with another ``horizon``, the same seed is the same function with other noise.

    ## Version History
    v0: first version.
    """

    drift: float = 0.02

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.within("drift", self.drift, 0.0, 1.0)

    def draw(self, rng: np.random.Generator, horizon: int) -> TabularProcess:
        """Draw one reward process."""
        basis = self.draw_basis(rng)
        rows = np.arange(horizon)
        features = season_features(rows.astype(np.float64), self.period, self.time_length_scale)
        weights = self._drifting(features, len(basis.scale), rng)
        return self.process(basis, weights, rows=rows, period=float(self.period))

    def _drifting(self, features: Array, size: int, rng: np.random.Generator) -> Array:
        """``psi(t) . W(t)`` with ``W(t + 1) = rho W(t) + sqrt(1 - rho^2) * unit normal``."""
        rho = np.sqrt(1.0 - self.drift)
        weights = np.empty((len(features), size))
        before = np.zeros((features.shape[1], size))
        for start in range(0, len(features), _BLOCK):
            block = features[start : start + _BLOCK]
            spread = np.full((len(block), 1, 1), np.sqrt(self.drift))
            if start == 0:
                spread[0] = 1.0  # starts in its stationary distribution
            shocks = spread * rng.standard_normal((len(block), features.shape[1], size))
            # In place, shocks become the path. As quick as scipy.signal, which is slow to import.
            for now in shocks:
                now += rho * before
                before = now
            weights[start : start + _BLOCK] = np.einsum("tq,tqm->tm", block, shocks)
        return weights

    def time_covariance(self, process: TabularProcess, t: int, s: int) -> float:
        """Eq. (2) times the decay of [@bogunovic2016time]."""
        decay: float = (1.0 - self.drift) ** (abs(t - s) / 2.0)
        return super().time_covariance(process, t, s) * decay
