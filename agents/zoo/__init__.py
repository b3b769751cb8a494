"""The agents, one per file."""

__all__: list[str] = []
