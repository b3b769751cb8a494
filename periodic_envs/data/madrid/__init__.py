"""Madrid's air: the portal's files, the imported years, the simulator.

Used through the worlds and ``periodic-gp data``; nothing here is promised to stay.
"""

__all__: list[str] = []
