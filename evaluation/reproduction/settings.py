"""How much of the Madrid result is the settings: random reasonable ones, tried one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evaluation.reproduction.claims import Claim, Section, Verdict, markdown_table, shown
from evaluation.reproduction.compare import Comparison, paper_order, share, together
from evaluation.reproduction.lab import Lab
from evaluation.reproduction.madrid import HEADLINE, SIMULATED, START
from evaluation.reproduction.methods import GP, METHODS, PERIODIC
from evaluation.reproduction.trials import monthly_window, trial, usable_months
from evaluation.statistics import Interval
from periodic_envs.data.madrid import cache as imported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "settings"


def section(lab: Lab) -> Section:
    """The whole study."""
    window = trial(lab, START, "max", lab.scale.settings)
    starts = [monthly_window(2018, month) for month in usable_months(lab.scale.months)]
    groups = {"the paper's window": window}
    for objective in ("max", "min"):
        frames = [trial(lab, start, objective, lab.scale.trials) for start in starts]
        groups[f"{len(starts)} windows, {objective}imum"] = pd.concat(frames)
    shares = {group: _shares(frame) for group, frame in groups.items()}
    measured = bool(imported.years())
    text = [
        f"{lab.scale.settings} random settings on the paper's window, and {lab.scale.trials} of "
        "them on every window: length-scale in space 0.5 to 20 km, noise variance 0.03 to 3, "
        "periodic length-scale 0.3 to 10, eps 0.003 to 0.3, C-GP-UCB's length-scale 1 to 30 hours "
        "(all log-uniform), rewards normalised by the warm start or by a plain guess (15, give or "
        "take 20). What methods share is the same for all of them in one setting.",
        _table(shares),
        lab.picture(
            _histograms(groups),
            NAME,
            "Regret of Periodic-GP-UCB as a multiple of GP-UCB's, over settings and windows",
        ),
    ]
    if not measured:
        text.insert(0, SIMULATED)
    return Section(NAME, "Over how many settings does it hold?", [_claim(shares, measured)], text)


def _shares(frame: pd.DataFrame) -> dict[str, Interval]:
    single = [Comparison(frame.iloc[[i]]) for i in range(len(frame))]
    ratio = frame[PERIODIC] / frame[GP]
    return {
        "Periodic-GP-UCB beats GP-UCB": share((ratio < 1.0).tolist()),
        "... by 13 % or more": share((ratio <= 1.0 + HEADLINE).tolist()),
        "Periodic-GP-UCB is the best of the five": share(
            (frame[list(METHODS)].idxmin(axis=1) == PERIODIC).tolist()
        ),
        "the paper's order": share([all(paper_order(one)) for one in single]),
    }


def _table(shares: dict[str, dict[str, Interval]]) -> str:
    events = next(iter(shares.values()))
    rows = [
        [event, *(f"{shown(found[event], 0, factor=100.0)} %" for found in shares.values())]
        for event in events
    ]
    return markdown_table(["share of settings (and windows)", *shares], rows)


def _claim(shares: dict[str, dict[str, Interval]], measured: bool) -> Claim:
    event, order = "Periodic-GP-UCB beats GP-UCB", "the paper's order"
    parts = [
        None if found[event].low <= 0.5 <= found[event].high else found[event].estimate > 0.5
        for found in shares.values()
    ]
    return Claim(
        "Section 5.2, over settings",
        "Periodic-GP-UCB's advantage on Madrid is one of the method, not of its settings.",
        "It beats GP-UCB in "
        + "; ".join(
            f"{shown(found[event], 0, factor=100.0)} % ({group}; the paper's order in "
            f"{shown(found[order], 0, factor=100.0)} %)"
            for group, found in shares.items()
        )
        + ".",
        together(parts) if measured else Verdict.UNKNOWN,
        {f"{group}: {name}": i.estimate for group, f in shares.items() for name, i in f.items()},
    )


def _histograms(groups: dict[str, pd.DataFrame]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 3.4), dpi=100, layout="constrained")
    bins = np.geomspace(0.25, 4.0, 33)
    for axes, (group, frame) in zip(figure.subplots(1, len(groups)), groups.items(), strict=True):
        ratio = (frame[PERIODIC] / frame[GP]).clip(bins[0], bins[-1])
        axes.hist(ratio, bins=bins.tolist(), color="#0072B2", alpha=0.8)
        axes.axvline(1.0, color="black", linewidth=1.0)
        axes.axvline(1.0 + HEADLINE, color="black", linewidth=1.0, linestyle=":")
        axes.set(title=group, xscale="log", xlabel="Periodic-GP / GP")
        axes.title.set_fontsize(10)
        axes.set_xticks([0.25, 0.5, 1.0, 2.0, 4.0], ["1/4", "1/2", "1", "2", "4"])
        axes.minorticks_off()
    return figure
