"""The command line, ``periodic-gp``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    # The commands import SciPy and pandas, which take seconds: too long for a version.
    if sys.argv[1:] == ["--version"]:
        from evaluation.cli.shared import show_version

        show_version()
        return
    from evaluation.cli.commands import run

    run()


__all__ = ["main"]
