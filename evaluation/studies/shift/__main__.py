"""Run the study, and write its page."""

from evaluation.studies.shift.study import main

main()
