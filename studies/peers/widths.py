"""Rows with the width that was chosen on other seeds, beside those at the defaults."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from agents.registry import AgentSpec, find_class, settings_of
from evaluation.protocol import Protocol
from evaluation.specs import AgentEntry
from studies.zoo import widths

SEARCHED = "standard"
"""The protocol whose worlds the widths were chosen in."""


@dataclass(frozen=True)
class Follower:
    """An agent that is given the width of one of ours.

    Attributes:
        ours: The agent that the width was chosen with.
        settings: Its own settings for a width in deviations.
    """

    ours: str
    settings: Callable[[float], dict[str, float]]


def quantile(width: float) -> float:
    """The quantile so many deviations above the mean.

    >>> quantile(1.0)
    0.8413
    """
    return round(NormalDist().cdf(width), 4)


def precisions(width: float) -> dict[str, float]:
    """River compares means plus one deviation: both precisions say how large that is.

    >>> precisions(0.1)
    {'alpha': 100.0, 'beta': 100.0}
    """
    return dict.fromkeys(("alpha", "beta"), float(f"{1.0 / width**2:.6g}"))


FOLLOWERS = {
    "linucb": Follower("linucb", lambda width: {"width": width}),
    "lints": Follower("lints", lambda width: {"width": width}),
    "river-linucb": Follower("linucb", precisions),
    "mabwiser-linucb": Follower("linucb", lambda width: {"alpha": width}),
    "mabwiser-lints": Follower("lints", lambda width: {"alpha": width}),
    "bayesianbandits-ucb": Follower("linucb", lambda width: {"alpha": quantile(width)}),
}
"""Linear agents that have a width, ours and other libraries'."""


def chosen_width(ours: str) -> float:
    """The width of one of our linear agents that the search for the controls has chosen."""
    found = AgentSpec.parse(widths.chosen()[ours]).settings.get("width")
    default = (settings_of(find_class(ours)) or {})["width"]
    return float(default if found is None else found)


def with_chosen_widths(protocol: Protocol) -> tuple[Protocol, list[str]]:
    """The protocol with a row more for every linear agent at its defaults, and their labels."""
    entries: list[AgentEntry] = []
    added: list[str] = []
    for entry in protocol.agents:
        entries.append(entry)
        follower = FOLLOWERS.get(entry.spec.name)
        if follower is None or entry.spec.settings:
            continue
        settings = follower.settings(chosen_width(follower.ours))
        if settings.items() <= (settings_of(find_class(entry.spec.name)) or {}).items():
            continue  # they are the defaults
        spec = AgentSpec(entry.spec.name, settings)
        entries.append(replace(entry, label=str(spec), spec=spec))
        added.append(str(spec))
    return replace(protocol, agents=tuple(entries)), added


def width_words(protocol: Protocol) -> dict[str, str]:
    """What a page says of them: the seeds, how many worlds were searched in, and the widths."""
    searched_in, here = (
        {entry.spec.env_id for entry in each.envs} for each in (Protocol.load(SEARCHED), protocol)
    )
    return {
        "seeds": str(_searched()["seeds"]),
        "shared": str(len(searched_in & here)),
        "widths": f"{', '.join(_said())}, out of {_searched()['grid']} times the default",
    }


def _said() -> Iterator[str]:
    for ours in dict.fromkeys(follower.ours for follower in FOLLOWERS.values()):
        factor, grid = _searched()["chosen"][ours], _searched()["grid"]
        edge = " (the least that was tried)" if factor == min(grid) else ""
        yield f"{chosen_width(ours):g} for `{ours}`{edge}"


def _searched() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(widths.CHOSEN.read_text(encoding="utf-8"))
    return found
