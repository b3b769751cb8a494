"""Agents for finitely many arms that keep statistics of each arm."""

__all__: list[str] = []
