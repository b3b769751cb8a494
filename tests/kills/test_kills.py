"""Two kills of every command; ``make kills`` does 500."""

import pytest

from tests.kills.killing import kill_often
from tests.kills.scenarios import SCENARIOS, Scenario
from tests.platforms import linux_only

pytestmark = linux_only


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: type(scenario).__name__)
def test_nothing_is_lost_and_nothing_is_counted_twice(scenario: Scenario) -> None:
    assert kill_often(scenario, kills=2, seed=100) >= 1
