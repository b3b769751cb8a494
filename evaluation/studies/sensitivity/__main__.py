"""Run the study, and write its page."""

from evaluation.studies.sensitivity.study import main

main()
