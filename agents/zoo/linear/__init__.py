"""Agents that model the mean reward as linear in features."""

__all__: list[str] = []
