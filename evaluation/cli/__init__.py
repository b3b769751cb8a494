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
    try:
        from evaluation.cli.commands import run

        run()
    except KeyboardInterrupt:  # wherever it was
        raise SystemExit(130) from None


__all__ = ["main"]
