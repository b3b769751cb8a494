"""Section 4: Theorem 1's bound beside measured regret, and how fast regret grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from agents.gp import BoxBeta, Finite, FiniteBeta, Periodic, SquaredExponential
from evaluation.plots import curves
from evaluation.results import Results
from evaluation.statistics import growth_exponent
from periodic_envs.arrays import Array
from studies.claims import Claim, Section, Verdict, together
from studies.comparison import share
from studies.markdown import estimates, listed, markdown_table, shown
from studies.methods import METHODS, PERIODIC, entries
from studies.paper.size import PaperLab
from studies.paper.synthetic import KNOWING, TRUE, as_printed
from studies.pictures import BLUE, new_figure
from studies.theory import regret_bound, season_gain, slope_constants

NAME = "bounds"
DELTA, STEPS, PERIOD, WIDTH, ARMS, GRID = 0.1, 200, 20, 10.0, 50, 101
SUBLINEAR = 0.75
FINITE, BOX = "50 actions", "an interval"
WORLDS = {FINITE: "PeriodicGP-SyntheticDiscrete-v0", BOX: "PeriodicGP-Synthetic-v0"}


def section(lab: PaperLab) -> Section:
    """The whole study."""
    results = {case: _runs(lab, case) for case in WORLDS}
    bounds = dict(zip(WORLDS, lab.map("bounds", bound, list(WORLDS)), strict=True))
    long = lab.run(
        f"{NAME}-long",
        envs=[WORLDS[BOX]],
        agents=[*entries(as_printed()), KNOWING],
        seeds=lab.size.long_seeds,
        horizon=lab.size.long_steps,
    )
    exponents = {
        method: growth_exponent(long.curves(WORLDS[BOX], method).regret)
        for method in (*METHODS, TRUE)
    }
    c1, c2 = slope_constants(WIDTH, length_scale=1.0)
    text = [
        "Worlds drawn from the agent's own prior (action l = 1, time l = 1, noise 1), as Theorem "
        f"1 assumes, and its beta_t with delta = {DELTA:g}. On the interval its constants of "
        f"smoothness are c1 = {c1:.2f} and c2 = {c2:.2f}, from Rice's formula, and gamma is "
        f"bounded on a grid of {GRID} points.",
        lab.picture(
            _figure(results, bounds),
            "theorem1",
            f"Theorem 1's bound (black) and the regret of {lab.size.bound_runs} runs (blue; "
            "dashed: choosing at random)",
        ),
        f"How regret grows over {lab.size.long_steps:,} steps ({lab.size.long_seeds} synthetic "
        "worlds): the exponent p of R(t) ~ t^p after the first quarter.",
        markdown_table(
            ["method", "exponent"], [[m, shown(found, 2)] for m, found in exponents.items()]
        ),
        lab.picture(curves(long), "long", "Mean cumulative regret in the long runs, 95 % bands"),
    ]
    claims = [_theorem_1(case, results[case], bounds[case]) for case in WORLDS]
    return Section(NAME, "Regret bounds (Section 4)", [*claims, _growth(exponents)], text)


def _agent(case: str) -> dict[str, Any]:
    c1, c2 = slope_constants(WIDTH, length_scale=1.0)
    beta = f"finite:{DELTA:g}" if case == FINITE else f"box:{DELTA:g}:{c1!r}:{c2!r}"
    settings = {"time_length_scale": 1, "beta": beta}
    return {"name": METHODS[PERIODIC], "label": PERIODIC, "settings": settings}


def _runs(lab: PaperLab, case: str) -> Results:
    name = f"{NAME}-{'finite' if case == FINITE else 'box'}"
    seeds = lab.size.bound_runs
    return lab.run(name, envs=[WORLDS[case]], agents=[_agent(case)], seeds=seeds, horizon=STEPS)


def bound(case: str) -> Array:
    """Theorem 1's bound for T = 1, ..., 200."""
    points = Finite(np.linspace(-WIDTH / 2, WIDTH / 2, ARMS if case == FINITE else GRID)[:, None])
    actions = SquaredExponential(1.0)(points.points(), points.points())
    lags = np.subtract.outer(np.arange(PERIOD), np.arange(PERIOD)).astype(np.float64)
    gamma = season_gain(actions, Periodic(PERIOD, 1.0)(lags), rounds=STEPS, noise_variance=1.0).high
    c1, c2 = slope_constants(WIDTH, length_scale=1.0)
    schedule: Any = (
        FiniteBeta(ARMS, DELTA) if case == FINITE else BoxBeta(1, WIDTH, DELTA, c1=c1, c2=c2)
    )
    steps = np.arange(1, STEPS + 1)
    beta = np.array([schedule(float(t)) for t in steps])
    return regret_bound(steps, beta=beta, gamma=gamma, noise_variance=1.0)


