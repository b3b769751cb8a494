"""Fixture that registers the agent, even if the package is not installed."""

from importlib.metadata import EntryPoint

import pytest

import agents.registry


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the agent with the entry point that ``pyproject.toml`` declares."""
    group = agents.registry.GROUP
    point = EntryPoint("in-context-ucb", "periodic_in_context.agent:InContextUCB", group)
    monkeypatch.setattr(agents.registry, "entry_points", lambda group: [point])
