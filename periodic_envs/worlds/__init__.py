"""One reward process per file; importing a file registers its id."""
