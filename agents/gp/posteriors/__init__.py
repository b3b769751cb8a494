"""Beliefs about the reward function after observations, by engines of different cost.

``agents.gp`` offers them all.
"""

__all__: list[str] = []
