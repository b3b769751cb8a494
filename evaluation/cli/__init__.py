"""The command line, ``periodic-gp``."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    try:
        from evaluation.cli.commands import run

        run()
    except KeyboardInterrupt:  # wherever it was
        raise SystemExit(130) from None


__all__ = ["main"]
