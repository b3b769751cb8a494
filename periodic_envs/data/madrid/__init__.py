"""Air-quality data of Madrid: the portal's files, the imported years, and the simulator.

This package is internal: use the worlds and ``periodic-gp data`` instead.
"""

__all__: list[str] = []
