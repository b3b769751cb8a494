"""Commands give the recorded figures."""

from typing import Any

import pytest

from tests.contract.commands import COMMANDS, compute
from tests.contract.conftest import golden, pinned_kernel

TOLERANCE = 1e-6 if pinned_kernel() else 1e-3


def check_equal(actual: Any, expected: Any, where: str) -> None:
    """Compare nested figures, numbers up to rounding."""
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), where
        for key in expected:
            check_equal(actual[key], expected[key], f"{where}, {key}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), where
        for number, (a, e) in enumerate(zip(actual, expected, strict=True)):
            check_equal(a, e, f"{where}, {number}")
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE, nan_ok=True), where
    else:
        assert actual == expected, where


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    return compute()


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_give_recorded_figures(name: str, figures: dict[str, Any]) -> None:
    check_equal(figures[name], golden("commands")[name], name)
