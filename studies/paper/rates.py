"""Corollary 1: how fast the maximum information gain grows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from agents.gp import ActionKernel, Finite, Linear, Matern, Periodic, SquaredExponential
from periodic_envs.arrays import Array
from studies.claims import Claim, Verdict
from studies.markdown import markdown_table
from studies.pictures import BLUE, ORANGE, new_figure
from studies.theory import power, power_of_log, season_gain

SHORT_PERIOD = 5
"""Of the season over which growth is followed for long."""


def action_gram(kernel: ActionKernel, x: Array) -> Array:
    """Covariance of actions with coordinates x."""
    points = Finite(x).points()
    return kernel(points, points)


def season_lags(tau: int) -> Array:
    """Time between any two phases of a season."""
    return np.subtract.outer(np.arange(tau), np.arange(tau)).astype(np.float64)


@dataclass(frozen=True)
class Rate:
    """One rate of Corollary 1.

    Attributes:
        name: Of the kernel.
        kernel: On the actions.
        dim: Their dimension d.
        stated: The rate as a function of T / tau, up to a constant.
        measure: What is read from (T / tau, gamma): an exponent, or the rise with log(T / tau).
        limit: What it must not exceed by the corollary.
    """

    name: str
    kernel: ActionKernel
    dim: int
    stated: Callable[[Array], Array]
    measure: Callable[[Array, Array], float]
    limit: float


def _linear(dim: int) -> Rate:
    """At most d tau directions can be learned, each worth 1/2 log T in the end."""
    limit = dim * SHORT_PERIOD / 2.0
    return Rate(f"linear, d = {dim}, rise with log", Linear(), dim, np.log, rise, limit)


def _smooth(dim: int) -> Rate:
    name = f"squared exponential, d = {dim}, power of log"
    return Rate(
        name,
        SquaredExponential(1.0),
        dim,
        lambda t: np.log(t) ** (dim + 1),
        power_of_log,
        dim + 1.0,
    )


def _rough(nu: float) -> Rate:
    exponent = 2.0 / (2.0 * nu + 2.0)  # d (d + 1) / {2 nu + d (d + 1)} with d = 1
    return Rate(
        f"Matern {2 * nu:g}/2, d = 1, power beside a log",
        Matern(nu, 1.0),
        1,
        lambda t: t**exponent * np.log(t),
        lambda t, gamma: power(t, gamma / np.log(t)),
        exponent,
    )


def rise(t: Array, gamma: Array) -> float:
    """Slope of gamma against log(T / tau), over the upper half of the range."""
    upper = t**2 >= t[0] * t[-1]
    return float(np.polyfit(np.log(t[upper]), gamma[upper], 1)[0])


RATES = (_linear(1), _linear(2), _smooth(1), _smooth(2), _rough(1.5), _rough(2.5))


def growth(number: int, *, seasons: int) -> tuple[Array, Array, float]:
    """T / tau, gamma^S_T of greedy designs, and what is read from them, for one of ``RATES``."""
    rate = RATES[number]
    side = np.linspace(-1.0, 1.0, 120 if rate.dim == 1 else 11)
    grid = np.stack(np.meshgrid(*[side] * rate.dim), axis=-1).reshape(-1, rate.dim)
    # A line of ten length-scales, a square of four; linear kernels within the unit ball.
    linear = isinstance(rate.kernel, Linear)
    stretch = 1.0 / np.sqrt(rate.dim) if linear else {1: 5.0, 2: 2.0}[rate.dim]
    season = Periodic(SHORT_PERIOD, 1.0)(season_lags(SHORT_PERIOD))
    rounds = seasons * SHORT_PERIOD
    actions = action_gram(rate.kernel, stretch * grid)
    low = season_gain(actions, season, rounds=rounds, noise_variance=1.0).low
    ends = np.arange(SHORT_PERIOD, rounds + 1, SHORT_PERIOD)
    t, gamma = (ends / SHORT_PERIOD)[1:], low[ends - 1][1:]
    return t, gamma, rate.measure(t, gamma)


def corollary_claim(grown: list[tuple[Array, Array, float]]) -> Claim:
    """Whether all rates are kept."""
    pairs = list(zip(grown, RATES, strict=True))
    parts = [found <= 1.05 * rate.limit for (_, _, found), rate in pairs]
    listed = "; ".join(
        f"{rate.name}: {found:.2f} (at most {rate.limit:.2f})" for (_, _, found), rate in pairs
    )
    return Claim(
        "Section 4.3, Corollary 1",
        "gamma^S_T grows no faster than d tau log(T/tau) for linear, tau (log(T/tau))^(d+1) for "
        "squared exponential, and (T/tau)^{d(d+1)/(2 nu + d(d+1))} tau log(T/tau) for Matern "
        "kernels.",
        f"Read from greedy designs: {listed}. Counted as met within 5 %; over a finite range that "
        "is a tendency, no proof. (The limits for linear kernels are those of d tau directions, "
        "each worth 1/2 log T.)",
        Verdict.HOLDS if all(parts) else Verdict.IN_PART if any(parts) else Verdict.FAILS,
        {rate.name: found for (_, _, found), rate in pairs},
    )


def growth_table(grown: list[tuple[Array, Array, float]]) -> str:
    """A row for each rate."""
    rows = [
        [rate.name, f"{gamma[-1]:.1f}", f"{found:.2f}", f"{rate.limit:.2f}"]
        for (_, gamma, found), rate in zip(grown, RATES, strict=True)
    ]
    return markdown_table(["kernel", "gamma at the end", "found", "limit"], rows)


def growth_figure(grown: list[tuple[Array, Array, float]]) -> Figure:
    """A panel for each rate."""
    figure, panels = new_figure(10.0, 5.6, 2, 3)
    for axes, (t, gamma, found), rate in zip(panels, grown, RATES, strict=True):
        stated = rate.stated(t)
        shown = np.unique(np.geomspace(1, len(t), 24).astype(int)) - 1
        middle = len(t) // 4
        axes.plot(t[shown], gamma[shown], "o", color=BLUE, markersize=4, label="gamma^S_T")
        axes.plot(t, stated * gamma[middle] / stated[middle], color=ORANGE, label="stated rate")
        axes.set(title=f"{rate.name}: {found:.2f}", xscale="log", yscale="log", xlabel="T / tau")
        axes.title.set_fontsize(8)
        axes.grid(alpha=0.3)
        axes.xaxis.set_major_locator(LogLocator(2.0, numticks=6))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_locator(LogLocator(10.0, subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    panels[0].legend(frameon=False, fontsize=8)
    return figure
