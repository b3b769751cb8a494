"""What tests of the harness share."""

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
"""A package of agents that use other libraries, which the tests here do without."""


def without_sandbox(patch: pytest.MonkeyPatch) -> None:
    """A system without a sandbox, which is also quicker: agents are forked, not started."""
    patch.setattr("evaluation.sandbox.available", lambda: False)
    patch.setattr("evaluation.sandbox.why_not", lambda: "not here")


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for one test."""
    without_sandbox(monkeypatch)


def peers_entry_points() -> dict[str, str]:
    """Names and places, as the package says them."""
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
