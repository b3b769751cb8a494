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


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The package in examples/peers as if it were installed, in this process."""
    project = tomllib.loads((PEERS / "pyproject.toml").read_text())["project"]
    places: dict[str, str] = project["entry-points"][agents.registry.GROUP]
    points = [EntryPoint(name, place, agents.registry.GROUP) for name, place in places.items()]
    monkeypatch.syspath_prepend(PEERS)
    monkeypatch.setattr(agents.registry, "entry_points", lambda group: points)
    return places
