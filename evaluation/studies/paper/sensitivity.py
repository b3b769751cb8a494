"""The supplement: Periodic-GP-UCB told a wrong period."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evaluation.studies.paper.claims import Claim, Section, Verdict, shown
from evaluation.studies.paper.compare import Comparison, together
from evaluation.studies.paper.lab import Lab, regrets
from evaluation.studies.paper.madrid import SIMULATED
from evaluation.studies.paper.methods import GP, METHODS, PERIODIC
from evaluation.studies.paper.pretraining import by_evidence, synthetic_eps
from evaluation.studies.paper.synthetic import WORLD as SYNTHETIC
from evaluation.studies.paper.trials import WORLD as MADRID
from evaluation.studies.paper.trials import by_trial, monthly_window, usable_months
from periodic_envs.data.madrid import cache as imported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "sensitivity"
PERIODS = (6, 12, 20, 22, 24, 26, 28)
MINOR = (20, 22, 26, 28)
"""Wrong by a little, for Madrid: the paper says that these still do well."""


def section(lab: Lab) -> Section:
    """The whole study."""
    madrid = {f"Madrid, settings by {rule}": _madrid(lab, rule) for rule in ("evidence", "trial")}
    synthetic = {
        f"synthetic, agent's l = {length:g}": _synthetic(lab, length) for length in (10.0, 1.0)
    }
    tasks = madrid | synthetic
    windows = next(iter(madrid.values())).runs
    text = [
        f"The supplement's periods on {windows} monthly windows of Madrid (settings as above) and "
        f"on {lab.scale.side_seeds} synthetic worlds, whose true period is 20. Only the period is "
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
    measured = bool(imported.years())
    if not measured:
        text.insert(0, SIMULATED)
    claims = [_claim(madrid, measured), _synthetic_claim(synthetic)]
    return Section(NAME, "A wrong period (supplement)", claims, text)


def _told(period: float) -> str:
    return f"tau = {period:g}"


def _agents(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Periodic-GP-UCB with every period, and GP-UCB and TV-GP-UCB, which need none."""
    told = [
        {
            "name": METHODS[PERIODIC],
            "label": _told(period),
            "settings": {**settings.get(PERIODIC, {}), "period": period},
        }
        for period in PERIODS
    ]
    others = [
        {"name": METHODS[method], "label": method, "settings": settings.get(method, {})}
        for method in (GP, "TV-GP-UCB")
    ]
    return told + others


def _madrid(lab: Lab, rule: str) -> Comparison:
    starts = [monthly_window(2018, month) for month in usable_months(lab.scale.months)]
    settings: list[dict[str, Any]] = (
        [by_trial(lab, start, "max") for start in starts]
        if rule == "trial"
        else list(by_evidence(lab, starts))
    )
    frames = []
    for start, mine in zip(starts, settings, strict=True):
        env = {"id": MADRID, "arguments": {"start": str(start)}, "label": f"{start:%Y-%m}"}
        name = f"{NAME}-{start:%Y-%m}-{rule}"
        frames.append(regrets(lab.run(name, envs=[env], agents=_agents(mine))))
    return Comparison(pd.concat(frames))


def _synthetic(lab: Lab, length_scale: float) -> Comparison:
    settings = {
        PERIODIC: {"time_length_scale": length_scale},
        "TV-GP-UCB": {"eps": synthetic_eps()},
    }
    name = f"{NAME}-synthetic-{length_scale:g}"
    seeds = lab.scale.side_seeds
    return Comparison(
        regrets(lab.run(name, envs=[SYNTHETIC], agents=_agents(settings), seeds=seeds))
    )


def _claim(madrid: dict[str, Comparison], measured: bool) -> Claim:
    right = _told(24)
    harmless = [
        None if worse is None else not worse
        for found in madrid.values()
        for worse in (found.better(right, _told(tau)) for tau in MINOR)
    ]
    good = [found.better(_told(tau), GP) for found in madrid.values() for tau in MINOR]
    texts = []
    for task, found in madrid.items():
        by_tau = "; ".join(
            f"{tau}: {shown(found.ratio(_told(tau), right), 2)} and "
            f"{shown(found.ratio(_told(tau)), 2)}"
            for tau in MINOR
        )
        texts.append(f"{task}: {by_tau} (24 itself {shown(found.ratio(right), 2)} of GP-UCB's)")
    return Claim(
        "Supplement, sensitivity analysis",
        "With tau of 20, 22, 26 or 28 instead of 24, Periodic-GP-UCB still does well on Madrid, "
        "better than the second best method.",
        "Regret as a multiple of that with tau = 24, and of GP-UCB's, by tau. "
        + ". ".join(texts)
        + ". It has two parts: not clearly worse than with 24, and clearly better than GP-UCB.",
        together([*harmless, *good]) if measured else Verdict.UNKNOWN,
        {
            f"{t}, tau = {tau}": c.ratio(_told(tau)).estimate
            for t, c in madrid.items()
            for tau in PERIODS
        },
    )


def _synthetic_claim(synthetic: dict[str, Comparison]) -> Claim:
    harmed = [found.better(_told(20), _told(22)) for found in synthetic.values()]
    texts = [
        f"{task}: {shown(found.ratio(_told(20)), 2)} with tau = 20 (right), "
        f"{shown(found.ratio(_told(22)), 2)} with 22, {shown(found.ratio(_told(24)), 2)} with 24"
        for task, found in synthetic.items()
    ]
    return Claim(
        "Supplement, in the synthetic world",
        "Does a slightly wrong period do little harm there, too?",
        "Regret as a multiple of GP-UCB's: " + "; ".join(texts) + ". A phase that is off by "
        "two steps a season is anywhere after five of them. Counted as harm where 20 is clearly "
        "better than 22.",
        together([None if worse is None else not worse for worse in harmed]),
        {
            f"{task}, tau = {tau}": found.ratio(_told(tau)).estimate
            for task, found in synthetic.items()
            for tau in PERIODS
        },
        ours=True,
    )


def _table(found: Comparison) -> str:
    return found.ratios([*map(_told, PERIODS), GP, "TV-GP-UCB"], [GP], head="told")


def _figure(tasks: dict[str, Comparison]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 6.4), dpi=100, layout="constrained")
    for axes, (task, found) in zip(figure.subplots(2, 2).ravel(), tasks.items(), strict=True):
        means = [found.mean(_told(period)) for period in PERIODS]
        axes.plot(PERIODS, [m.estimate for m in means], "o-", color="#0072B2", label=PERIODIC)
        axes.fill_between(
            PERIODS, [m.low for m in means], [m.high for m in means], color="#0072B2", alpha=0.15
        )
        for method, colour in ((GP, "#D55E00"), ("TV-GP-UCB", "#009E73")):
            axes.axhline(found.mean(method).estimate, color=colour, linestyle="--", label=method)
        axes.set(title=task, xlabel="period told", ylabel="regret", ylim=(0.0, None))
        axes.title.set_fontsize(10)
        axes.set_xticks(PERIODS)
        axes.grid(alpha=0.3)
    figure.axes[0].legend(frameon=False, fontsize=8)
    return figure
