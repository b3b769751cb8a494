"""Agents whose belief is a Gaussian process."""

__all__: list[str] = []
