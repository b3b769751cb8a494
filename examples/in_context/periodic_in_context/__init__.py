"""Agent with a small transformer that was trained on worlds drawn from a prior.

``agent`` runs the transformer in plain NumPy, with the weights in ``weights.safetensors``.
``train`` creates these weights. Only training and fine-tuning need torch (extra ``rl``).
"""

__all__: list[str] = []
