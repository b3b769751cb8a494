"""A plugin of pytest: how long every test takes, into the file that a variable names."""

import os

import pytest

VARIABLE = "PERIODIC_GP_MUTATION_CLOCK"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write down the seconds of the test itself."""
    if report.when == "call" and report.passed:
        with open(os.environ[VARIABLE], "a", encoding="utf-8") as file:
            file.write(f"{report.duration}\t{report.nodeid}\n")
