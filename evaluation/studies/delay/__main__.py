"""Run the study, and write its page."""

from evaluation.studies.delay.study import main

main()
