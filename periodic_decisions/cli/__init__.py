"""The command line, ``periodic-gp``: the commands of evaluation, and those on users' data."""

from __future__ import annotations

from evaluation.cli import main

__all__ = ["main"]
