"""Fixtures of tests of the harness."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import agents.registry

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PEERS = Path(__file__).parents[2] / "examples" / "peers"
"""A package of agents that use other libraries."""


def peers_entry_points() -> dict[str, str]:
    """Return the entry points that the package declares."""
    project = tomllib.loads((PEERS / "pyproject.toml").read_text())["project"]
    return project["entry-points"][agents.registry.GROUP]


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The package in examples/peers as if it were installed, in this process."""
    points = [
        EntryPoint(name, place, agents.registry.GROUP)
        for name, place in peers_entry_points().items()
    ]
    monkeypatch.syspath_prepend(PEERS)
    monkeypatch.setattr(agents.registry, "entry_points", lambda group: points)
    return peers_entry_points()
