"""Posteriors of the reward function, computed by engines of different cost.

``agents.gp`` exports all posteriors.
"""

__all__: list[str] = []
