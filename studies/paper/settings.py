"""How much of the Madrid result is the settings: random reasonable ones, tried one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from evaluation.statistics import Interval
from studies.claims import Claim, Section, together
from studies.comparison import Comparison, paper_order, share
from studies.markdown import markdown_table, shown
from studies.methods import GP, METHODS, PERIODIC
from studies.paper.madrid import HEADLINE
from studies.paper.measurements import judged, noted
from studies.paper.size import PaperLab
from studies.paper.trials import START, trial, usable_windows
from studies.pictures import BLUE, new_figure

NAME = "settings"


def section(lab: PaperLab) -> Section:
    """The whole study."""
    starts = usable_windows(lab.size.months)
    groups = {"the paper's window": [trial(lab, START, "max", lab.size.settings)]}
    for objective in ("max", "min"):
        frames = [trial(lab, start, objective, lab.size.trials) for start in starts]
        groups[f"{len(starts)} windows, {objective}imum"] = frames
    shares = {group: _shares(frame) for group, frame in groups.items()}
    text = [
        f"{lab.size.settings} random settings on the paper's window, and {lab.size.trials} of "
        "them on every window: length-scale in space 0.5 to 20 km, noise variance 0.03 to 3, "
        "periodic length-scale 0.3 to 10, eps 0.003 to 0.3, C-GP-UCB's length-scale 1 to 30 hours "
        "(all log-uniform), rewards normalised by the warm start or by a plain guess (15, give or "
        "take 20). What methods share is the same for all of them in one setting.",
        _table(shares),
        lab.picture(
            _histograms(groups),
            NAME,
            "Regret of Periodic-GP-UCB as a multiple of GP-UCB's, over settings and windows; "
            "dotted: the paper's",
        ),
    ]
    title = "Over how many settings does it hold?"
    return Section(NAME, title, judged(_claim(shares)), noted(text))


def _shares(frames: list[pd.DataFrame]) -> dict[str, Interval]:
    """Shares over settings and windows."""
    events: dict[str, list[list[bool]]] = {}
    for frame in frames:
        ratio = frame[PERIODIC] / frame[GP]
        best = frame[list(METHODS)].idxmin(axis=1) == PERIODIC
        order = [all(paper_order(Comparison(frame.iloc[[i]]))) for i in range(len(frame))]
        for event, hits in (
            ("Periodic-GP-UCB beats GP-UCB", (ratio < 1.0).tolist()),
            ("... by 13 % or more", (ratio <= 1.0 + HEADLINE).tolist()),
            ("Periodic-GP-UCB is the best of the five", best.tolist()),
            ("the paper's order", order),
        ):
            events.setdefault(event, []).append(hits)
    return {
        event: share(hits[0]) if len(hits) == 1 else crossed_share(hits)
        for event, hits in events.items()
    }


def crossed_share(hits: list[list[bool]], resamples: int = 5000) -> Interval:
    """A share over windows x settings; whole windows and whole settings are drawn again."""
    table = np.array(hits, dtype=np.float64)
    rng = np.random.default_rng(0)
    weights = [rng.multinomial(n, np.full(n, 1 / n), size=resamples) / n for n in table.shape]
    shares = np.einsum("ri,ij,rj->r", weights[0], table, weights[1], optimize=True)
    low, high = np.quantile(shares, (0.025, 0.975))
    return Interval(float(table.mean()), float(low), float(high))


def _table(shares: dict[str, dict[str, Interval]]) -> str:
    events = next(iter(shares.values()))
    rows = [
        [event, *(f"{shown(found[event], 0, factor=100.0)} %" for found in shares.values())]
        for event in events
    ]
    return markdown_table(["share of settings (and windows)", *shares], rows)


def _claim(shares: dict[str, dict[str, Interval]]) -> Claim:
    event, order = "Periodic-GP-UCB beats GP-UCB", "the paper's order"
    parts = [
        None if found[event].low <= 0.5 <= found[event].high else found[event].estimate > 0.5
        for found in shares.values()
    ]
    return Claim(
        "Section 5.2, over settings",
        "Is Periodic-GP-UCB's advantage on Madrid one of the method, whatever the settings?",
        "It beats GP-UCB in "
        + "; ".join(
            f"{shown(found[event], 0, factor=100.0)} % ({group}; the paper's order in "
            f"{shown(found[order], 0, factor=100.0)} %)"
            for group, found in shares.items()
        )
        + ". Counted as so above one half.",
        together(parts),
        ours=True,
        numbers={
            f"{group}: {name}": i.estimate for group, f in shares.items() for name, i in f.items()
        },
    )


def _histograms(groups: dict[str, list[pd.DataFrame]]) -> Figure:
    figure, panels = new_figure(10.0, 3.4, 1, len(groups))
    bins = np.geomspace(0.25, 4.0, 33)
    for axes, (group, frames) in zip(panels, groups.items(), strict=True):
        frame = pd.concat(frames)
        ratio = (frame[PERIODIC] / frame[GP]).clip(bins[0], bins[-1])
        axes.hist(ratio, bins=bins.tolist(), color=BLUE, alpha=0.8)
        axes.axvline(1.0, color="black", linewidth=1.0)
        axes.axvline(1.0 + HEADLINE, color="black", linewidth=1.0, linestyle=":")
        axes.set(title=group, xscale="log", xlabel="Periodic-GP / GP", ylabel="settings")
        axes.title.set_fontsize(10)
        axes.set_xticks([0.25, 0.5, 1.0, 2.0, 4.0], ["1/4", "1/2", "1", "2", "4"])
        axes.minorticks_off()
    return figure
