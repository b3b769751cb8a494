"""Console script ``periodic-gp``: commands of the evaluation, and commands for users' own data."""

from __future__ import annotations

import sys

from evaluation import cli
from evaluation.cli import Command

OWN = {
    "data": Command(
        "periodic_decisions.cli.data:app", "Import, download, list and check measurements."
    ),
    "backtest": Command(
        "periodic_decisions.cli.backtest:backtest",
        "Test agents on your own data, window by window, and report which one to use.",
    ),
    "decide": Command(
        "periodic_decisions.cli.decide:app",
        "Decide in production: ask for a choice and report its reward, with all state in one file.",
    ),
    "learn-prior": Command(
        "periodic_decisions.cli.learn_prior:learn_prior",
        "Learn a prior for auto-gp-ucb from past measurements of the arms.",
    ),
}
"""Commands for users' own data; their messages name options instead of Python arguments."""
COMMANDS = cli.COMMANDS | OWN


def main() -> None:
    """Run ``periodic-gp``."""
    is_own = sys.argv[1:2] and sys.argv[1] in OWN
    cli.main(COMMANDS, reword=_with_options if is_own else str)


def _with_options(sentence: str) -> str:
    from periodic_decisions.cli.options import in_a_shell

    return in_a_shell(sentence)
