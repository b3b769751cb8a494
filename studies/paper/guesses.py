"""The supplement's wrong periods on Madrid, given as a guess instead of being relied on."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from studies.claims import Claim, at_most, together
from studies.comparison import Comparison
from studies.lab import regrets
from studies.markdown import estimates, listed
from studies.methods import METHODS, PERIODIC
from studies.paper.measurements import judged
from studies.paper.ours import Part, written_answers
from studies.paper.size import PaperLab
from studies.paper.trials import monthly_worlds
from studies.pictures import BLUE, ORANGE, new_figure

RIGHT, MAX_GUESS_RATIO = 24, 1.1
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


def study(lab: PaperLab) -> Part:
    """All periods, with both length-scales."""
    periods = sorted([*lab.size.guesses, RIGHT])
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
    return judged(_close(tasks, lab.size.guesses), _safer(tasks, lab.size.guesses)), text


def _runs(lab: PaperLab, length: float, periods: list[int]) -> Comparison:
    given: dict[str, Any] = {relied(period): period for period in periods}
    given |= {guessed(period): f"about:{period}" for period in periods}
    agents = [
        {
            "name": METHODS[PERIODIC],
            "label": name,
            "settings": {"period": period, "time_length_scale": length},
        }
        for name, period in given.items()
    ]
    envs = monthly_worlds(lab.size.months)
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
    kept = sum(ratio.estimate <= MAX_GUESS_RATIO for ratio in ratios.values())
    clearly = sum(ratio.high <= MAX_GUESS_RATIO for ratio in ratios.values())
    return Claim(
        WHERE,
        f"Told a wrong period as a guess, periodic-gp-ucb has at most {MAX_GUESS_RATIO:g} times "
        f"the regret of relying on the right one, {RIGHT}.",
        f"Times that regret: {listed(ratios)}. Of {len(ratios)} cases {kept} keep to it, "
        f"{clearly} with the whole interval. Relying on the wrong ones: {min(wrongly):.2f} to "
        f"{max(wrongly):.2f}; the less that costs, the easier is this aim.",
        at_most(list(ratios.values()), MAX_GUESS_RATIO),
        estimates(ratios),
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
        f"As a multiple of the regret of relying on it: {listed(ratios)}. "
        f"{written_answers(answers)}",
        together(list(answers.values())),
        estimates(ratios),
        ours=True,
    )


def figure(tasks: dict[str, Comparison], periods: list[int]) -> Figure:
    """Ratios to relying on the right period, a panel for each length-scale."""
    drawn, panels = new_figure(10.0, 3.8, 1, len(tasks), sharey=True)
    for axes, (task, found) in zip(panels, tasks.items(), strict=True):
        for name, colour, label, shift in (
            (guessed, BLUE, "as a guess (about:TAU)", -0.2),
            (relied, ORANGE, "relied on (TAU)", 0.2),
        ):
            ratios = [found.ratio(name(period), relied(RIGHT)) for period in periods]
            x = [place + shift for place in range(len(periods))]
            axes.vlines(x, [r.low for r in ratios], [r.high for r in ratios], color=colour)
            axes.plot(x, [r.estimate for r in ratios], "o", color=colour, label=label)
        axes.axhline(1.0, color="black", linewidth=1.0)
        axes.axhline(MAX_GUESS_RATIO, color="black", linewidth=1.0, linestyle=":")
        axes.set_xticks(range(len(periods)), [str(period) for period in periods])
        axes.set(title=task, xlabel="period told")
        axes.title.set_fontsize(10)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel(f"regret / that of relying on {RIGHT}")
    panels[-1].legend(frameon=False, fontsize=8)
    return drawn
