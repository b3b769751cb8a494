"""Covariance functions, values closed under + and *: of actions, of time, of contexts.

``agents.gp`` offers those that come with the package; a new one is imported from its own module.
"""

__all__: list[str] = []
