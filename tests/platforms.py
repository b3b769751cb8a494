"""Marks for tests that cannot run on every system, with the reason."""

import os
import sys

import pytest

from evaluation import sandbox

NEEDS_LINUX = (
    "needs Linux: processes are watched through /proc, and memory is limited there and nowhere else"
)
NEEDS_POSIX = "needs a POSIX system: signals, limits of a process, or its way to write paths"

linux_only = pytest.mark.skipif(sys.platform != "linux", reason=NEEDS_LINUX)
posix_only = pytest.mark.skipif(sys.platform == "win32", reason=NEEDS_POSIX)
needs_sandbox = pytest.mark.skipif(
    os.environ.get("PERIODIC_GP_REQUIRE_SANDBOX") != "1" and not sandbox.available(),
    reason=f"no sandbox: {sandbox.why_not()}",
)


def module_needs_posix() -> None:
    """Skip a whole module that cannot even be imported elsewhere."""
    if sys.platform == "win32":
        pytest.skip(NEEDS_POSIX, allow_module_level=True)
