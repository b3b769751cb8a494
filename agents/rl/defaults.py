"""Default settings of all algorithms, each of which can be overridden: ``ppo:n_steps=32``.

To learn within one episode of a few hundred steps, networks must be small, learning rates large and
updates frequent. An action affects only its own reward, so the discount is 0. Only agents with
memory can use the results of exploration at later steps, so their discount is positive.
"""

from __future__ import annotations

from typing import Any

NET = (32, 32)
"""Sizes of the hidden layers."""
LSTM = 32
"""Number of units of an LSTM."""
MEMORY_DISCOUNT = 0.95
"""Discount of agents with memory."""
SHORT_MEMORY = {
    "learning_rate": 3e-3,
    "learning_starts": 20,
    "batch_size": 32,
    "buffer_size": 10_000,
}
"""Settings of algorithms with a replay buffer, for one episode."""
LONG_MEMORY = {
    "learning_rate": 1e-3,
    "learning_starts": 1_000,
    "gradient_steps": 2,
    "batch_size": 128,
    "buffer_size": 100_000,
}
"""Settings of algorithms with a replay buffer, for training."""
ONLINE: dict[str, dict[str, Any]] = {
    "ppo": {"learning_rate": 3e-3, "n_steps": 16, "batch_size": 16, "n_epochs": 10},
    "a2c": {"learning_rate": 3e-3, "n_steps": 8},
    "recurrent-ppo": {"learning_rate": 3e-3, "n_steps": 16, "batch_size": 16, "n_epochs": 5},
    "dqn": {
        **SHORT_MEMORY,
        "train_freq": 1,
        "target_update_interval": 100,
        "exploration_fraction": 0.5,
    },
    "sac": SHORT_MEMORY,
    "td3": SHORT_MEMORY,
}
"""Settings for learning during evaluation."""

TRAINING: dict[str, dict[str, Any]] = {
    "ppo": {"learning_rate": 3e-3, "n_steps": 50, "batch_size": 1600, "n_epochs": 4},
    "a2c": {"learning_rate": 1e-3, "n_steps": 8},
    "recurrent-ppo": {"learning_rate": 3e-3, "n_steps": 50, "batch_size": 1600, "n_epochs": 4},
    "dqn": {
        **LONG_MEMORY,
        "train_freq": 1,
        "target_update_interval": 1_000,
        "exploration_fraction": 0.3,
    },
    "sac": LONG_MEMORY,
    "td3": LONG_MEMORY,
}
"""Settings for training in many other worlds in parallel."""
EXPLORING = {"ppo": 0.01, "a2c": 0.01, "recurrent-ppo": 0.01}
"""Weight of the entropy bonus in training and evaluation, for algorithms with a fixed weight."""
