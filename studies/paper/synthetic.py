"""Section 5.1: the synthetic world and the five methods in it (Figures 3 and 4)."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from matplotlib.figure import Figure

from agents.gp import Periodic
from evaluation.plots import curves
from periodic_envs.env import PeriodicBanditEnv
from studies.claims import Claim, Section, Verdict, together
from studies.comparison import Comparison, readings_table, written_order
from studies.lab import regrets
from studies.markdown import listed, shown
from studies.methods import GP, METHODS, PERIODIC, Settings, entries
from studies.paper.pretraining import synthetic_eps
from studies.paper.size import PaperLab
from studies.pictures import new_figure

WORLD, PERIOD, SHOWN_STEPS = "PeriodicGP-Synthetic-v0", 20.0, 70
STATED, MOVING = 10.0, 1.0
"""Time length-scales: the one that the paper prints, and one that changes visibly."""
TRUE, SLOW = "Periodic-GP-UCB, l = 1", "TV-GP-UCB, eps = 0.03"
"""Settings of ours beside the paper's: the world's own length-scale, and slower forgetting."""
KNOWING = {"name": METHODS[PERIODIC], "label": TRUE, "settings": {"time_length_scale": MOVING}}
"""Periodic-GP-UCB that knows this world, for a protocol."""
STILL = 0.25
"""A world that moves by less than this share of its spread within a season is called still."""
NAME = "synthetic"


def section(lab: PaperLab) -> Section:
    """The whole study."""
    settings = as_printed()
    slow = {"name": METHODS["TV-GP-UCB"], "label": SLOW, "settings": {"eps": 0.03}}
    agents = [*entries(settings), KNOWING, slow]
    results = lab.run(NAME, envs=[WORLD], agents=agents, seeds=lab.size.seeds)
    main = Comparison(regrets(results))
    readings = _readings(lab, settings)
    claims = [_figure_3(), *_figure_4(main), _stated_world(readings["world drawn with l = 10"])]
    text = [
        "One continuous action over ten length-scales, a season of 20 steps, 200 steps, noise of "
        f"standard deviation 1; {main.runs} worlds, the same for all methods. Length-scales and "
        "beta are as printed (action l = 1, time l = 10, R-GP-UCB's block 15); TV-GP-UCB's eps = "
        f"{settings['TV-GP-UCB']['eps']:.3g} comes from worlds of other seeds, by evidence. The "
        "world is drawn with a time length-scale of 1: the printed 10 gives one that stands "
        "almost still.",
        lab.picture(
            _landscapes(),
            "figure3",
            "Figure 3: the first 70 steps of one world, drawn with time length-scale 1 (as used "
            "here) and 10 (as printed)",
        ),
        lab.picture(
            curves(results),
            "figure4",
            f"Figure 4: mean cumulative regret over {main.runs} worlds with 95 % bands",
        ),
        main.table([*METHODS, TRUE, SLOW]),
        "Other readings of the paper (the sign of beta, the length-scale, 2 tau), mean "
        f"regret over {lab.size.side_seeds} worlds:",
        readings_table(readings, 1, change=False),
    ]
    return Section(NAME, "Synthetic data (Section 5.1)", claims, text)


def as_printed() -> dict[str, dict[str, float]]:
    """Settings in this world: as the paper prints them, and TV-GP-UCB's eps, which it does not."""
    return {"TV-GP-UCB": {"eps": synthetic_eps()}}


def _readings(lab: PaperLab, settings: Settings) -> dict[str, Comparison]:
    """Each ambiguous point read the other way, one at a time."""
    still = [{"id": WORLD, "arguments": {"time_length_scale": STATED}}]
    slow = {**settings, "TV-GP-UCB": {"eps": synthetic_eps(STATED)}}
    doubled = {**settings, PERIODIC: {"period": 2 * PERIOD}}
    runs: dict[str, tuple[list[Any], list[Any]]] = {
        "as above": ([WORLD], entries(settings)),
        "exploration weight beta^(-1/2), as printed": ([WORLD], entries(settings, beta="printed")),
        "world drawn with l = 10": (still, entries(slow)),
        "agent with 2 tau in the kernel (Section 4.1)": ([WORLD], entries(doubled)),
    }
    return {
        reading: Comparison(
            regrets(
                lab.run(f"{NAME}-{number}", envs=envs, agents=agents, seeds=lab.size.side_seeds)
            )
        )
        for number, (reading, (envs, agents)) in enumerate(runs.items(), 1)
    }


