"""MINDS: agents that decide in a repeating world.

This package never imports ``periodic_envs`` or ``evaluation``.
"""

DISTRIBUTION = "periodic-gp"
"""Tells this package apart from others that install the import name ``agents``."""
