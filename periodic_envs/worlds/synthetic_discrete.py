"""World of the paper's synthetic study with a finite set of actions."""

from __future__ import annotations

from dataclasses import dataclass

from periodic_envs.registration import register_world
from periodic_envs.worlds.synthetic import Synthetic


@register_world("PeriodicGP-SyntheticDiscrete-v0", horizon=200, noise_std=1.0)
@dataclass(frozen=True, kw_only=True)
class SyntheticDiscrete(Synthetic):
    """A repeating reward function on finitely many points: the synthetic study with 50 arms.

    ## Description
    The world of ``PeriodicGP-Synthetic-v0`` with ``n_actions`` points as actions.

    ## Action Space
    ``Discrete(n_actions)``; neighbouring numbers are neighbouring points when ``dim`` is 1.

    ## Observation Space
    ``(t, cos 2 pi t / period, sin 2 pi t / period)``; only ``(t,)`` with ``reveal_period=False``.

    ## Rewards
    ``f(a, t)`` plus noise.

    ## Starting State
    ``t = 0``, and a new function.

    ## Episode End
    Truncated after ``horizon`` steps.

    ## Arguments
    ``n_actions`` (50), and those of ``PeriodicGP-Synthetic-v0``.

    ## Version History
    v0: first version.
    """

    n_actions: int | None = 50