def movement(length_scale: float) -> float:
    """Standard deviation over a season at one action, as a share of the prior's.

    The mean over phases t, s of 1 - k(t, s) is the expected variance around the season's mean.
    """
    lags = np.arange(PERIOD)
    return float(np.sqrt(1.0 - Periodic(PERIOD, length_scale)(lags).mean()))


def _figure_3() -> Claim:
    stated, moving = movement(STATED), movement(MOVING)
    lowest = float(Periodic(PERIOD, STATED)(np.array(PERIOD / 2)))
    return Claim(
        "Section 5.1, Figure 3",
        "In the synthetic world, of a periodic kernel with length-scale 10, the reward changes so "
        "much that the assumption of a stationary one is seriously violated.",
        f"With length-scale 10 a draw moves by {stated:.0%} of its standard deviation within a "
        f"season (the kernel never falls below {lowest:.3f}); with 1 by {moving:.0%}. A world of "
        "the stated kernel stands almost still; we have not seen the paper's figure.",
        Verdict.FAILS if stated < STILL else Verdict.HOLDS,
        {"movement l=10": stated, "movement l=1": moving},
    )


def _figure_4(main: Comparison) -> list[Claim]:
    where = "Section 5.1, Figure 4"
    others = [method for method in METHODS if method != PERIODIC]
    quick = [main.better(a, b) for a in ("R-GP-UCB", "TV-GP-UCB") for b in (GP, "C-GP-UCB")]
    gaps = "; ".join(f"{m} {shown(main.minus(PERIODIC, m), sign=True)}" for m in others)
    context = main.minus("C-GP-UCB", GP)
    return [
        Claim(
            where,
            "Periodic-GP-UCB has the least cumulative regret of the five methods.",
            f"{shown(main.mean(PERIODIC))} (l = 10 as printed; {shown(main.mean(TRUE))} with the "
            f"world's l = 1); minus each of the others: {gaps}.",
            main.least(PERIODIC),
            {**main.numbers(), TRUE: main.mean(TRUE).estimate},
        ),
        Claim(
            where,
            "R-GP-UCB and TV-GP-UCB do better than GP-UCB and C-GP-UCB.",
            f"The order is {written_order(main.order())}: "
            f"{listed({m: main.mean(m) for m in others}, 1)}. With eps = 0.03 instead of the "
            f"fitted one TV-GP-UCB has {shown(main.mean(SLOW))}. Of the four pairs "
            f"{quick.count(True)} are as the paper says.",
            together(quick),
        ),
        Claim(
            where,
            "Time as a context (C-GP-UCB) is no great improvement over GP-UCB.",
            f"C-GP-UCB minus GP-UCB: {shown(context, sign=True)}: it is "
            + ("worse." if main.better(GP, "C-GP-UCB") else "not clearly worse."),
            Verdict.FAILS if main.better("C-GP-UCB", GP) else Verdict.HOLDS,
        ),
    ]


def _stated_world(still: Comparison) -> Claim:
    return Claim(
        "Section 5.1 with its stated kernel",
        "Periodic-GP-UCB has the least regret in a world drawn from the printed kernel (l = 10).",
        f"The order is {written_order(still.order())}; Periodic-GP-UCB's regret is "
        f"{shown(still.ratio(PERIODIC), 2)} times GP-UCB's. (TV-GP-UCB's eps, fitted to such "
        f"worlds, is {synthetic_eps(STATED):.2g}.)",
        still.least(PERIODIC),
        still.numbers(),
        ours=True,
    )


def _landscapes() -> Figure:
    figure, panels = new_figure(10.0, 3.6, 1, 2, sharey=True)
    drawn = {length_scale: _landscape(length_scale) for length_scale in (MOVING, STATED)}
    most = max(np.abs(values).max() for values in drawn.values())
    for axes, (length_scale, values) in zip(panels, drawn.items(), strict=True):
        image = axes.imshow(
            values,
            vmin=-most,
            vmax=most,
            aspect="auto",
            origin="lower",
            extent=(0.0, SHOWN_STEPS, -1.0, 1.0),
            cmap="viridis",
        )
        axes.set(title=f"time length-scale {length_scale:g}", xlabel="time t")
    figure.colorbar(image, ax=panels, label="mean reward", pad=0.02)
    panels[0].set_ylabel("action")
    return figure


def _landscape(length_scale: float) -> Any:
    """Mean rewards (actions, steps) of one world."""
    env = gym.make(WORLD, time_length_scale=length_scale).unwrapped
    assert isinstance(env, PeriodicBanditEnv)
    env.reset(seed=0)
    assert env.episode is not None
    actions = np.linspace(-1.0, 1.0, 201)[:, None, None]
    return env.episode.process.mean(actions, np.arange(SHOWN_STEPS))
