"""Covariance functions of actions, times and contexts, which can be added and multiplied.

``agents.gp`` exports the kernels of the package; import a kernel that you add from its module.
"""

__all__: list[str] = []
