"""Write the page of an edition, or print it."""

from studies.edition.page import main

main()
