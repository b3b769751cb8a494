"""Agents whose mean reward is linear in features."""

__all__: list[str] = []
