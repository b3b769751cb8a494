"""Generic reinforcement learning behind the same two methods.

Torch and stable-baselines3 (extra ``rl``) are imported when an agent is made, not before.
"""

__all__: list[str] = []
