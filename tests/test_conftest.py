"""What ``conftest.py`` does to all tests."""

import os
from pathlib import Path

import pytest

from tests.conftest import shared_scope


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Where each process that makes this fixture leaves a file: in a folder common to all."""
    own = tmp_path_factory.getbasetemp()
    common = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "made"
    common.mkdir(exist_ok=True)
    (common / str(os.getpid())).touch()
    return list(common.iterdir())


@pytest.mark.parametrize("number", range(8))
def test_a_fixture_of_a_module_is_made_once(made: list[Path], number: int) -> None:
    assert made == [made[0].with_name(str(os.getpid()))]


def test_tests_that_share_nothing_go_wherever_there_is_room() -> None:
    for module, scope in {
        "tests/test_browser/test_page.py": "tests/test_browser",
        "tests/test_agents/test_fit.py": "tests/test_agents/test_fit.py::test[a::b]",
    }.items():
        assert shared_scope(f"{module}::test[a::b]") == scope
