"""Run the protocol, and write the page."""

from evaluation.studies.in_context.study import main

main()
