"""Compare, and write the page."""

from evaluation.studies.agreement.page import main

main()
