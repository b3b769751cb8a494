"""Agents of ours beyond the paper, by their names on the command line."""

from __future__ import annotations

from studies.claims import Claim

AUTO, PRETRAINED = "auto-gp-ucb", "auto-gp-ucb:prior=madrid"
SEARCH = "periodic-gp-ucb:period=auto"
QUICK_SEARCH = f"{SEARCH},time_length_scale=1"
SWITCHING, SEASONS = "switching-gp-ucb", "seasons-gp-ucb"
Part = tuple[list[Claim], list[str]]
"""What one of the studies of them has to say: claims; paragraphs, tables and pictures."""


def written_answers(answers: dict[str, bool | None]) -> str:
    """Whether regret is less, in words: where that is clear, refuted, or undecided.

    >>> written_answers({"a": True, "b": None, "c": True})
    'That it is less is clear for a, c; refuted for none; undecided for b.'
    """
    words = {True: "clear", False: "refuted", None: "undecided"}
    listed = {
        word: [name for name, found in answers.items() if found is answer]
        for answer, word in words.items()
    }
    parts = [f"{word} for {', '.join(names) or 'none'}" for word, names in listed.items()]
    return f"That it is less is {'; '.join(parts)}."
