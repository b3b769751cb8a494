"""World of the paper's synthetic study."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from periodic_envs import checks
from periodic_envs.draws import Draws
from periodic_envs.fields.seasons import cycle_length, season_rows
from periodic_envs.registration import register_world
from periodic_envs.worlds.gaussian import GaussianWorld, Generators


@register_world("PeriodicGP-Synthetic-v0", horizon=200, noise_std=1.0)
@dataclass(frozen=True, kw_only=True)
class Synthetic(GaussianWorld):
    """A smooth reward function that repeats: one draw of (action kernel x periodic kernel).

    ## Description
    The synthetic study of the paper (Section 5.1): a continuous action, a season of 20 steps, 200
    steps, noise of standard deviation 1. Every seed draws a new function
    ``f ~ GP(0, k_A(a, a') exp(-2 sin^2(pi (t - t') / period) / time_length_scale^2))``.
    The paper states a time length-scale of 10, with which the periodic kernel never falls below
    0.98 and the world stands almost still, unlike the paper's own figure; the default here is 1,
    which changes visibly within a season.

    ## Action Space
    ``Box(-1, 1, (dim,), float32)``, scaled to a width of ``action_width`` length-scale units; or
    ``Discrete(n_actions)`` over evenly spread points when ``n_actions`` is given.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``; only ``(t,)`` with ``reveal_period=False``.

    ## Rewards
    ``f(a, t)`` plus noise.

    ## Starting State
    ``t = 0``, and a new function.

    ## Episode End
    Truncated after ``horizon`` steps.

    ## Arguments
    ``time_length_scale`` (1.0), those of every drawn world (``period``, ``n_actions``, ``dim``,
    ``action_kernel`` in "se", "matern", "linear"; ``nu``, ``action_length_scale``,
    ``action_width``) and those of every environment (``horizon``, ``noise``, ``noise_std``,
    ``reveal_period``, ``render_mode``).

    ## Version History
    v0: first version.
    """

    time_length_scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.within("time_length_scale", self.time_length_scale, 0.01, 1e4)

    def draw_many(self, rngs: Generators, horizon: int) -> Draws:
        """Draw one reward process from each generator."""
        cycle = cycle_length(horizon, self.period)
        features = season_rows(cycle, self.period, self.time_length_scale)
        return self.draw_weighted(rngs, features, rows=np.arange(horizon) % cycle)
