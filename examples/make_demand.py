"""Make the example that comes with ``PeriodicGP-Replay-v0``: invented demand at five places.

Four weeks of hourly ride requests, made up from commuter peaks, leisure and chance with a fixed
seed. Each place has its hours, and the weekend is another week. Run: python examples/make_demand.py
"""

from pathlib import Path

import numpy as np
import pandas as pd

TARGET = Path(__file__).parent.parent / "periodic_envs" / "data" / "example_demand.csv"
HOURS = 24 * 28
# Place: requests per hour at all times, then (days, hour of the peak, width in hours, height).
WORKDAYS, WEEKEND, EVERY_DAY = (0, 1, 2, 3, 4), (5, 6), tuple(range(7))
PLACES = {
    "Station": (6, [(WORKDAYS, 8, 1.5, 34), (WORKDAYS, 18, 1.5, 16), (WEEKEND, 16, 3.0, 10)]),
    "Offices": (3, [(WORKDAYS, 17.5, 1.8, 40), (WORKDAYS, 12.5, 1.0, 14)]),
    "Old town": (4, [(WORKDAYS, 21, 2.0, 18), ((4, 5), 23, 2.5, 36), (WEEKEND, 14, 2.5, 14)]),
    "Stadium": (2, [((5,), 18, 1.5, 60), ((2,), 22, 1.2, 45)]),
    "Airport": (7, [(EVERY_DAY, 5, 1.3, 22), (EVERY_DAY, 13, 1.6, 18), (EVERY_DAY, 21, 1.2, 12)]),
}


def demand(base: float, peaks: list) -> np.ndarray:
    """Return expected requests in each hour, from Monday midnight on."""
    hours = np.arange(HOURS)
    expected = np.full(HOURS, float(base))
    for days, hour, width, height in peaks:
        for day in days:
            # Distance on the circle of the week: a late evening reaches into the next day.
            distance = (hours - 24 * day - hour + 84) % 168 - 84
            expected += height * np.exp(-0.5 * (distance / width) ** 2)
    return expected


def main() -> None:
    """Write the file."""
    rng = np.random.default_rng(2021)
    times = pd.date_range("2024-03-04", periods=HOURS, freq="h", name="time")
    table = {name: rng.poisson(demand(base, peaks)) for name, (base, peaks) in PLACES.items()}
    pd.DataFrame(table, index=times).to_csv(
        TARGET, date_format="%Y-%m-%d %H:%M", lineterminator="\n"
    )


if __name__ == "__main__":
    main()
