"""How late rewards come, said among the arguments of a world.

``PeriodicGP-Shift-v0:delay=20`` is that world, and an agent in it hears of each reward 20 steps
later. The world, its regret and its references are the same with and without delay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the worlds are imported when one is made
    import gymnasium as gym

DELAYS = {"delay": "delay", "delay_random": "random", "delay_lost": "lost"}
"""Arguments that are not the world's but of :class:`periodic_envs.DelayedReward`, by its names."""


def world_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the world itself."""
    return {name: value for name, value in arguments.items() if name not in DELAYS}


def delay_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the wrapper; empty if rewards come at once.

    Raises:
        ValueError: One sentence that names the argument.
    """
    from periodic_envs import checks

    given = {name: value for name, value in arguments.items() if name in DELAYS}
    for name, value in given.items():
        if name == "delay_lost":
            checks.within(name, value, 0.0, 1.0)
        else:
            checks.whole(name, value, 0)
    return {DELAYS[name]: value for name, value in given.items()}


def delayed(env: gym.Env[Any, Any], arguments: Mapping[str, Any]) -> gym.Env[Any, Any]:
    """An environment as agents meet it: with rewards that come late, if the arguments say so."""
    from periodic_envs.delay import DelayedReward

    given = delay_arguments(arguments)
    return DelayedReward(env, **given) if given else env
