"""Agents that keep statistics of every arm."""

__all__: list[str] = []
