"""Learn the prior of ``auto-gp-ucb:prior=madrid`` from Madrid's NO of 2016 and 2017.

On the scale log(1 + NO): the mean by hour of day and station, and the covariance of what is left,
as a sum of a level, two decays and a season, by least squares over the covariances at some lags;
each is then cut to a few factors and a variance of its own for every station.

    python -m evaluation.studies.madrid.prior [--years 2016 2017] [--output agents/auto/madrid.json]

The imported measurements are read (``PERIODIC_GP_DATA``, see ``periodic-gp data list``). The data:
Ayuntamiento de Madrid, datos abiertos. Only summary statistics are written.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from periodic_envs.arrays import Array
from periodic_envs.data.madrid import cache
from periodic_envs.data.madrid.stations import coordinates_km, magnitude_number

OUTPUT = Path(__file__).parents[3] / "agents" / "auto" / "madrid.json"
HOURS = 24
LAGS = np.array([0, 1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 96, 144, 192])
# Chosen on 2016 and 2017, learning from the one and judging on the other (docs/auto-gp.md).
FAST, SLOW = 0.85, 0.98  # correlation from hour to hour of the two decays
SEASON, HARMONICS, SEASON_WEIGHT = 0.7, 4, 0.3
NOISE_VARIANCE = 0.15
RANKS = {"level": 3, "fast": 8, "slow": 6, "season": 3}
ABOUT = (
    "Prior for hourly NO (ug/m3) at Madrid's 24 stations: summary statistics of the measurements "
    "of {years}. Source of the data: Ayuntamiento de Madrid, datos abiertos. Made by "
    "evaluation/studies/madrid/prior.py; what the names mean is said in agents/auto/knowledge.py."
)


def measured(years: list[int]) -> tuple[list[int], list[Array]]:
    """Stations, and log(1 + NO) of each year, hours x stations."""
    tables = [cache.table(year, magnitude_number("NO")) for year in years]
    stations = sorted(set(tables[0][0]).intersection(*(t[0] for t in tables)))
    columns = [[list(own).index(station) for station in stations] for own, _ in tables]
    return stations, [
        np.log1p(t[1][:, c].astype(float)) for t, c in zip(tables, columns, strict=True)
    ]


def profile_of(years: list[Array]) -> Array:
    """Mean by hour of day and station."""
    return np.asarray(
        np.nanmean(np.concatenate([y.reshape(-1, HOURS, y.shape[1]) for y in years]), axis=0)
    )


def lagged(residuals: list[Array], lag: int) -> Array:
    """Covariance of all stations with all stations ``lag`` hours later, made symmetric."""
    total = np.zeros((residuals[0].shape[1],) * 2)
    pairs = np.zeros_like(total)
    for r in residuals:
        a, b = r[: len(r) - lag], r[lag:]
        total += np.nan_to_num(a).T @ np.nan_to_num(b)
        pairs += (~np.isnan(a)).T.astype(float) @ (~np.isnan(b)).astype(float)
    C = total / pairs
    return np.asarray((C + C.T) / 2)


def parts_of(residuals: list[Array]) -> dict[str, Array]:
    """Level, fast and slow decay and season whose sum fits the covariances at all lags."""
    season = np.exp(-2.0 * np.sin(np.pi * LAGS / HOURS) ** 2 / SEASON**2)
    basis = np.stack([np.ones(len(LAGS)), FAST**LAGS, SLOW**LAGS, season, LAGS == 0], axis=1)
    C = np.stack([lagged(residuals, int(lag)) for lag in LAGS])
    found = np.linalg.lstsq(basis, C.reshape(len(LAGS), -1), rcond=None)[0]
    level, fast, slow, season_part, _ = found.reshape(5, *C.shape[1:])
    return {"level": level, "fast": fast, "slow": slow, "season": SEASON_WEIGHT * season_part}


def cut(C: Array, rank: int) -> dict[str, Any]:
    """A covariance as a few factors and the variances that they leave."""
    value, vector = np.linalg.eigh(C)
    F = vector[:, -rank:] * np.sqrt(np.maximum(value[-rank:], 0.0))
    own = np.maximum(np.diagonal(C) - (F**2).sum(axis=1), 1e-3)
    return {"factor": np.round(F, 3).tolist(), "own": np.round(own, 3).tolist()}


def learn(years: list[int]) -> dict[str, Any]:
    """The content of the file."""
    stations, tables = measured(years)
    profile = profile_of(tables)
    residuals = [table - np.tile(profile, (len(table) // HOURS, 1)) for table in tables]
    parts = parts_of(residuals)
    clocks: dict[str, dict[str, Any]] = {
        "level": {"part": "level"},
        "fast": {"part": "decay", "eps": round(1.0 - FAST**2, 4)},
        "slow": {"part": "decay", "eps": round(1.0 - SLOW**2, 4)},
        "season": {"part": "season", "length_scale": SEASON, "harmonics": HARMONICS},
    }
    return {
        "format": "periodic-gp prior",
        "version": 1,
        "about": ABOUT.format(years=" and ".join(map(str, years))),
        "period": float(HOURS),
        "transform": "log1p",
        "stations": [int(station) for station in stations],
        "places": np.round(coordinates_km(stations), 3).tolist(),
        "profile": np.round(profile, 2).tolist(),
        "noise_variance": NOISE_VARIANCE,
        "terms": [clocks[name] | cut(parts[name], RANKS[name]) for name in clocks],
    }


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--years", type=int, nargs="+", default=[2016, 2017])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    text = json.dumps(learn(options.years), separators=(",", ":"))
    options.output.write_text(text + "\n", encoding="utf-8")
    print(f"{options.output}: {len(text):,} bytes, from {options.years}")


if __name__ == "__main__":
    main()
