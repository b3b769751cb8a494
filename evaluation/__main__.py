"""``python -m evaluation``: the same as ``periodic-gp``."""

from evaluation.cli import main

main()
