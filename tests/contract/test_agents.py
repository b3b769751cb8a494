"""Agents decide as recorded, interrupted by saving and loading or not."""

from typing import Any

import numpy as np
import pytest

from tests.contract.conftest import golden, pinned_kernel
from tests.contract.trajectories import REFUSED, STEPS, compute, online_names

RECORDED = golden("agents")
BOX_TOLERANCE = 1e-6 if pinned_kernel() else 1e-3
TIES = set() if pinned_kernel() else {"auto-gp-ucb", "linucb", "r-gp-ucb"}
"""Agents that choose between equal values by rounding, which other instructions change."""


@pytest.fixture(scope="module")
def decisions() -> dict[str, Any]:
    """Decisions of agents that were saved and loaded in the middle."""
    return compute(save_at=STEPS // 2)


def test_agents_are_all_recorded() -> None:
    assert sorted(RECORDED) == sorted(online_names())


@pytest.mark.parametrize("name", [name for name in RECORDED if name not in TIES])
def test_agents_decide_as_recorded(name: str, decisions: dict[str, Any]) -> None:
    for world, expected in RECORDED[name].items():
        actual = decisions[name][world]
        if REFUSED in (expected, actual):
            assert actual == expected, world
            continue
        tolerance = BOX_TOLERANCE if isinstance(expected[0], list) else 0.0
        message = f"{world} (saved and loaded before step {STEPS // 2})"
        np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance, err_msg=message)
