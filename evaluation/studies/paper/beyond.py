"""Beyond the paper: agents of ours that need not be told, held against the paper's."""

from __future__ import annotations

from evaluation.studies.paper import city, guesses, untold
from evaluation.studies.paper.claims import Section
from evaluation.studies.paper.lab import Lab
from evaluation.studies.paper.madrid import SIMULATED
from periodic_envs.data.madrid import cache as imported

NAME = "beyond"
TITLE = "Beyond the paper: agents that need not be told"


def section(lab: Lab) -> Section:
    """The three studies."""
    parts = [part.study(lab) for part in (untold, city, guesses)]
    text = [paragraph for _, paragraphs in parts for paragraph in paragraphs]
    if not imported.years():
        text.insert(0, SIMULATED)
    return Section(NAME, TITLE, [claim for claims, _ in parts for claim in claims], text, ours=True)
