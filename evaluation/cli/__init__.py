"""The command line, ``periodic-gp``."""

from __future__ import annotations

import gc

NEW_OBJECTS = 50_000
"""Until Python looks for garbage: imports, tables and pictures make many objects and leave few."""


def main() -> None:
    """Run the command line."""
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
    try:
        from evaluation.cli.commands import run

        run()
    except KeyboardInterrupt:  # wherever it was
        raise SystemExit(130) from None


__all__ = ["main"]
