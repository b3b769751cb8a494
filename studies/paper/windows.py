"""Beyond one window: twelve months, the most and the least NO, and a hundred simulated cities."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from evaluation.plots import agent_styles
from studies.claims import Claim, Section, together
from studies.comparison import Comparison, confirmed_pairs, paper_order, written_order
from studies.lab import regrets
from studies.markdown import estimates, shown
from studies.methods import GP, METHODS, PERIODIC, entries
from studies.paper.madrid import HEADLINE
from studies.paper.measurements import judged, noted
from studies.paper.pretraining import by_evidence
from studies.paper.size import PaperLab
from studies.paper.trials import by_rule, usable_windows, window_world
from studies.pictures import new_figure

NAME = "windows"
SIMULATOR = "PeriodicGP-MadridSim-v0"


def section(lab: PaperLab) -> Section:
    """The whole study."""
    starts = usable_windows(lab.size.months)
    tasks = {
        f"{objective}imum, {rule}": _windows(lab, starts, objective, rule)
        for objective in ("max", "min")
        for rule in ("evidence", "trial")
    }
    tasks["simulator, evidence"] = _simulated(lab)
    months = ", ".join(str(start.month) for start in starts)
    text = [
        f"The same comparison on {len(starts)} ten-day windows from the 3rd of a month of 2018 "
        f"(months {months}), seeking the most and the least NO, and on {lab.size.seeds} simulated "
        "fortnights; settings from the two months before (for the simulator: from fortnights of "
        "other seeds) by evidence or by trial. The ratio is of sums, in which a month of much NO "
        "counts for most; the typical ratio is the geometric mean of single runs'.",
        lab.picture(
            _ratios(tasks),
            "windows",
            "Regret as a multiple of GP-UCB's, typical (geometric mean over runs) with 95 % "
            "interval; a tick is the ratio of sums; left of the line is better, dotted is the "
            "paper's",
        ),
    ]
    for task, found in tasks.items():
        text += [f"**{task}** ({found.runs} runs)", found.table(list(METHODS))]
    return Section(NAME, "Beyond one window", judged(*_claims(tasks)), noted(text))


def _windows(
    lab: PaperLab, starts: Sequence[datetime.date], objective: str, rule: str
) -> Comparison:
    frames = []
    for start, settings in zip(starts, by_rule(lab, rule, starts, objective), strict=True):
        name, env = (
            f"{NAME}-{start:%Y-%m}-{objective}-{rule}",
            window_world(start, objective=objective),
        )
        frames.append(regrets(lab.run(name, envs=[env], agents=entries(settings))))
    return Comparison(pd.concat(frames))


def _simulated(lab: PaperLab) -> Comparison:
    (settings,) = by_evidence(lab, [None])
    results = lab.run(
        f"{NAME}-simulator", envs=[SIMULATOR], agents=entries(settings), seeds=lab.size.seeds
    )
    return Comparison(regrets(results))


def _claims(tasks: dict[str, Comparison]) -> list[Claim]:
    seeking = {task: found for task, found in tasks.items() if task.startswith("maximum")}
    others = {task: found for task, found in tasks.items() if task not in seeking}
    ratios = {task: found.ratio(PERIODIC) for task, found in tasks.items()}
    return [
        Claim(
            "Abstract; Sections 5 and 6",
            "Periodic-GP-UCB significantly outperforms the existing methods on the real data.",
            f"{_against_gp(seeking)} (the paper, in one window: {1 + HEADLINE:.2f}). The claim is "
            "one of significance, so an interval that contains 1 counts against it.",
            together([bool(c.better(PERIODIC, GP)) for c in seeking.values()]),
            estimates(ratios),
        ),
        Claim(
            "Section 5.2, beyond its window",
            "The order is Periodic-GP, GP, then TV and R, and C last.",
            _orders(seeking),
            together([part for found in seeking.values() for part in paper_order(found)]),
        ),
        _elsewhere(others),
    ]


def _elsewhere(tasks: dict[str, Comparison]) -> Claim:
    best = ", ".join(f"{found.order()[0]} ({task})" for task, found in tasks.items())
    return Claim(
        "Beyond the paper",
        "Is it so for the least NO, and in a simulated city?",
        f"{_against_gp(tasks)}; best of all: {best}.",
        together([found.better(PERIODIC, GP) for found in tasks.values()]),
        ours=True,
    )


def _against_gp(tasks: dict[str, Comparison]) -> str:
    ratios = [
        f"{shown(found.ratio(PERIODIC), 2)}, typically {shown(found.typical(PERIODIC), 2)} ({task})"
        for task, found in tasks.items()
    ]
    return f"Periodic-GP-UCB's regret as a multiple of GP-UCB's: {'; '.join(ratios)}"


def _orders(tasks: dict[str, Comparison]) -> str:
    """The order of means, and in how many single windows the paper's statements are seen."""
    texts = []
    for task, found in tasks.items():
        single = [Comparison(found.regret.iloc[[i]]) for i in range(found.runs)]
        beats = sum(bool(one.better(PERIODIC, GP)) for one in single)
        whole = sum(all(paper_order(one)) for one in single)
        texts.append(
            f"{task}: {written_order(found.order())} in the mean, of the five pairs confirmed: "
            f"{confirmed_pairs(found)}; of {found.runs} windows {beats} have Periodic-GP before GP "
            f"and {whole} show the whole order"
        )
    return "; ".join(texts) + "."


def _ratios(tasks: dict[str, Comparison]) -> Figure:
    styles = agent_styles(list(METHODS))
    figure, (axes,) = new_figure(10.0, 0.9 + 0.85 * len(tasks))
    others = [method for method in METHODS if method != GP]
    for row, found in enumerate(tasks.values()):
        for place, method in enumerate(others):
            ratio = found.typical(method)
            y = row + 0.16 * (place - 1.5)
            colour = styles[method]["color"]
            label = method if row == 0 else None
            axes.plot([ratio.low, ratio.high], [y, y], color=colour, linewidth=1.5)
            axes.plot([ratio.estimate], [y], "o", color=colour, markersize=5, label=label)
            sums = found.ratio(method).estimate
            axes.plot([sums], [y], "|", color=colour, markersize=8, markeredgewidth=2)
    axes.axvline(1.0, color="black", linewidth=1.0)
    axes.axvline(1.0 + HEADLINE, color="black", linewidth=1.0, linestyle=":", label="the paper's")
    axes.set_yticks(range(len(tasks)), list(tasks), fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="regret / GP-UCB's", xscale="log", xlim=(0.45, 3.2))
    axes.set_xticks([0.5, 0.7, 1.0, 1.5, 2.0, 3.0], ["0.5", "0.7", "1", "1.5", "2", "3"])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure
