"""The supplement: Periodic-GP-UCB told a wrong period."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from evaluation.plots import agent_styles
from studies.claims import Claim, Section, together
from studies.comparison import Comparison
from studies.lab import regrets
from studies.markdown import shown
from studies.methods import GP, METHODS, PERIODIC
from studies.paper.measurements import judged, noted
from studies.paper.pretraining import synthetic_eps
from studies.paper.size import PaperLab
from studies.paper.synthetic import WORLD as SYNTHETIC
from studies.paper.trials import by_rule, usable_windows, window_world
from studies.pictures import draw_curve, new_figure

NAME = "sensitivity"
TV = "TV-GP-UCB"
PERIODS = (6, 12, 20, 22, 24, 26, 28)
MINOR = (20, 22, 26, 28)
"""Wrong by a little, for Madrid: the paper says that these still do well."""


def section(lab: PaperLab) -> Section:
    """The whole study."""
    madrid = {f"Madrid, settings by {rule}": _madrid(lab, rule) for rule in ("evidence", "trial")}
    synthetic = {
        f"synthetic, agent's l = {length:g}": _synthetic(lab, length) for length in (10.0, 1.0)
    }
    tasks = madrid | synthetic
    windows = next(iter(madrid.values())).runs
    text = [
        f"The supplement's periods on {windows} monthly windows of Madrid (settings as above) and "
        f"on {lab.size.side_seeds} synthetic worlds, whose true period is 20. Only the period is "
        "wrong; all else stays.",
        lab.picture(
            _figure(tasks), NAME, "Regret by the period that Periodic-GP-UCB is told, 95 % bands"
        ),
        *(
            part
            for task, found in tasks.items()
            for part in (f"**{task}** ({found.runs} runs)", _table(found))
        ),
    ]
    claims = [*judged(_madrid_claim(madrid)), _synthetic_claim(synthetic)]
    return Section(NAME, "A wrong period (supplement)", claims, noted(text))


def _labelled(period: float) -> str:
    """Periodic-GP-UCB with this period."""
    return f"tau = {period:g}"


def _harmless(found: Comparison, right: int, wrong: int) -> bool | None:
    """Whether a wrong period is not clearly worse than the right one."""
    worse = found.better(_labelled(right), _labelled(wrong))
    return None if worse is None else not worse


def _numbers(tasks: dict[str, Comparison]) -> dict[str, float]:
    return {
        f"{task}, tau = {tau}": found.ratio(_labelled(tau)).estimate
        for task, found in tasks.items()
        for tau in PERIODS
    }


def _agents(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Periodic-GP-UCB with every period, and GP-UCB and TV-GP-UCB, which need none."""
    periodic = [
        {
            "name": METHODS[PERIODIC],
            "label": _labelled(period),
            "settings": {**settings.get(PERIODIC, {}), "period": period},
        }
        for period in PERIODS
    ]
    others = [
        {"name": METHODS[method], "label": method, "settings": settings.get(method, {})}
        for method in (GP, TV)
    ]
    return periodic + others


def _madrid(lab: PaperLab, rule: str) -> Comparison:
    starts = usable_windows(lab.size.months)
    frames = []
    for start, mine in zip(starts, by_rule(lab, rule, starts), strict=True):
        name = f"{NAME}-{start:%Y-%m}-{rule}"
        frames.append(regrets(lab.run(name, envs=[window_world(start)], agents=_agents(mine))))
    return Comparison(pd.concat(frames))


def _synthetic(lab: PaperLab, length_scale: float) -> Comparison:
    settings = {
        PERIODIC: {"time_length_scale": length_scale},
        TV: {"eps": synthetic_eps()},
    }
    name = f"{NAME}-synthetic-{length_scale:g}"
    seeds = lab.size.side_seeds
    return Comparison(
        regrets(lab.run(name, envs=[SYNTHETIC], agents=_agents(settings), seeds=seeds))
    )


def _madrid_claim(madrid: dict[str, Comparison]) -> Claim:
    harmless = [_harmless(found, 24, tau) for found in madrid.values() for tau in MINOR]
    good = [found.better(_labelled(tau), GP) for found in madrid.values() for tau in MINOR]
    return Claim(
        "Supplement, sensitivity analysis",
        "With tau of 20, 22, 26 or 28 instead of 24, Periodic-GP-UCB still does well on Madrid, "
        "better than the second best method.",
        "Regret as a multiple of that with tau = 24, and of GP-UCB's, by tau. "
        + ". ".join(f"{task}: {_by_period(found)}" for task, found in madrid.items())
        + ". It has two parts: not clearly worse than with 24, and clearly better than GP-UCB.",
        together([*harmless, *good]),
        _numbers(madrid),
    )


def _by_period(found: Comparison) -> str:
    right, minor = _labelled(24), {tau: _labelled(tau) for tau in MINOR}
    ratios = [
        f"{tau}: {shown(found.ratio(name, right), 2)} and {shown(found.ratio(name), 2)}"
        for tau, name in minor.items()
    ]
    return f"{'; '.join(ratios)} (24 itself {shown(found.ratio(right), 2)} of GP-UCB's)"


def _synthetic_claim(synthetic: dict[str, Comparison]) -> Claim:
    texts = []
    for task, found in synthetic.items():
        right, close, far = (shown(found.ratio(_labelled(tau)), 2) for tau in (20, 22, 24))
        texts.append(f"{task}: {right} with tau = 20 (right), {close} with 22, {far} with 24")
    return Claim(
        "Supplement, in the synthetic world",
        "Does a slightly wrong period do little harm there, too?",
        "Regret as a multiple of GP-UCB's: " + "; ".join(texts) + ". A phase that is off by "
        "two steps a season is anywhere after five of them. Counted as harm where 20 is clearly "
        "better than 22.",
        together([_harmless(found, 20, 22) for found in synthetic.values()]),
        _numbers(synthetic),
        ours=True,
    )


def _table(found: Comparison) -> str:
    return found.ratios([*map(_labelled, PERIODS), GP, TV], [GP], head="told")


def _figure(tasks: dict[str, Comparison]) -> Figure:
    figure, panels = new_figure(10.0, 6.4, 2, 2)
    styles = agent_styles([PERIODIC, GP, TV])
    for axes, (task, found) in zip(panels, tasks.items(), strict=True):
        means = [found.mean(_labelled(period)) for period in PERIODS]
        draw_curve(axes, PERIODS, means, color=styles[PERIODIC]["color"], label=PERIODIC)
        for method in (GP, TV):
            axes.axhline(found.mean(method).estimate, **styles[method], label=method)
        axes.set(title=task, xlabel="period told", ylabel="regret", ylim=(0.0, None))
        axes.title.set_fontsize(10)
        axes.set_xticks(PERIODS)
        axes.grid(alpha=0.3)
    figure.axes[0].legend(frameon=False, fontsize=8)
    return figure
