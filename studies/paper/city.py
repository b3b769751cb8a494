"""Agents of ours on Madrid's windows, and the one that was pretrained, apart from them."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from studies.claims import Claim, at_most, together
from studies.comparison import Comparison
from studies.lab import regrets
from studies.markdown import listed, shown
from studies.methods import GP, METHODS, entries
from studies.paper.measurements import judged
from studies.paper.ours import (
    AUTO,
    PRETRAINED,
    SEARCH,
    SEASONS,
    SWITCHING,
    Part,
    written_answers,
)
from studies.paper.size import PaperLab
from studies.paper.trials import monthly_worlds
from studies.pictures import BLUE, new_figure

STATIC = "best static station"
REFERENCES = {
    "best-fixed": STATIC,
    "best-per-phase": "best station of each hour",
    "uniform-random": "a station at random",
}
"""The harness's names and ours; all but the last are chosen in hindsight."""
WHERE = "Ours, on Madrid 2018"
OURS = (AUTO, SEARCH, SWITCHING, SEASONS)
TRACKS = {"online": (*METHODS, *OURS), "pretrained": (PRETRAINED,)}
"""Who is shown with whom: tracks are never ranked together."""
GIVEN = {AUTO: "told nothing but the season", PRETRAINED: "with what 2016 and 2017 taught"}
AIMS = {AUTO: (0.95, 0.85), PRETRAINED: (0.80, 0.70)}
"""Regret over the best static station's: what should not be exceeded, and what was hoped for."""


def study(lab: PaperLab) -> Part:
    """The windows of 2018, seeking the most NO."""
    mine: list[dict[str, Any]] = [{"name": name, "label": name} for name in OURS]
    mine.append({"name": PRETRAINED, "label": PRETRAINED, "track": "pretrained"})
    envs = monthly_worlds(lab.size.months)
    results = lab.run("beyond-city", envs=envs, agents=[*entries(), *mine])
    found = Comparison(regrets(results).rename(columns=REFERENCES))
    others = [name for name in REFERENCES.values() if name != STATIC]
    scale = listed({name: found.ratio(name, STATIC) for name in others})
    text = [
        f"**Madrid.** {found.runs} ten-day windows of 2018, seeking the most NO. The five methods "
        "have one setting, the defaults of this package: the paper's numbers of its synthetic "
        "study (length-scale 1, here in km, time l = 10, block 15), its noise of 0.5, rewards on "
        "the scale of the warm start, and for TV-GP-UCB an eps of 0.03, which is ours. With "
        'settings by evidence or by trial they are in "Beyond one window"; agents of ours make no '
        "use of those fitted settings. They have the 48 hours of warm start that everyone has, and "
        "are told the season (period=auto takes it as a guess). Sums over windows as multiples of "
        "the best static station's in hindsight and of GP-UCB's:",
        found.ratios(found.order(TRACKS["online"]), [STATIC, GP]),
        "A track of its own, not to be ranked with the above: the same agent with a prior of "
        "summary statistics of 2016 and 2017 (`agents/auto/madrid.json`).",
        found.ratios(TRACKS["pretrained"], [STATIC, GP], head="pretrained agent"),
        f"For scale, over the best static station: {scale}. How often "
        "2018 was looked at before: docs/auto-gp.md.",
        lab.picture(
            figure(found),
            "beyond-madrid",
            "Regret over all windows as a multiple of the best static station's, with 95 % "
            "intervals (grey: the paper's methods, blue: ours); the two tracks apart; left of the "
            "line is better than any fixed station, dotted is our aim",
        ),
    ]
    return judged(_static(found, AUTO), _less(found), _static(found, PRETRAINED)), text


def _static(found: Comparison, agent: str) -> Claim:
    most, hoped = AIMS[agent]
    ratio = found.ratio(agent, STATIC)
    track = next(track for track, agents in TRACKS.items() if agent in agents)
    return Claim(
        f"{WHERE}, {track}",
        f"{agent}, {GIVEN[agent]}, has at most {most:g} times the regret of the best static "
        "station in hindsight.",
        f"{shown(ratio, 3)} times, and {shown(found.ratio(agent), 2)} times GP-UCB's. ({hoped:g} "
        f"was hoped for{'' if ratio.estimate <= hoped else ', and not reached'}.)",
        at_most([ratio], most),
        {"over static": ratio.estimate, "over GP-UCB": found.ratio(agent).estimate},
        ours=True,
    )


def _less(found: Comparison) -> Claim:
    answers = {method: found.better(AUTO, method) for method in METHODS}
    ratios = {method: found.ratio(AUTO, method) for method in METHODS}
    return Claim(
        f"{WHERE}, online",
        f"{AUTO} has less regret than each of the paper's five methods at this setting.",
        f"As a multiple of theirs: {listed(ratios)}. {written_answers(answers)}",
        together(list(answers.values())),
        {f"over {method}": ratio.estimate for method, ratio in ratios.items()},
        ours=True,
    )


def figure(found: Comparison) -> Figure:
    """Ratios to the best static station, a panel for each track."""
    rows = {"height_ratios": [len(agents) + 0.5 for agents in TRACKS.values()]}
    drawn, panels = new_figure(10.0, 4.2, len(TRACKS), sharex=True, gridspec_kw=rows)
    for axes, (track, agents) in zip(panels, TRACKS.items(), strict=True):
        names = found.order(agents)
        for row, name in enumerate(names):
            ratio, colour = found.ratio(name, STATIC), "#888888" if name in METHODS else BLUE
            axes.plot([ratio.low, ratio.high], [row, row], color=colour, linewidth=2)
            axes.plot([ratio.estimate], [row], "o", color=colour)
            if name in AIMS:
                aim = AIMS[name][0]
                axes.plot([aim, aim], [row - 0.4, row + 0.4], color="black", linestyle=":")
        axes.axvline(1.0, color="black", linewidth=1.0)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set(title=track, ylim=(len(names) - 0.5, -0.5))
        axes.title.set_fontsize(10)
        axes.grid(alpha=0.3)
    panels[-1].set_xlabel("regret / best static station's")
    return drawn
