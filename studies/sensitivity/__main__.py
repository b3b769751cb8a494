"""Run the study, and write its page."""

from studies.sensitivity.study import main

main()
