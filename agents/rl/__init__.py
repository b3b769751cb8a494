"""Generic reinforcement-learning algorithms with the interface of agents.

Torch and stable-baselines3 (extra ``rl``) are imported only when an agent is created.
"""

__all__: list[str] = []
