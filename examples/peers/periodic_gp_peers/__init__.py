"""Bandits of other libraries as agents of periodic-gp, with one module per library."""
