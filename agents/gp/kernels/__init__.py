"""Covariance functions, values closed under + and *: of actions, of time, of contexts.

``agents.gp`` offers them all.
"""

__all__: list[str] = []
