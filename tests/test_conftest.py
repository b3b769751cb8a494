"""What ``conftest.py`` does to all tests."""

import pytest


@pytest.fixture(scope="module")
def shared() -> None:
    """A fixture of this module."""


def test_tests_that_share_a_fixture_stay_together(
    shared: None, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("xdist")
    assert request.node.get_closest_marker("xdist_group").args == ("tests/test_conftest.py",)


def test_others_go_wherever_there_is_room(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("xdist_group") is None
