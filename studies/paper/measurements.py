"""Madrid by its measurements, or simulated where none are imported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from periodic_envs.data.madrid import cache as imported
from studies.claims import Claim, Verdict

SIMULATED = (
    "**No measurements are imported: the city is simulated here, and what is said about it says "
    "nothing about the paper's data.**"
)


def noted(text: Sequence[str]) -> list[str]:
    """Text about Madrid, after a note if the city is simulated."""
    return list(text) if imported.years() else [SIMULATED, *text]


def judged(*claims: Claim) -> list[Claim]:
    """Claims about Madrid: without measurements nothing is decided."""
    if imported.years():
        return list(claims)
    return [replace(c, found=f"Simulated: {c.found}", verdict=Verdict.UNKNOWN) for c in claims]
