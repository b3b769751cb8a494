"""What tests of the harness share."""

import pytest


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without a sandbox, which is also quicker: agents are forked, not started."""
    monkeypatch.setattr("evaluation.running.sandbox.available", lambda: None)
    monkeypatch.setattr("evaluation.running.sandbox.why_not", lambda: "not here")
