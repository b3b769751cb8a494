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
    """A smooth periodic reward function, drawn with the kernel (action kernel x periodic kernel).

    ## Description
    This is the synthetic study of the paper (Section 5.1). By default, it has a continuous action,
    a season of 20 steps, episodes of 200 steps, and noise with a standard deviation of 1. Each seed
    gives a new function
    ``f ~ GP(0, k_A(a, a') exp(-2 sin^2(pi (t - t') / period) / time_length_scale^2))``.
    The paper states a time length-scale of 10. With this value, the periodic kernel never falls
    below 0.98 and the function is almost constant in time, unlike the function in the paper's
    figure. The default of this world is 1, with which the function changes visibly within a season.

    ## Action Space
    ``Box(-1, 1, (dim,), float32)``, or ``Discrete(n_actions)`` with evenly spread points of the box
    if ``n_actions`` is given. The box has the width ``action_width`` in the unit of the
    length-scale.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``, or ``(t,)`` with ``reveal_period=False``.

    ## Rewards
    The reward is ``f(a, t)`` plus noise.

    ## Starting State
    Each episode starts at ``t = 0`` with a new function.

    ## Episode End
    The episode is truncated after ``horizon`` steps.

    ## Arguments
    - ``time_length_scale`` (1.0): length-scale of the periodic kernel.
    - ``period`` (20.0): length of the season, in steps.
    - ``n_actions`` (None): number of actions, or None for the whole box.
    - ``dim`` (1): dimension of the actions, 1 to 6.
    - ``action_kernel`` ("se"): "se", "matern" or "linear".
    - ``nu`` (2.5): smoothness of the Matern kernel.
    - ``action_length_scale`` (1.0): length-scale of the action kernel.
    - ``action_width`` (10.0): width of the action box, in the unit of ``action_length_scale``.

    The arguments common to all environments are also accepted: ``horizon``, ``noise``,
    ``noise_std``, ``noise_df``, ``reveal_period``, ``regret`` and ``render_mode``.

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
