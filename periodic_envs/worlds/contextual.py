"""World with contexts, which are the paper's second extension."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from periodic_envs import checks
from periodic_envs.draws import Draws, empty_tables
from periodic_envs.fields.basis import FourierBasis, TooRough, lattice
from periodic_envs.fields.seasons import cycle_length, product_draw, season_rows
from periodic_envs.process import PublicInfo
from periodic_envs.registration import register_world
from periodic_envs.worlds.gaussian import Generators
from periodic_envs.worlds.synthetic import Synthetic


@register_world("PeriodicGP-Contextual-v0", horizon=400, noise_std=1.0)
@dataclass(frozen=True, kw_only=True)
class Contextual(Synthetic):
    """A periodic reward function that also depends on a context observed before each decision.

    ## Description
    Before each decision the agent observes a context vector, which is uniform on
    [-1, 1]^context_dim and independent of the past. The reward function is drawn from a Gaussian
    process with the kernel (action kernel x periodic kernel x SE kernel on the contexts). An agent
    that ignores the context cannot know the best action.

    ## Action Space
    ``Box(-1, 1, (dim,), float32)``, or ``Discrete(n_actions)`` if ``n_actions`` is given.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period, context...)``, or ``(t, context...)`` with
    ``reveal_period=False``.

    ## Rewards
    The reward is ``f(a, context, t)`` plus noise.

    ## Starting State
    Each episode starts at ``t = 0`` with a new function and new contexts.

    ## Episode End
    The episode is truncated after ``horizon`` steps.

    ## Arguments
    - ``context_dim`` (2): dimension of the context, 1 or 2.
    - ``context_length_scale`` (1.0): length-scale of the kernel on the contexts.

    The arguments of ``PeriodicGP-Synthetic-v0`` are also accepted.

    The contexts are drawn before the function. Therefore, with another ``horizon``, the same seed
    gives a different function and different noise.

    ## Version History
    v0: first version.
    """

    context_dim: int = 2
    context_length_scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("context_dim", self.context_dim, 1, 2)
        checks.positive("context_length_scale", self.context_length_scale)
        self._context_basis  # noqa: B018 (an error is raised now, not at the first draw)

    @property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        return replace(super().public, context_dim=self.context_dim)

    @cached_property
    def _context_basis(self) -> FourierBasis:
        try:
            return lattice(self.context_length_scale, None, self.context_dim)
        except TooRough:
            raise ValueError(
                f"context_length_scale must be larger with context_dim={self.context_dim}, got "
                f"{self.context_length_scale:g}: the reward function would have too many "
                "frequencies"
            ) from None

    def draw_many(self, rngs: Generators, horizon: int) -> Draws:
        """Draw one reward process from each generator."""
        bases = [self.draw_basis(rng) for rng in rngs]
        # One more context than steps, for the observation after the last step.
        shape = (horizon + 1, self.context_dim)
        contexts = np.stack([rng.uniform(-1.0, 1.0, shape) for rng in rngs])
        basis = self._context_basis
        cycle = cycle_length(horizon, self.period)
        season = season_rows(cycle, self.period, self.time_length_scale)
        normal = np.empty((season.shape[1], len(basis.scale), len(bases[0].scale)))
        weights = empty_tables(len(rngs), horizon, normal.shape[2])
        for i, rng in enumerate(rngs):
            rng.standard_normal(out=normal)
            features = basis(contexts[i, :-1]) * basis.scale
            weights[i] = product_draw(season, features, normal)
        return self.draws(bases, weights, rows=np.arange(horizon), contexts=contexts)
