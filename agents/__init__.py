"""Agents for decisions with periodic rewards.

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
"""Name of the distribution. It identifies this package, since other distributions may also install
a package ``agents``."""

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
