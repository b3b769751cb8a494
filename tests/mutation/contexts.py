"""Plugin of pytest: coverage records which test runs which line.

``pytest-cov`` 7.1 has the option ``--cov-context=test`` for this, which records nothing.
"""

import coverage
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Record the lines of a test and its fixtures under its name."""
    current = coverage.Coverage.current()
    assert current is not None
    current.switch_context(item.nodeid)
