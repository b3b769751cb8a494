"""Simulated demand for rides, the example of the paper's introduction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.draws import Draws
from periodic_envs.process import PublicInfo
from periodic_envs.registration import register_world
from periodic_envs.world import World

PERIOD_HOURS = 24

# Columns: zone; km east and km north of the centre; relative demand at all hours, in the morning
# commute, in the evening commute, in evening leisure, and in three waves of arrivals at an airport.
ZONES: tuple[tuple[str, float, float, float, float, float, float, float], ...] = (
    ("Downtown", 0.0, 0.0, 0.15, 0.70, 0.90, 0.25, 0.0),
    ("Business district", 1.2, 2.5, 0.10, 0.40, 1.00, 0.10, 0.0),
    ("Central station", -0.8, -1.5, 0.20, 0.85, 0.60, 0.20, 0.0),
    ("Old town", -0.6, 0.5, 0.12, 0.20, 0.30, 0.95, 0.0),
    ("Theatre quarter", 0.9, -0.7, 0.08, 0.10, 0.30, 0.85, 0.0),
    ("Riverside bars", -1.8, 0.2, 0.05, 0.05, 0.15, 0.90, 0.0),
    ("University", -2.5, 3.0, 0.10, 0.45, 0.50, 0.45, 0.0),
    ("North suburb", 0.5, 7.0, 0.10, 0.80, 0.15, 0.15, 0.0),
    ("West suburb", -6.5, 0.5, 0.08, 0.70, 0.15, 0.15, 0.0),
    ("South suburb", 1.0, -6.0, 0.10, 0.75, 0.20, 0.20, 0.0),
    ("Trade fair", 6.0, 3.5, 0.05, 0.15, 0.45, 0.05, 0.0),
    ("Airport", 9.5, 5.0, 0.20, 0.10, 0.15, 0.05, 0.90),
)
# Hours of the peaks in the last four columns above, and the widths of these peaks in hours.
PEAKS: tuple[tuple[tuple[float, ...], float], ...] = (
    ((8.0,), 1.3),
    ((18.0,), 1.7),
    ((22.5,), 2.0),
    ((5.5, 13.5, 21.0), 1.2),
)


@register_world("PeriodicGP-RideShare-v0", horizon=336, noise="poisson")
@dataclass(frozen=True, kw_only=True)
class RideShare(World):
    """Ride requests in twelve zones of a city: wait in the zone with the most requests.

    ## Description
    This is the example in the paper's introduction: drivers move to the zones in which rides are
    requested. The twelve zones have commuter peaks (in suburbs and at stations in the morning, at
    offices in the evening), evening leisure in the old town, and three waves of arrivals at the
    airport. Each seed gives a different city: the strengths and the hours of all peaks vary. By
    default, an episode has hourly steps over two weeks.

    ## Action Space
    ``Discrete(12)``: the zone in which to wait. The coordinates of the zones in km are public.

    ## Observation Space
    ``(t, cos 2 pi t / 24, sin 2 pi t / 24)``, or ``(t,)`` with ``reveal_period=False``.

    ## Rewards
    The reward is the number of requests in the chosen zone in that hour, which is a Poisson count.
    The regret is the difference in the expected number of requests.

    ## Starting State
    Each episode starts at ``t = 0``, which is midnight, in a new city.

    ## Episode End
    The episode is truncated after ``horizon`` steps.

    ## Arguments
    - ``peak_requests`` (40.0): expected requests per hour at a demand of strength 1.
    - ``variety`` (0.3): spread of the strengths between cities, at most 3.

    The arguments common to all environments are also accepted: ``horizon``, ``noise``,
    ``noise_std``, ``noise_df``, ``reveal_period``, ``regret`` and ``render_mode``.

    ## Version History
    v0: first version.
    """

    peak_requests: float = 40.0
    variety: float = 0.3

    def __post_init__(self) -> None:
        checks.positive("peak_requests", self.peak_requests)
        checks.within("variety", self.variety, 0.0, 3.0)

    @property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        coordinates = np.array([zone[1:3] for zone in ZONES])
        return PublicInfo(
            n_actions=len(ZONES),
            dim=2,
            periods=(float(PERIOD_HOURS),),
            action_features=coordinates,
            action_names=tuple(zone[0] for zone in ZONES),
        )

    def draw_many(self, rngs: Sequence[np.random.Generator], horizon: int) -> Draws:
        """Draw one city from each generator."""
        usual = np.array([zone[3:] for zone in ZONES])
        variety = np.empty((len(rngs), *usual.shape))
        delay_hours = np.empty((len(rngs), len(ZONES), len(PEAKS)))
        for i, rng in enumerate(rngs):
            rng.standard_normal(out=variety[i])
            delay_hours[i] = rng.normal(0.0, 0.5, delay_hours.shape[1:])
        strength = usual * np.exp(self.variety * variety)
        hours = np.arange(PERIOD_HOURS)[:, None]
        demand = np.tile(strength[:, None, :, 0], (1, PERIOD_HOURS, 1))
        for peak, (centres, width_hours) in enumerate(PEAKS):
            for centre in centres:
                shape = _bump(hours - centre - delay_hours[:, None, :, peak], width_hours)
                demand += strength[:, None, :, 1 + peak] * shape
        return Draws(
            tables=self.peak_requests * demand,
            rows=np.arange(horizon) % PERIOD_HOURS,
            periods=np.full(len(rngs), float(PERIOD_HOURS)),
        )


def _bump(hours: Array, width_hours: float) -> Array:
    """Return a smooth peak of height 1 at hour 0 of the 24-hour circle."""
    angle = 2.0 * np.pi * hours / PERIOD_HOURS
    width = 2.0 * np.pi * width_hours / PERIOD_HOURS
    return np.exp((np.cos(angle) - 1.0) / width**2)
