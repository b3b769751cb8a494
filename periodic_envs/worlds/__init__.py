"""Worlds, one per file; importing a file registers its id."""

__all__: list[str] = []
