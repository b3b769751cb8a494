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
    This is the world of the literature on piecewise-stationary bandits. After each step, the
    function is replaced by an independent draw with probability ``1 / mean_segment``. The
    observation contains the phase of a season of ``period`` steps, because a practitioner might
    wrongly assume such a season. The rewards do not depend on this phase.

    ## Action Space
    ``Box(-1, 1, (dim,), float32)``, or ``Discrete(n_actions)`` if ``n_actions`` is given.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``, or ``(t,)`` with ``reveal_period=False``.

    ## Rewards
    The reward is ``f_segment(a)`` plus noise.

    ## Starting State
    Each episode starts at ``t = 0`` with new functions and new change points.

    ## Episode End
    The episode is truncated after ``horizon`` steps.

    ## Arguments
    - ``mean_segment`` (50.0): mean number of steps between changes.

    The arguments of ``PeriodicGP-Synthetic-v0`` except ``time_length_scale`` are also accepted.

    The change points are drawn before the functions. Therefore, with another ``horizon``, the same
    seed gives different functions and different noise.

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
