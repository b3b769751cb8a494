"""Beyond the paper: agents of ours that need not be told, held against the paper's."""

from __future__ import annotations

from studies.claims import Section
from studies.paper import city, guesses, unknown_period
from studies.paper.measurements import noted
from studies.paper.size import PaperLab

NAME = "beyond"
TITLE = "Beyond the paper: agents that need not be told"


def section(lab: PaperLab) -> Section:
    """The three studies."""
    parts = [part.study(lab) for part in (unknown_period, city, guesses)]
    text = noted([paragraph for _, paragraphs in parts for paragraph in paragraphs])
    return Section(NAME, TITLE, [claim for claims, _ in parts for claim in claims], text, ours=True)
