"""The supplement's wrong periods on Madrid, told as a guess instead of being relied on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluation.studies.paper.claims import Claim, shown
from evaluation.studies.paper.compare import Comparison, at_most, together
from evaluation.studies.paper.lab import Lab, regrets
from evaluation.studies.paper.madrid import judged
from evaluation.studies.paper.methods import METHODS, PERIODIC
from evaluation.studies.paper.ours import Part, written_answers
from evaluation.studies.paper.trials import monthly_worlds
from periodic_envs.data.madrid import cache as imported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RIGHT, MOST = 24, 1.1
"""The city's period in hours; what a wrong guess may cost against relying on it."""
LENGTHS = (10.0, 1.0)
"""Time length-scales: the default of the agent, and one that changes visibly."""
WHERE = "Ours, the supplement's wrong periods on Madrid"


def relied(period: int) -> str:
    """Name of the agent that relies on a period."""
    return f"period={period}"


def guessed(period: int) -> str:
    """Name of the agent that takes it as a guess."""
    return f"period=about:{period}"


def study(lab: Lab) -> Part:
    """All periods, with both length-scales."""
    periods = sorted([*lab.scale.guesses, RIGHT])
    tasks = {f"l = {length:g}": _runs(lab, length, periods) for length in LENGTHS}
    runs = next(iter(tasks.values())).runs
    names = [name for period in periods for name in (guessed(period), relied(period))]
    text = [
        "**A wrong period as a guess.** The supplement's periods on the same "
        f"{runs} windows: `periodic-gp-ucb` that relies on the period it is told "
        "(`period=TAU`), and that takes it as a guess and searches on (`period=about:TAU`); all "
        f"else is at its default, with a time length-scale of {LENGTHS[0]:g}, as the paper prints "
        f"it, and of {LENGTHS[1]:g}.",
        lab.picture(
            figure(tasks, periods),
            "beyond-guesses",
            f"Regret by the period told, as a multiple of that of relying on {RIGHT}, with 95 % "
            "intervals; dotted is our aim",
        ),
    ]
    for task, found in tasks.items():
        text += [f"**{task}** ({found.runs} runs)", found.ratios(names, [relied(RIGHT)])]
    claims = [_close(tasks, lab.scale.guesses), _safer(tasks, lab.scale.guesses)]
    return judged(claims, bool(imported.years())), text


def _runs(lab: Lab, length: float, periods: list[int]) -> Comparison:
    told: dict[str, Any] = {relied(period): period for period in periods}
    told |= {guessed(period): f"about:{period}" for period in periods}
    agents = [
        {
            "name": METHODS[PERIODIC],
            "label": name,
            "settings": {"period": period, "time_length_scale": length},
        }
        for name, period in told.items()
    ]
    envs = monthly_worlds(lab.scale.months)
    return Comparison(regrets(lab.run(f"beyond-guesses-{length:g}", envs=envs, agents=agents)))


def _close(tasks: dict[str, Comparison], wrong: tuple[int, ...]) -> Claim:
    ratios = {
        f"about:{period} ({task})": found.ratio(guessed(period), relied(RIGHT))
        for task, found in tasks.items()
        for period in wrong
    }
    wrongly = [
        found.ratio(relied(period), relied(RIGHT)).estimate
        for found in tasks.values()
        for period in wrong
    ]
    kept = sum(ratio.estimate <= MOST for ratio in ratios.values())
    clearly = sum(ratio.high <= MOST for ratio in ratios.values())
    return Claim(
        WHERE,
        f"Told a wrong period as a guess, periodic-gp-ucb has at most {MOST:g} times the regret of "
        f"relying on the right one, {RIGHT}.",
        "Times that regret: "
        + ", ".join(f"{name} {shown(ratio, 2)}" for name, ratio in ratios.items())
        + f". Of {len(ratios)} cases {kept} keep to it, {clearly} with the whole interval. Relying "
        f"on the wrong ones: {min(wrongly):.2f} to {max(wrongly):.2f}; the less that costs, the "
        "easier is this aim.",
        at_most(list(ratios.values()), MOST),
        {name: ratio.estimate for name, ratio in ratios.items()},
        ours=True,
    )


def _safer(tasks: dict[str, Comparison], wrong: tuple[int, ...]) -> Claim:
    pairs = {
        f"{period} ({task})": (found, guessed(period), relied(period))
        for task, found in tasks.items()
        for period in wrong
    }
    answers = {name: found.better(*pair) for name, (found, *pair) in pairs.items()}
    ratios = {name: found.ratio(*pair) for name, (found, *pair) in pairs.items()}
    return Claim(
        WHERE,
        "A wrong period that is taken as a guess does less harm than the same one relied on.",
        "As a multiple of the regret of relying on it: "
        + ", ".join(f"{name} {shown(ratio, 2)}" for name, ratio in ratios.items())
        + f". {written_answers(answers)}",
        together(list(answers.values())),
        {name: ratio.estimate for name, ratio in ratios.items()},
        ours=True,
    )


def figure(tasks: dict[str, Comparison], periods: list[int]) -> Figure:
    """Ratios to relying on the right period, a panel for each length-scale."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(10.0, 3.8), dpi=100, layout="constrained")
    panels = drawn.subplots(1, len(tasks), sharey=True)
    for axes, (task, found) in zip(panels, tasks.items(), strict=True):
        for name, colour, label, shift in (
            (guessed, "#0072B2", "as a guess (about:TAU)", -0.2),
            (relied, "#D55E00", "relied on (TAU)", 0.2),
        ):
            ratios = [found.ratio(name(period), relied(RIGHT)) for period in periods]
            x = [place + shift for place in range(len(periods))]
            axes.vlines(x, [r.low for r in ratios], [r.high for r in ratios], color=colour)
            axes.plot(x, [r.estimate for r in ratios], "o", color=colour, label=label)
        axes.axhline(1.0, color="black", linewidth=1.0)
        axes.axhline(MOST, color="black", linewidth=1.0, linestyle=":")
        axes.set_xticks(range(len(periods)), [str(period) for period in periods])
        axes.set(title=task, xlabel="period told")
        axes.title.set_fontsize(10)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel(f"regret / that of relying on {RIGHT}")
    panels[-1].legend(frameon=False, fontsize=8)
    return drawn
