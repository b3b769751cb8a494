"""Deciding in production: any agent, in people's units, from one file."""

from evaluation.deciding.decider import Choice, Decider
from evaluation.deciding.errors import DeciderError

__all__ = ["Choice", "Decider", "DeciderError"]
