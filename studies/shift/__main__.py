"""Run the study, and write its page."""

from studies.shift.study import main

main()
