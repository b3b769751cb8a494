"""Simulated beside real NO in Madrid: a table and a picture.

Ten-day windows from the 3rd of every month; the simulator draws the same dates. 2016 and 2017 are
the years of the calibration, 2018 was kept out of it and of every choice about the model.

    python -m studies.madrid.compare [FOLDER WITH Anio2016.zip TO Anio2018.zip]

writes docs/madrid_simulator.md and docs/madrid_simulator.png.
"""

import argparse
import datetime
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import skew

from periodic_envs.arrays import Array
from periodic_envs.data.madrid.simulator import HOURS_PER_DAY, MadridSimulator
from periodic_envs.files import write_figure
from studies.madrid.calibrate import DEFAULT_FOLDER, ROOT, no_table
from studies.markdown import markdown_table
from studies.pages import write_part
from studies.stamp import make_stamp

DAYS = 10
SEEDS = 40
STUDY, WORLD = "studies.madrid.compare", "PeriodicGP-MadridSim-v0"
GROUPS = {"2016-2017": (2016, 2017), "2018 (held out)": (2018,)}
LAGS_HOURS = (1, 3, 6, 12, 24, 48)
POLICIES = {
    "static": "best static station in hindsight",
    "hourly": "best station per hour of day in hindsight",
    "last": "last hour's true best station",
    "uniform": "uniform choice",
}

Row = dict[str, float]
COLOURS = ("#222222", "#d1495b")
NAMES = ("real", "simulated")


def real_window(table: pd.DataFrame, start: datetime.date) -> tuple[Array, float]:
    """One window without gaps, and the share that was filled.

    Gaps are interpolated in time; a station silent all along gets the median of the others.
    """
    first = pd.Timestamp(start)
    window = table.loc[first : first + pd.Timedelta(hours=DAYS * HOURS_PER_DAY - 1)]
    filled = window.interpolate(limit_direction="both").round()
    filled = filled.T.fillna(filled.median(axis=1)).T
    return filled.to_numpy(), float(window.isna().to_numpy().mean())


def profile(no: Array) -> Array:
    """Mean by hour of day and station."""
    return np.asarray(no.reshape(DAYS, HOURS_PER_DAY, -1).mean(axis=0))


def residuals(no: Array) -> Array:
    """log NO around the window's own profile."""
    log_no = np.log(no)
    return log_no - np.tile(profile(log_no), (DAYS, 1))


def autocorrelation(no: Array, lag: int) -> float:
    """Of the residuals, all stations together."""
    rest = residuals(no)
    return float((rest[lag:] * rest[:-lag]).mean() / (rest**2).mean())


def regrets(no: Array) -> dict[str, float]:
    """Mean regret per hour of the policies that look for the maximum."""
    hours = np.arange(len(no))
    hour = hours % HOURS_PER_DAY
    best = no.max(axis=1)
    by_hour = profile(no).argmax(axis=1)[hour]
    return {
        "static": float(np.mean(best - no[:, no.mean(axis=0).argmax()])),
        "hourly": float(np.mean(best - no[hours, by_hour])),
        "last": float(np.mean(best[1:] - no[hours[1:], no.argmax(axis=1)[:-1]])),
        "uniform": float(np.mean(best - no.mean(axis=1))),
    }


def describe(no: Array) -> Row:
    """Everything the table has about one window."""
    row: Row = {"mean": no.mean(), "standard deviation": no.std(), "skewness": skew(no.ravel())}
    row |= {f"{q} % quantile": np.quantile(no, q / 100) for q in (10, 50, 90, 99)}
    row["share of ones"] = np.mean(no == 1.0)
    row |= {f"autocorrelation, {lag} h": autocorrelation(no, lag) for lag in LAGS_HOURS}
    # Two stations silent at their floor for ten days have no correlation.
    varying = residuals(no)[:, residuals(no).std(axis=0) > 0]
    between = np.corrcoef(varying.T)
    row["correlation between stations"] = between[np.triu_indices(len(between), 1)].mean()
    holder = no.argmax(axis=1)
    row["share of hours of the most frequent maximum"] = np.bincount(holder).max() / len(no)
    row["stations that are the maximum in an hour"] = len(set(holder))
    row["stations with the highest mean at an hour of day"] = len(set(profile(no).argmax(axis=1)))
    row["stations with the lowest mean at an hour of day"] = len(set(profile(no).argmin(axis=1)))
    row["hours a maximum lasts"] = len(no) / (1 + np.count_nonzero(np.diff(holder)))
    for sign, goal in ((1.0, "max"), (-1.0, "min")):
        regret = regrets(sign * no)
        row |= {f"{goal}: {text}": regret[name] for name, text in POLICIES.items()}
        row |= {
            f"{goal}: {text}, share of uniform": regret[name] / regret["uniform"]
            for name, text in POLICIES.items()
            if name != "uniform"
        }
    return row


