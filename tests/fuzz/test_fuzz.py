"""A thousand damaged files; ``make fuzz`` reads a hundred thousand."""

import pytest

from tests.platforms import linux_only, module_needs_posix

module_needs_posix()

from tests.fuzz.running import fuzz  # noqa: E402
from tests.fuzz.targets import TARGETS, Target  # noqa: E402

pytestmark = linux_only

CASES = 1000


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: type(target).__name__)
def test_data_or_a_clear_sentence(target: Target) -> None:
    found = fuzz(target, range(round(CASES * target.share)))
    assert not found.failures, {what: found.first[what] for what in found.failures}
    assert found.refused > 0
