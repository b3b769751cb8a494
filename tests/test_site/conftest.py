"""The modules that make the site, and the built site."""

import os
import sys
from pathlib import Path

import pytest

from tests.test_browser.conftest import browser as browser
from tests.test_browser.conftest import opened as opened

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))


@pytest.fixture(scope="session")
def site() -> Path:
    """The output of ``make docs``."""
    path = ROOT / "out" / "site"
    if not (path / "index.html").is_file():
        if os.environ.get("PERIODIC_GP_REQUIRE_SITE"):
            pytest.fail("the site is not in out/site, and PERIODIC_GP_REQUIRE_SITE is set")
        pytest.skip("SKIPPED: the site is not built; make docs builds it")
    return path
