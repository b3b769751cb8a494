"""Compare, and write the page."""

from studies.agreement.page import main

main()
