"""Run the command line: ``python -m periodic_decisions``."""

from periodic_decisions.cli import main

main()
