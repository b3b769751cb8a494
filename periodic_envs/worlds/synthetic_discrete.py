"""World of the paper's synthetic study with a finite set of actions."""

from __future__ import annotations

from dataclasses import dataclass

from periodic_envs.registration import register_world
from periodic_envs.worlds.synthetic import Synthetic


@register_world("PeriodicGP-SyntheticDiscrete-v0", horizon=200, noise_std=1.0)
@dataclass(frozen=True, kw_only=True)
class SyntheticDiscrete(Synthetic):
    """A periodic reward function on finitely many points: the synthetic study with 50 arms.

    ## Description
    This is the world of ``PeriodicGP-Synthetic-v0`` with ``n_actions`` points as actions.

    ## Action Space
    ``Discrete(n_actions)``. If ``dim`` is 1, neighbouring numbers are neighbouring points.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``, or ``(t,)`` with ``reveal_period=False``.

    ## Rewards
    The reward is ``f(a, t)`` plus noise.

    ## Starting State
    Each episode starts at ``t = 0`` with a new function.

    ## Episode End
    The episode is truncated after ``horizon`` steps.

    ## Arguments
    - ``n_actions`` (50): number of actions.

    The arguments of ``PeriodicGP-Synthetic-v0`` are also accepted.

    ## Version History
    v0: first version.
    """

    n_actions: int | None = 50
