"""Agents that decide in a repeating world.

    >>> from agents import AgentSpec, names
    >>> "periodic-gp-ucb" in names()
    True

This package never imports ``periodic_envs`` or ``evaluation``.
"""

from agents.base import Agent, Experience, Problem
from agents.objects import SavedAgentError
from agents.registry import AgentSpec, UnknownAgentError, describe, make_agent, names
from agents.saving import Saveable, load

DISTRIBUTION = "periodic-gp"
"""Distribution, since other packages may install the import name ``agents``, too."""

__all__ = [
    "DISTRIBUTION",
    "Agent",
    "AgentSpec",
    "Experience",
    "Problem",
    "Saveable",
    "SavedAgentError",
    "UnknownAgentError",
    "describe",
    "load",
    "make_agent",
    "names",
]
