"""An agent that has learned to learn: a small transformer, trained on draws of its own prior.

``agent`` plays it in plain NumPy, with the weights of ``weights.safetensors``; ``train`` makes
these, and is all that needs torch (extra ``rl``).
"""

__all__: list[str] = []
