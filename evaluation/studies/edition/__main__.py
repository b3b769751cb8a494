"""Write the page of an edition, or print it."""

from evaluation.studies.edition.page import main

main()
