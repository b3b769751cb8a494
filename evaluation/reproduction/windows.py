"""Beyond one window: twelve months, the most and the least NO, and a hundred simulated cities."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import pandas as pd

from evaluation.reproduction.claims import Claim, Section, Verdict, shown
from evaluation.reproduction.compare import (
    Comparison,
    all_true,
    paper_order,
    together,
    written_order,
)
from evaluation.reproduction.lab import Lab, regrets
from evaluation.reproduction.madrid import HEADLINE, SIMULATED
from evaluation.reproduction.methods import METHODS, PERIODIC, entries
from evaluation.reproduction.pretraining import (
    before_window,
    by_evidence,
    other_fortnights,
    seeking_least,
)
from evaluation.reproduction.trials import WORLD, by_trial, monthly_window, usable_months
from periodic_envs.data.madrid import cache as imported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "windows"
SIMULATOR = "PeriodicGP-MadridSim-v0"


def section(lab: Lab) -> Section:
    """The whole study."""
    starts = [monthly_window(2018, month) for month in usable_months(lab.scale.months)]
    evidence = by_evidence(lab, [before_window(start) for start in starts])
    tasks: dict[str, Comparison] = {}
    for objective in ("max", "min"):
        fitted = evidence if objective == "max" else [seeking_least(found) for found in evidence]
        tried = [by_trial(lab, start, objective) for start in starts]
        for rule, settings in (("evidence", fitted), ("trial", tried)):
            task = f"{len(starts)} windows, {objective}imum, settings by {rule}"
            frames = [
                _window(lab, start, objective, rule, mine)
                for start, mine in zip(starts, settings, strict=True)
            ]
            tasks[task] = Comparison(pd.concat(frames))
    tasks[f"{lab.scale.seeds} simulated fortnights, settings by evidence"] = _simulated(lab)
    measured = bool(imported.years())
    text = [
        "The same comparison on ten-day windows from the 3rd of each month of 2018, seeking the "
        "most and the least NO, and on simulated fortnights; settings from the two months before "
        "(for the simulator: from fortnights of other seeds). Ratios are of sums over windows.",
        lab.picture(
            _ratios(tasks),
            "windows",
            "Regret as a multiple of GP-UCB's, with 95 % intervals over windows; left of the line "
            "is better",
        ),
    ]
    if not measured:
        text.insert(0, SIMULATED)
    for task, found in tasks.items():
        text += [f"**{task}**", found.table(list(METHODS))]
    return Section(NAME, "Beyond one window", _claims(tasks, measured), text)


def _window(
    lab: Lab, start: datetime.date, objective: str, rule: str, settings: dict[str, Any]
) -> pd.DataFrame:
    env = {"id": WORLD, "arguments": {"start": str(start), "objective": objective}}
    name = f"{NAME}-{start:%Y-%m}-{objective}-{rule}"
    return regrets(lab.run(name, envs=[env], agents=entries(settings)))


def _simulated(lab: Lab) -> Comparison:
    (settings,) = by_evidence(lab, [other_fortnights()])
    results = lab.run(
        f"{NAME}-simulator", envs=[SIMULATOR], agents=entries(settings), seeds=lab.scale.seeds
    )
    return Comparison(regrets(results))


def _claims(tasks: dict[str, Comparison], measured: bool) -> list[Claim]:
    ratios = {task: found.ratio(PERIODIC) for task, found in tasks.items()}
    best = [found.best(PERIODIC, list(METHODS)) for found in tasks.values()]
    orders = {task: written_order(found.order()) for task, found in tasks.items()}
    claims = [
        Claim(
            "Abstract; Sections 5 and 6",
            "Periodic-GP-UCB significantly outperforms the existing methods on the real data.",
            "Regret as a multiple of GP-UCB's: "
            + "; ".join(f"{task}: {shown(ratio, 2)}" for task, ratio in ratios.items())
            + f". The paper's is {1 + HEADLINE:.2f}.",
            together(best),
            {task: ratio.estimate for task, ratio in ratios.items()},
        ),
        Claim(
            "Section 5.2, beyond its window",
            "The order is Periodic-GP, GP, then TV and R, and C last.",
            "; ".join(f"{task}: {order}" for task, order in orders.items())
            + ". "
            + _window_shares(tasks),
            together([all_true(paper_order(found)) for found in tasks.values()]),
        ),
    ]
    if measured:
        return claims
    return [
        Claim(c.where, c.says, f"Simulated: {c.found}", Verdict.UNKNOWN, c.numbers) for c in claims
    ]


def _window_shares(tasks: dict[str, Comparison]) -> str:
    """In how many single windows the paper's statements are seen."""
    texts = []
    for task, found in tasks.items():
        single = [Comparison(found.regret.iloc[[i]]) for i in range(found.runs)]
        beats = sum(bool(one.better(PERIODIC, "GP-UCB")) for one in single)
        whole = sum(all(paper_order(one)) for one in single)
        texts.append(f"{beats} and {whole} of {found.runs} ({task})")
    return (
        "Runs in which Periodic-GP-UCB beats GP-UCB, and which show the whole order: "
        + "; ".join(texts)
        + "."
    )


def _ratios(tasks: dict[str, Comparison]) -> Figure:
    from matplotlib.figure import Figure

    from evaluation.plots import agent_styles

    styles = agent_styles(list(METHODS))
    figure = Figure(figsize=(10.0, 0.9 + 0.85 * len(tasks)), dpi=100, layout="constrained")
    axes = figure.subplots()
    others = [method for method in METHODS if method != "GP-UCB"]
    for row, found in enumerate(tasks.values()):
        for place, method in enumerate(others):
            ratio = found.ratio(method)
            y = row + 0.16 * (place - 1.5)
            colour = styles[method]["color"]
            label = method if row == 0 else None
            axes.plot([ratio.low, ratio.high], [y, y], color=colour, linewidth=1.5)
            axes.plot([ratio.estimate], [y], "o", color=colour, markersize=5, label=label)
    axes.axvline(1.0, color="black", linewidth=1.0)
    axes.axvline(1.0 + HEADLINE, color="black", linewidth=1.0, linestyle=":", label="the paper's")
    axes.set_yticks(range(len(tasks)), list(tasks), fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="regret / GP-UCB's", xscale="log", xlim=(0.4, 4.0))
    axes.set_xticks([0.5, 0.7, 1.0, 1.5, 2.0, 3.0], ["0.5", "0.7", "1", "1.5", "2", "3"])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure
