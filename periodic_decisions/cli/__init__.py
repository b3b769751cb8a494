"""The console script ``periodic-gp``: the commands of the evaluation, and those on own data."""

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
        "Try agents on your own data, window by window, and say which one to use.",
    ),
    "decide": Command(
        "periodic_decisions.cli.decide:app",
        "Decide in production: ask for a choice, tell its reward, from one file.",
    ),
    "learn-prior": Command(
        "periodic_decisions.cli.learn_prior:learn_prior",
        "Learn a prior for auto-gp-ucb from measurements: profiles, covariances, persistence.",
    ),
}
"""Commands whose options are arguments of the reader of tables."""
COMMANDS = cli.COMMANDS | OWN


def main() -> None:
    """Run ``periodic-gp``."""
    is_own = sys.argv[1:2] and sys.argv[1] in OWN
    cli.main(COMMANDS, reword=_with_options if is_own else str)


def _with_options(sentence: str) -> str:
    from periodic_decisions.cli.options import in_a_shell

    return in_a_shell(sentence)
