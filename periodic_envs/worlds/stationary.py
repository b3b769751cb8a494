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
    """A reward function that never changes: the control in which seasons are a distraction.

    ## Description
    Every seed draws one function of the action, the same at all times. The observation still
    carries the phase of a season of ``period`` steps, which means nothing here.

    ## Action Space
    ``Box(-1, 1, (dim,), float32)``, or ``Discrete(n_actions)`` when ``n_actions`` is given.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``; only ``(t,)`` with ``reveal_period=False``.

    ## Rewards
    ``f(a)`` plus noise.

    ## Starting State
    ``t = 0``, and a new function.

    ## Episode End
    Truncated after ``horizon`` steps.

    ## Arguments
    Those of every drawn world and of every environment: see ``PeriodicGP-Synthetic-v0``.

    ## Version History
    v0: first version.
    """

    def draw_many(self, rngs: Generators, horizon: int) -> Draws:
        """Draw one reward process from each generator."""
        rows = np.zeros(horizon, dtype=np.intp)
        return self.draw_weighted(rngs, np.ones((1, 1)), rows=rows)
