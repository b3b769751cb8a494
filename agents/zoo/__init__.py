"""Bandit agents, one per file."""

__all__: list[str] = []
