"""Stationary world, a control without seasons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from periodic_envs.draws import Draws
from periodic_envs.registration import register_world
from periodic_envs.worlds.gaussian import GaussianWorld, Generators


@register_world("PeriodicGP-Stationary-v0", horizon=200, noise_std=1.0)
@dataclass(frozen=True, kw_only=True)
class Stationary(GaussianWorld):
    """A reward function that never changes, as a control without seasons.

    ## Description
    Each seed gives one function of the action, which is the same at all times. The observation
    contains the phase of a season of ``period`` steps, but the rewards do not depend on this phase.

    ## Action Space
    ``Box(-1, 1, (dim,), float32)``, or ``Discrete(n_actions)`` if ``n_actions`` is given.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``, or ``(t,)`` with ``reveal_period=False``.

    ## Rewards
    The reward is ``f(a)`` plus noise.

    ## Starting State
    Each episode starts at ``t = 0`` with a new function.

    ## Episode End
    The episode is truncated after ``horizon`` steps.

    ## Arguments
    The arguments are those of ``PeriodicGP-Synthetic-v0`` except ``time_length_scale``.

    ## Version History
    v0: first version.
    """

    def draw_many(self, rngs: Generators, horizon: int) -> Draws:
        """Draw one reward process from each generator."""
        rows = np.zeros(horizon, dtype=np.intp)
        return self.draw_weighted(rngs, np.ones((1, 1)), rows=rows)
