"""Agents of ours in the paper's synthetic study, with the season known and hidden."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from evaluation.plots import curves_figure
from evaluation.results import Results
from evaluation.statistics import curve_band
from studies.claims import Claim, at_most, together
from studies.comparison import Comparison
from studies.lab import regrets
from studies.markdown import estimates, listed, shown
from studies.methods import GP, METHODS, PERIODIC, entries
from studies.paper.ours import (
    AUTO,
    QUICK_SEARCH,
    SEARCH,
    SEASONS,
    SWITCHING,
    Part,
    written_answers,
)
from studies.paper.size import PaperLab
from studies.paper.synthetic import KNOWING, TRUE, WORLD, as_printed

KNOWN, HIDDEN = "the season is known", "the season is hidden"
BLIND = " (season hidden)"
"""Behind the names of agents from whom the season is hidden."""
WHERE = "Ours, in the world of Section 5.1"
MAX_LEARNING_RATIO, MAX_SEARCH_RATIO = 1.15, 1.25
"""What not knowing the world's length-scale, or its season, may cost: ratios of regret."""
HIDDEN_FROM = (AUTO, SEARCH, QUICK_SEARCH)
OURS = (AUTO, SWITCHING, SEASONS, *(name + BLIND for name in HIDDEN_FROM))


def study(lab: PaperLab) -> Part:
    """The study of Section 5.1 with agents of ours."""
    hidden = {"id": WORLD, "arguments": {"reveal_period": False}, "label": HIDDEN}
    results = lab.run(
        "beyond-synthetic",
        envs=[{"id": WORLD, "label": KNOWN}, hidden],
        agents=_agents(),
        seeds=lab.size.side_seeds,
    )
    found = Comparison(side_by_side(regrets(results)))
    names = found.order([*METHODS, TRUE, *OURS])
    text = [
        f"**The synthetic study.** World, noise and length as in Section 5.1, {found.runs} worlds. "
        "The five methods are as printed there (time l = 10; TV-GP-UCB's eps by evidence), beside "
        f"them {TRUE}, which knows the world. All are told the scale of the rewards, the noise and "
        f"the unit of actions. Ours have their default settings ({SWITCHING} and {SEASONS} with l "
        f"= 1, which happens to be this world's). {AUTO} and {SEARCH} are in the same worlds with "
        "the season hidden from them (`reveal_period=false`), the first also where it is told, as "
        "all others are. Nothing was set on these seeds.",
        lab.picture(
            _curves(results, names),
            "beyond-synthetic",
            f"Mean cumulative regret over {found.runs} worlds with 95 % bands: the paper's methods "
            "(solid) and ours (dashed)",
        ),
        found.ratios(names, [GP, PERIODIC, TRUE]),
    ]
    return [_structure(found), _search(found), _less(found)], text


def _agents() -> list[dict[str, Any]]:
    knowing = [*entries(as_printed()), KNOWING, _entry(SWITCHING), _entry(SEASONS)]
    searching = [_entry(SEARCH), _entry(QUICK_SEARCH)]
    limited = [(agent, KNOWN) for agent in knowing] + [(agent, HIDDEN) for agent in searching]
    return [_entry(AUTO), *({**agent, "envs": [env]} for agent, env in limited)]


def _entry(name: str) -> dict[str, Any]:
    return {"name": name, "label": name}


def side_by_side(regret: pd.DataFrame) -> pd.DataFrame:
    """A row for each seed: agents that know the season, then those from whom it is hidden."""
    known, hidden = (regret.loc[env].dropna(axis=1) for env in (KNOWN, HIDDEN))
    return known.join(hidden[list(HIDDEN_FROM)].add_suffix(BLIND))


def _structure(found: Comparison) -> Claim:
    ratio = found.ratio(AUTO, TRUE)
    return Claim(
        WHERE,
        f"{AUTO}, which learns how fast the world moves, has at most {MAX_LEARNING_RATIO:g} times "
        "the regret of Periodic-GP-UCB that knows it (l = 1).",
        f"{shown(ratio, 2)} times ({shown(found.mean(AUTO))} against {shown(found.mean(TRUE))}); "
        f"{shown(found.ratio(AUTO, PERIODIC), 2)} times that of Periodic-GP-UCB as printed (l = "
        f"10). With the season hidden: {shown(found.ratio(AUTO + BLIND, TRUE), 2)} times.",
        at_most([ratio], MAX_LEARNING_RATIO),
        {"ratio": ratio.estimate, "hidden": found.ratio(AUTO + BLIND, TRUE).estimate},
        ours=True,
    )


def _search(found: Comparison) -> Claim:
    pairs = {SEARCH: PERIODIC, QUICK_SEARCH: TRUE}
    ratios = {name: found.ratio(name + BLIND, knowing) for name, knowing in pairs.items()}
    return Claim(
        WHERE,
        "Where nobody tells the season, searching for it (period=auto) costs at most "
        f"{MAX_SEARCH_RATIO:g} times the regret of the same agent that is told, for l = 10 and "
        "l = 1.",
        f"Times the regret of being told: {listed(ratios, between='; ')}.",
        at_most(list(ratios.values()), MAX_SEARCH_RATIO),
        estimates(ratios),
        ours=True,
    )


def _less(found: Comparison) -> Claim:
    answers = {name: found.best(name, list(METHODS)) for name in OURS}
    return Claim(
        WHERE,
        "Each of these agents, told the season or not, has less regret than each of the paper's "
        "five methods, which are told.",
        f"As a multiple of Periodic-GP-UCB's: "
        f"{listed({name: found.ratio(name, PERIODIC) for name in OURS})}. "
        f"{written_answers(answers)}",
        together(list(answers.values())),
        found.numbers(OURS),
        ours=True,
    )


def _curves(results: Results, names: list[str]) -> Figure:
    bands = {}
    for name in names:
        runs = results.curves(HIDDEN if name.endswith(BLIND) else KNOWN, name.removesuffix(BLIND))
        bands[name] = curve_band(runs.regret)
    figure = curves_figure({WORLD: bands}, times={WORLD: runs.t}, agents=[*METHODS, TRUE, *OURS])
    figure.set_size_inches(10.0, 4.4)
    return figure