def _regret(results: Results, case: str, agent: str, track: str = "online") -> Array:
    """Cumulative regret, shape (runs, steps)."""
    return np.cumsum(results.curves(WORLDS[case], agent, track).regret, axis=1)


def _theorem_1(case: str, results: Results, limit: Array) -> Claim:
    regret = _regret(results, case, PERIODIC)
    held = share([bool((run <= limit).all()) for run in regret])
    random = _regret(results, case, "uniform-random", "references")[:, -1].mean()
    return Claim(
        f"Section 4.2, Theorem 1, {case}",
        "With probability 1 - delta regret stays below sqrt(c3 T beta_T gamma_T) + pi^2/6 for "
        "all T.",
        f"It did in {shown(held, 0, factor=100.0)} % of {len(regret)} runs (delta = {DELTA:g} asks "
        f"for {1 - DELTA:.0%}). At T = {STEPS} the bound is {limit[-1]:,.0f}, "
        f"{limit[-1] / regret[:, -1].mean():.0f} times the mean regret of "
        f"{regret[:, -1].mean():,.0f}, and {limit[-1] / random:.0f} times that of choosing at "
        f"random ({random:,.0f}): true, but it says nothing at this length.",
        Verdict.HOLDS if held.estimate >= 1 - DELTA else Verdict.FAILS,
        {"share": held.estimate, "bound": float(limit[-1]), "regret": float(regret[:, -1].mean())},
    )


def _growth(exponents: dict[str, Any]) -> Claim:
    ours = [exponents[TRUE].high < SUBLINEAR, exponents[PERIODIC].high < SUBLINEAR]
    theirs = [bool(exponents[m].high >= 1.0) for m in ("TV-GP-UCB", "R-GP-UCB")]
    return Claim(
        "Section 4.3, after Corollary 1",
        "Periodic-GP-UCB's regret grows like sqrt(T) up to logarithms; R-GP-UCB's and "
        "TV-GP-UCB's approach T in a periodic world.",
        f"Exponents: {listed(exponents)}. Counted as sublinear if the interval ends below "
        f"{SUBLINEAR:g}, as linear if it reaches 1. The theory is about the agent that knows its "
        "world (l = 1); l = 10 is what the paper prints.",
        together([*ours, *theirs]),
        estimates(exponents),
    )


def _figure(results: dict[str, Results], bounds: dict[str, Array]) -> Figure:
    figure, panels = new_figure(10.0, 4.0, 1, 2)
    steps = np.arange(1, STEPS + 1)
    for axes, (case, limit) in zip(panels, bounds.items(), strict=True):
        regret = _regret(results[case], case, PERIODIC)
        random = _regret(results[case], case, "uniform-random", "references")
        axes.plot(steps, regret.T, color=BLUE, alpha=0.25, linewidth=0.5)
        axes.plot(steps, random.mean(0), color="0.3", linestyle="--")
        axes.plot(steps, limit, color="black")
        axes.set(title=case, xlabel="T", ylabel="cumulative regret", yscale="log", ylim=(1.0, None))
        axes.grid(alpha=0.3)
    return figure
