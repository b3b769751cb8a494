"""Run the study, and write its page."""

from studies.delay.study import main

main()
