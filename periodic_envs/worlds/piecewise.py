"""World with abrupt changes, a control without seasons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from periodic_envs import checks
from periodic_envs.draws import Draws
from periodic_envs.registration import register_world
from periodic_envs.worlds.gaussian import GaussianWorld, Generators


@register_world("PeriodicGP-Piecewise-v0", horizon=200, noise_std=1.0)
@dataclass(frozen=True, kw_only=True)
class Piecewise(GaussianWorld):
    """A reward function that is replaced at random times, without seasons.

    ## Description
    The world of the piecewise-stationary literature: after each step the function is replaced by
    an independent draw with probability ``1 / mean_segment``. The observation carries the phase
    of a season of ``period`` steps, as a practitioner might assume; the world does not follow it.

    ## Action Space
    ``Box(-1, 1, (dim,), float32)``, or ``Discrete(n_actions)`` when ``n_actions`` is given.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``; only ``(t,)`` with ``reveal_period=False``.

    ## Rewards
    ``f_segment(a)`` plus noise.

    ## Starting State
    ``t = 0``, new functions and new change points.

    ## Episode End
    Truncated after ``horizon`` steps.

    ## Arguments
    ``mean_segment`` (50.0 steps), and those of every drawn world and of every environment: see
    ``PeriodicGP-Synthetic-v0``. The change points are drawn before the functions: with another
    ``horizon``, the same seed has other functions and other noise.

    ## Version History
    v0: first version.
    """

    mean_segment: float = 50.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_least("mean_segment", self.mean_segment, 1.0)

    def draw_many(self, rngs: Generators, horizon: int) -> Draws:
        """Draw one reward process from each generator."""
        bases = [self.draw_basis(rng) for rng in rngs]
        changes = np.stack([rng.random(horizon) for rng in rngs]) < 1.0 / self.mean_segment
        changes[:, 0] = False
        rows = changes.cumsum(1)
        segments = rows[:, -1] + 1
        weights = np.zeros((len(rngs), segments.max(), len(bases[0].scale)))
        for rng, room, count in zip(rngs, weights, segments.tolist(), strict=True):
            rng.standard_normal(out=room[:count])
        return self.draws(bases, weights, rows=rows)
