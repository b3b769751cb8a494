"""Covariance functions, values closed under + and *: of actions, of time, of contexts.

``agents.gp`` exports the kernels of the package; a new one is imported from its own module.
"""

__all__: list[str] = []
