"""Covariance functions of actions, times and contexts, which can be added and multiplied.

``agents.gp`` exports the kernels of the package. You need not export a kernel that you add: users
import it from its module.
"""

__all__: list[str] = []
