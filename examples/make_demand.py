"""Create the example data of ``PeriodicGP-Replay-v0``: synthetic demand at five places.

The file has four weeks of hourly ride requests, which are drawn with a fixed seed. The expected
requests have peaks of commuting and leisure. The hours of the peaks differ between places, and
weekends differ from weekdays. Run: python examples/make_demand.py
"""

from pathlib import Path

import numpy as np
import pandas as pd

TARGET = Path(__file__).parent.parent / "periodic_envs" / "data" / "example_demand.csv"
HOURS = 24 * 28
# Each place has a base of requests per hour, and peaks (days, hour, width in hours, height).
WORKDAYS, WEEKEND, EVERY_DAY = (0, 1, 2, 3, 4), (5, 6), tuple(range(7))
PLACES = {
    "Station": (6, [(WORKDAYS, 8, 1.5, 34), (WORKDAYS, 18, 1.5, 16), (WEEKEND, 16, 3.0, 10)]),
    "Offices": (3, [(WORKDAYS, 17.5, 1.8, 40), (WORKDAYS, 12.5, 1.0, 14)]),
    "Old town": (4, [(WORKDAYS, 21, 2.0, 18), ((4, 5), 23, 2.5, 36), (WEEKEND, 14, 2.5, 14)]),
    "Stadium": (2, [((5,), 18, 1.5, 60), ((2,), 22, 1.2, 45)]),
    "Airport": (7, [(EVERY_DAY, 5, 1.3, 22), (EVERY_DAY, 13, 1.6, 18), (EVERY_DAY, 21, 1.2, 12)]),
}


def demand(base: float, peaks: list) -> np.ndarray:
    """Return the expected requests in each hour, starting on a Monday at midnight."""
    hours = np.arange(HOURS)
    expected = np.full(HOURS, float(base))
    for days, hour, width, height in peaks:
        for day in days:
            # The week is a circle of 168 hours, so that a late peak extends into the next day.
            distance = (hours - 24 * day - hour + 84) % 168 - 84
            expected += height * np.exp(-0.5 * (distance / width) ** 2)
    return expected


def main() -> None:
    """Draw the requests and write the file."""
    rng = np.random.default_rng(2021)
    times = pd.date_range("2024-03-04", periods=HOURS, freq="h", name="time")
    table = {name: rng.poisson(demand(base, peaks)) for name, (base, peaks) in PLACES.items()}
    pd.DataFrame(table, index=times).to_csv(
        TARGET, date_format="%Y-%m-%d %H:%M", lineterminator="\n"
    )


if __name__ == "__main__":
    main()
