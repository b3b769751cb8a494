"""Deciding in production: any agent, in people's units, from one file."""

from periodic_decisions.deciding.decider import Choice, Decider
from periodic_decisions.deciding.errors import DeciderError

__all__ = ["Choice", "Decider", "DeciderError"]
