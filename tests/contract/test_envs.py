"""Every registered world draws as recorded, one copy at a time or many at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import periodic_envs
from tests.contract.conftest import golden
from tests.contract.worlds import ids, scalar_draws, vector_draws

RECORDED = golden("envs")


def test_worlds_are_all_recorded() -> None:
    assert sorted(RECORDED) == sorted(periodic_envs.ids())


@pytest.mark.parametrize("draws", [scalar_draws, vector_draws])
@pytest.mark.parametrize("env_id", ids())
def test_worlds_draw_as_recorded(env_id: str, draws: Callable[[str], list[dict[str, Any]]]) -> None:
    for copy, (actual, expected) in enumerate(zip(draws(env_id), RECORDED[env_id], strict=True)):
        assert actual.keys() == expected.keys()
        for name, column in expected.items():
            message = f"{name} of copy {copy}"
            np.testing.assert_allclose(actual[name], column, rtol=1e-7, atol=1e-7, err_msg=message)
