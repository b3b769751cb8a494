"""Commands give the recorded figures."""

from typing import Any

import pytest

from tests.contract.commands import COMMANDS, compute
from tests.contract.conftest import golden, pinned_kernel

TOLERANCE = 1e-6 if pinned_kernel() else 1e-3


def leaves(value: Any, place: str = "") -> dict[str, Any]:
    """Return the leaves of nested figures by their places."""
    if not isinstance(value, dict | list) or not value:
        return {place: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return {
        name: leaf for key, item in items for name, leaf in leaves(item, f"{place}, {key}").items()
    }


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    return compute()


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_give_recorded_figures(name: str, figures: dict[str, Any]) -> None:
    tolerance = {"rel": TOLERANCE, "abs": TOLERANCE, "nan_ok": True}
    assert leaves(figures[name]) == {
        place: pytest.approx(leaf, **tolerance) if isinstance(leaf, float) else leaf
        for place, leaf in leaves(golden("commands")[name]).items()
    }
