"""Bandits of other libraries as agents of periodic-gp: a module for each library."""
