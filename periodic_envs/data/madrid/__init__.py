"""Madrid's air: the portal's files, the imported years, the simulator.

Internal: use the worlds and ``periodic-gp data`` instead.
"""

__all__: list[str] = []
