"""Registration of the agent, whether or not the package is installed."""

from importlib.metadata import EntryPoint

import pytest

import agents.registry


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer the agent by the entry point that ``pyproject.toml`` declares."""
    group = agents.registry.GROUP
    point = EntryPoint("in-context-ucb", "periodic_in_context.agent:InContextUCB", group)
    monkeypatch.setattr(agents.registry, "entry_points", lambda group: [point])
