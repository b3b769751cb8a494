"""``python -m evaluation``: ``periodic-gp`` without the commands on own data."""

from evaluation.cli import main

main()
