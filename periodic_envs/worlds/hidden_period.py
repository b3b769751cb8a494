"""A season of unknown length."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from periodic_envs import checks
from periodic_envs.process import TabularProcess
from periodic_envs.registration import register_world
from periodic_envs.worlds.synthetic import Synthetic


@register_world("PeriodicGP-HiddenPeriod-v0", horizon=400, noise_std=1.0, reveal_period=False)
@dataclass(frozen=True, kw_only=True)
class HiddenPeriod(Synthetic):
    """A repeating reward function whose period is drawn anew each episode and not revealed.

    ## Description
    The world of ``PeriodicGP-Synthetic-v0`` with a real-valued period drawn log-uniformly from
    [``shortest``, ``longest``] at every reset. Agents see the time only.

    ## Action Space
    ``Box(-1, 1, (dim,), float32)``, or ``Discrete(n_actions)`` when ``n_actions`` is given.

    ## Observation Space
    ``(t,)``; with ``reveal_period=True`` also the cosine and sine of the phase.

    ## Rewards
    ``f(a, t)`` plus noise.

    ## Starting State
    ``t = 0``, a new period and a new function.

    ## Episode End
    Truncated after ``horizon`` steps.

    ## Arguments
    ``shortest`` (10.0) and ``longest`` (40.0) period, and those of ``PeriodicGP-Synthetic-v0``
    except ``period``.

    ## Version History
    v0: first version.
    """

    period: float = field(default=20.0, init=False, repr=False)  # drawn, never given
    shortest: float = 10.0
    longest: float = 40.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("shortest", self.shortest)
        checks.at_least("longest", self.longest, self.shortest)

    @property
    def periods(self) -> tuple[float, ...]:
        """Agents know no period."""
        return ()

    def draw(self, rng: np.random.Generator, horizon: int) -> TabularProcess:
        """Draw a period, then a reward process."""
        period = float(np.exp(rng.uniform(np.log(self.shortest), np.log(self.longest))))
        return self.draw_season(rng, horizon, period)
