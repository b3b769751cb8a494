"""A saved posterior, put back into the agent that it belongs to."""

from __future__ import annotations

import numpy as np

from agents.gp import Actions, Box, Finite, InContext, Posterior, State, from_state


def restored_posterior(state: State, actions: Actions) -> Posterior:
    """A posterior from its state, or an error if it is not about these actions."""
    posterior = from_state(state)
    if not same_actions(posterior.actions, actions):
        raise ValueError("the belief is about other actions than the problem has")
    return posterior


def same_actions(one: Actions, other: Actions) -> bool:
    """Whether two sets of actions are the same."""
    if isinstance(one, InContext) and isinstance(other, InContext):
        return one.dimension == other.dimension and same_actions(one.actions, other.actions)
    if isinstance(one, Finite) and isinstance(other, Finite):
        return np.array_equal(one.x, other.x)
    if isinstance(one, Box) and isinstance(other, Box):
        return np.array_equal(one.low, other.low) and np.array_equal(one.high, other.high)
    return False