class Comparison:
    """Real windows of some years and the simulated ones of the same dates."""

    def __init__(self, tables: list[pd.DataFrame], *, simulator: MadridSimulator) -> None:
        years = [table.index[0].year for table in tables]
        self.starts = [datetime.date(year, month, 3) for year in years for month in range(1, 13)]
        table = pd.concat(tables)
        windows = [real_window(table, start) for start in self.starts]
        self.real = [no for no, _ in windows]
        self.filled = float(np.mean([filled for _, filled in windows]))
        # A stream of its own for every date and seed: a longer list leaves the others as they are.
        self.simulated = [
            simulator.simulate(
                np.random.default_rng([seed, start.toordinal()]), start=start, days=DAYS
            )
            for seed in range(SEEDS)
            for start in self.starts
        ]

    def table(self) -> pd.DataFrame:
        """Means over windows, and how far simulated sets of as many windows scatter."""
        real = pd.DataFrame([describe(no) for no in self.real])
        simulated = pd.DataFrame([describe(no) for no in self.simulated])
        by_seed = simulated.groupby(np.arange(len(simulated)) // len(self.starts)).mean()
        table = pd.DataFrame({"real": real.mean(), "simulated": simulated.mean()})
        table["scatter"] = by_seed.std()
        table.loc["daily profile: mean distance from the simulated one"] = self.profile_distances()
        table.loc["share of missing values filled"] = [self.filled, 0.0, 0.0]
        return table

    def profile_distances(self) -> tuple[float, float, float]:
        """Of the real profile, and of one simulated set's, from the mean of all simulated ones."""
        sets = np.stack([profile(no) for no in self.simulated])
        sets = sets.reshape(SEEDS, len(self.starts), *sets.shape[1:]).mean(axis=1)
        real = np.mean([profile(no) for no in self.real], axis=0)
        distances = np.abs(sets - sets.mean(axis=0)).mean(axis=(1, 2))
        own = np.abs(real - sets.mean(axis=0)).mean()
        return float(own), float(distances.mean()), float(distances.std())

    def groups(self) -> Iterator[tuple[list[Array], str, str]]:
        """Real and simulated windows with their name and colour."""
        return zip((self.real, self.simulated), NAMES, COLOURS, strict=True)


def draw_distribution(axes: Axes, comparison: Comparison) -> None:
    """Share of hours and stations above a value."""
    for group, name, colour in comparison.groups():
        values = np.sort(np.concatenate([no.ravel() for no in group]))
        at = np.unique(values)
        above = 1.0 - np.searchsorted(values, at, side="left") / len(values)
        axes.loglog(at, above, color=colour, label=name)
    axes.set(title="Distribution", xlabel="NO, ug/m3", ylabel="share of hours at least as high")
    axes.set_ylim(1e-5, 1.3)
    axes.legend(frameon=False)


def draw_profile(axes: Axes, comparison: Comparison) -> None:
    """Median over windows and stations by hour of day, with the middle half."""
    hours = np.arange(HOURS_PER_DAY)
    for group, name, colour in comparison.groups():
        by_hour = np.stack([no.reshape(DAYS, HOURS_PER_DAY, -1) for no in group])
        by_hour = np.moveaxis(by_hour, 2, 0).reshape(HOURS_PER_DAY, -1)
        low, median, high, top = np.quantile(by_hour, [0.25, 0.5, 0.75, 0.95], axis=1)
        axes.fill_between(hours, low, high, color=colour, alpha=0.2, lw=0)
        axes.plot(hours, median, color=colour, label=name)
        axes.plot(hours, top, color=colour, ls=":")
    axes.set(title="Day: median, middle half, 95 % (dots)", xlabel="hour of day", ylabel="ug/m3")
    axes.set_yscale("log")
    axes.set_xticks(range(0, 25, 6))


def draw_autocorrelation(axes: Axes, comparison: Comparison) -> None:
    """Mean over windows, up to three days."""
    lags = np.arange(1, 73)
    for group, name, colour in comparison.groups():
        mean = [np.mean([autocorrelation(no, int(lag)) for no in group[:72]]) for lag in lags]
        axes.plot(lags, mean, color=colour, label=name)
    axes.axhline(0.0, color="grey", lw=0.5)
    axes.set(title="Autocorrelation of log NO residuals", xlabel="hours apart", xticks=lags[23::24])


def draw_maxima(axes: Axes, comparison: Comparison, stations: tuple[int, ...]) -> None:
    """Who is the maximum how often."""
    for shift, (group, name, colour) in zip((-0.2, 0.2), comparison.groups(), strict=True):
        holder = np.concatenate([no.argmax(axis=1) for no in group])
        share = np.bincount(holder, minlength=len(stations)) / len(holder)
        axes.bar(np.arange(len(stations)) + shift, share, 0.4, color=colour, label=name)
    axes.set_xticks(range(len(stations)), list(map(str, stations)), fontsize=7)
    axes.set(title="Share of hours a station is the maximum", xlabel="station")


def draw_policies(axes: Axes, table: pd.DataFrame) -> None:
    """Regret of every policy, with twice the scatter of simulated sets."""
    rows = [f"{goal}: {text}" for goal in ("max", "min") for text in POLICIES.values()]
    where = np.arange(len(rows))
    for shift, name, colour in zip((-0.2, 0.2), NAMES, COLOURS, strict=True):
        scatter = 2.0 * table.loc[rows, "scatter"] if name == "simulated" else None
        values = table.loc[rows, name]
        axes.barh(where + shift, values, 0.4, color=colour, xerr=scatter, ecolor="grey")
    axes.set_yticks(where, [f"{goal}, {name}" for goal in ("max", "min") for name in POLICIES])
    axes.set(title="Regret, ug/m3 per hour (log scale)", xscale="log")
    axes.invert_yaxis()


def draw_window(axes: Axes, no: Array, title: str, stations: tuple[int, ...]) -> None:
    """All stations over ten days, on a logarithmic scale."""
    image = axes.imshow(no.T, aspect="auto", norm="log", vmin=1, vmax=500, interpolation="nearest")
    axes.set_yticks(range(len(stations)), list(map(str, stations)), fontsize=6)
    axes.set_xticks(range(0, len(no) + 1, HOURS_PER_DAY), list(map(str, range(DAYS + 1))))
    axes.set(title=title, xlabel="days", ylabel="station")
    axes.figure.colorbar(image, ax=axes, label="NO, ug/m3", pad=0.01)


def draw(
    comparison: Comparison, table: pd.DataFrame, path: Path, stations: tuple[int, ...]
) -> None:
    """The whole picture."""
    figure = Figure(figsize=(15, 15), layout="constrained")
    years = sorted({start.year for start in comparison.starts})
    figure.suptitle(f"NO at Madrid's 24 stations, ten-day windows of {years[0]} to {years[-1]}")
    grid = figure.add_gridspec(4, 6)
    draw_distribution(figure.add_subplot(grid[0, :2]), comparison)
    draw_profile(figure.add_subplot(grid[0, 2:4]), comparison)
    draw_autocorrelation(figure.add_subplot(grid[0, 4:]), comparison)
    draw_maxima(figure.add_subplot(grid[1, :4]), comparison, stations)
    draw_policies(figure.add_subplot(grid[1, 4:]), table)
    # The first November and the first simulated one: not chosen for their looks.
    november = next(i for i, start in enumerate(comparison.starts) if start.month == 11)
    start = comparison.starts[november]
    for row, (group, name, _) in enumerate(comparison.groups(), 2):
        axes = figure.add_subplot(grid[row, :])
        title = f"{name}: ten days from {start.day} {start:%B %Y}" + (
            ", seed 0" if row == 3 else ""
        )
        draw_window(axes, group[november], title, stations)
    write_figure(figure, path, dpi=80)


def markdown(tables: dict[str, pd.DataFrame]) -> str:
    """The tables of all groups of years side by side; real values out of reach are bold."""
    header = ["", *(f"{kind} {group}" for group in tables for kind in NAMES)]
    rows = []
    for row in next(iter(tables.values())).index:
        cells = []
        for table in tables.values():
            real, simulated, scatter = table.loc[row]
            mark = "**" if scatter and abs(real - simulated) > 2.0 * scatter else ""
            cells.append(f"{mark}{real:.3g}{mark}")
            cells.append(f"{simulated:.3g}" + (f" ± {scatter:.2g}" if scatter else ""))
        rows.append([row, *cells])
    return markdown_table(header, rows)


def main() -> None:
    """Compare, print, draw and write."""
    parser = argparse.ArgumentParser(description="Compare simulated and real NO in Madrid.")
    parser.add_argument("folder", type=Path, nargs="?", default=DEFAULT_FOLDER)
    folder = parser.parse_args().folder
    simulator = MadridSimulator.calibrated()
    comparisons, tables = {}, {}
    for name, years in GROUPS.items():
        measured = [no_table(folder / f"Anio{year}.zip") for year in years]
        comparisons[name] = Comparison(measured, simulator=simulator)
        tables[name] = comparisons[name].table()
    figures = markdown(tables)
    print(figures)
    docs = ROOT / "docs"
    first = next(iter(GROUPS))
    draw(comparisons[first], tables[first], docs / "madrid_simulator.png", simulator.stations)
    stamp = make_stamp(f"python -m {STUDY}", study=STUDY, worlds=[WORLD], part="table")
    write_part(docs / "madrid_simulator.md", figures, stamp)


if __name__ == "__main__":
    main()
