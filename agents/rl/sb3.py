"""Base class of the agents that use stable-baselines3, online or after training."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from agents.arrays import Array, Rng
from agents.base import Problem, is_valid_reward
from agents.checks import flag
from agents.registry import UnknownAgentError
from agents.rl.defaults import EXPLORING, MEMORY_DISCOUNT, NET, ONLINE, TRAINING
from agents.rl.view import RunningRewardScale, View

FOREVER = 10**9
"""Number of steps that is passed to ``learn`` of an online agent; it is never reached."""
LOST = 0.0
"""Scaled value of a reward that never arrives, which is the mean of the rewards so far."""
RESERVED = ("_init_setup_model", "device", "env", "policy", "policy_kwargs", "seed", "verbose")
"""Arguments of the algorithms that are not settings."""
_SCALE = "reward_scale"
"""Name of the learned array that contains the state of the reward scale."""


class SB3Agent:
    """Agent whose ``act`` and ``update`` run an algorithm of stable-baselines3.

    The agent learns from a decision if its reward arrives before the next decision. While a reward
    is pending, further decisions follow the current policy, and the agent does not learn from them.
    If the reward of a later decision arrives first, the pending reward is replaced by the mean of
    the rewards so far. A warm start only sets the scale of the rewards. After ``train`` the policy
    is fixed. An agent must be used in the thread that created it.

    Args:
        problem: Description of the problem.
        rng: Generator for the seed of the algorithm.
        memory: Add the last action and its reward to the network's input.
        deterministic: Use the most likely action of a trained policy. By default, this is done only
            without memory, since a policy with memory includes exploration.
        net: Sizes of the hidden layers.
        overrides: Any other argument of the algorithm in stable-baselines3.
    """

    name: ClassVar[str]
    algorithm: ClassVar[str]
    policy: ClassVar[str] = "MlpPolicy"
    takes: ClassVar[str | None] = None
    """Supported kind of actions, "arms" or "box"; None for both."""
    preload: ClassVar[tuple[str, ...]] = ("agents.rl.loop", "sb3_contrib")
    """Modules that a process imports once before it runs many such agents."""
    libraries: ClassVar[tuple[str, ...]] = ("torch", "stable-baselines3", "sb3-contrib")
    """Libraries whose versions affect the results."""

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        memory: bool = False,
        deterministic: bool | None = None,
        net: list[int] | tuple[int, ...] = NET,
        **overrides: Any,
    ) -> None:
        self._problem, self._view = problem, View(problem, memory=flag("memory", memory))
        self._own_global_state = _own_global_state(rng)
        from agents.rl.loop import Loop, WaitingEnv

        self._deterministic = not memory if deterministic is None else deterministic
        self._scale = RunningRewardScale()
        if problem.warm_start is not None:
            self._scale.update(problem.warm_start.reward[np.isfinite(problem.warm_start.reward)])
        elif problem.reward_scale is not None:
            mean, spread = problem.reward_scale
            self._scale.update([mean - spread, mean + spread])
        env = WaitingEnv(self._view.space, problem.action_space)
        with self._own_global_state:
            arguments = {**ONLINE[self.name], **overrides}
            arguments = self._for_one_life(arguments, problem.likely_horizon)
            self._model = self._make(env, arguments, memory, net, rng)
            self._loop: Loop | None = Loop(lambda: self._model.learn(FOREVER))
        self._state: Any = None
        self._pending: tuple[float, Any] | None = None
        self._reward = 0.0
        self._last: tuple[Any, Any] = (None, None)

    def act(self, observation: Array) -> Any:
        """Return the next action of the learning loop, or an action of the current policy.

        The policy is used if a reward is pending, or if the agent has been trained.
        """
        seen = self._view(np.asarray(observation)[None], *self._last)
        with self._own_global_state:
            if self._loop is None or self._pending is not None:
                return self._to_space(self._predict(seen))
            action = self._loop.go_on(self._reward, seen[0])
        chosen = self._to_space(action)
        self._pending = (float(observation[0]), chosen)
        return chosen

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Store a reward, with which the learning loop continues at the next action."""
        reward = float(reward)
        if not is_valid_reward(reward, float(observation[0])):
            return
        action = self._problem.checked(action)
        if self._loop is not None:
            self._scale.update(reward)
        scaled = float(self._scale(reward))
        self._last = (np.asarray(action)[None], np.array([scaled]))
        if self._pending is None:
            return
        t, chosen = self._pending
        if float(observation[0]) == t and np.array_equal(np.asarray(chosen), np.asarray(action)):
            self._pending, self._reward = None, scaled
        elif float(observation[0]) > t:  # a later decision: the pending reward is given up
            self._pending, self._reward = None, LOST

    @classmethod
    def train(
        cls,
        problem: Problem,
        envs: VectorEnv[Any, Any, Any],
        *,
        steps: int,
        rng: Rng,
        settings: Mapping[str, Any],
    ) -> dict[str, NDArray[Any]]:
        """Learn from other worlds of the same kind, and return the weights as plain arrays.

        The arguments are described in :class:`agents.base.Trainable`.
        """
        settings = dict(settings)
        settings.pop("deterministic", None)
        memory, net = settings.pop("memory", False), settings.pop("net", NET)
        own_state = _own_global_state(rng)
        from agents.rl.vec_env import BatchEnv

        scale = RunningRewardScale()
        batch = BatchEnv(envs, view=View(problem, memory=memory), scale=scale)
        with own_state:
            model = cls._make(batch, {**TRAINING[cls.name], **settings}, memory, net, rng)
            # SB3 completes the round in which it reaches the requested number of steps. The request
            # is therefore lower than the budget by one round less one step.
            most = steps - _round(model) * envs.num_envs + 1
            if most < 1:
                raise ValueError(
                    "steps (training_steps in a protocol) must be at least "
                    f"{_round(model) * envs.num_envs}, one round of {cls.name} in {envs.num_envs} "
                    f"worlds, got {steps}"
                )
            model.learn(most)
            weights = {k: v.detach().numpy().copy() for k, v in model.policy.state_dict().items()}
        return {**weights, _SCALE: scale.state}

    @classmethod
    def after_training(
        cls,
        problem: Problem,
        rng: Rng,
        learned: Mapping[str, NDArray[Any]],
        settings: Mapping[str, Any],
    ) -> SB3Agent:
        """Return an agent with a fixed, trained policy."""
        import torch

        agent = cls(problem, rng, **settings)
        weights = {k: torch.from_numpy(np.array(v)) for k, v in learned.items() if k != _SCALE}
        agent._model.policy.load_state_dict(weights)
        agent._model.policy.set_training_mode(False)
        agent._scale.state = learned[_SCALE]
        agent._loop = None
        return agent

    @classmethod
    def _make(cls, env: Any, arguments: dict[str, Any], memory: bool, net: Any, rng: Rng) -> Any:
        """Create the algorithm for an environment."""
        from stable_baselines3.common.logger import Logger

        available = "arms" if isinstance(env.action_space, spaces.Discrete) else "box"
        if cls.takes not in (None, available):
            kind = "a finite set of actions" if cls.takes == "arms" else "a box of actions"
            raise ValueError(f"{cls.name} requires {kind}, got the action space {env.action_space}")
        module, _, name = cls.algorithm.partition(":")
        algorithm = getattr(import_module(module), name)
        known = set(inspect.signature(algorithm).parameters) - set(RESERVED)
        for argument in arguments:
            if argument not in known:
                raise UnknownAgentError(
                    "unknown-setting",
                    f"{cls.name} has no setting {argument!r}; its settings are memory, "
                    f"deterministic, net and the arguments of stable-baselines3's {name}",
                )
        # A batch must not be larger than a round.
        if cls.name in EXPLORING and "batch_size" in arguments:
            most = arguments["n_steps"] * getattr(env, "num_envs", 1)
            arguments["batch_size"] = min(arguments["batch_size"], most)
        discount = MEMORY_DISCOUNT if memory else 0.0
        arguments = {"gamma": discount, **cls._extra(env), **arguments}
        if cls.name in EXPLORING:
            arguments.setdefault("ent_coef", EXPLORING[cls.name])
        model = algorithm(
            cls.policy, env, device="cpu", policy_kwargs=cls._network(list(net)), **arguments
        )
        model.set_logger(Logger(folder=None, output_formats=[]))
        model.action_space.seed(
            int(rng.integers(2**31))
        )  # some algorithms draw random actions from the space
        return model

    @classmethod
    def _for_one_life(cls, arguments: dict[str, Any], horizon: int) -> dict[str, Any]:
        """Return the arguments adapted to the horizon of an episode."""
        return arguments

    @classmethod
    def _network(cls, net: list[int]) -> dict[str, Any]:
        return {"net_arch": net}

    @classmethod
    def _extra(cls, env: Any) -> dict[str, Any]:
        """Return additional arguments of the algorithm, which depend on the environment."""
        return {}

    def _predict(self, seen: NDArray[np.float32]) -> Any:
        first = np.array([self._state is None])
        frozen = self._loop is None
        action, self._state = self._model.predict(
            seen, self._state, first, deterministic=frozen and self._deterministic
        )
        return action[0]

    def _to_space(self, action: Any) -> Any:
        if self._problem.n_actions is not None:
            return int(action)
        return np.clip(np.asarray(action, dtype=np.float32), -1.0, 1.0)


def _round(model: Any) -> int:
    """Return the length of a round: the steps of each copy of the environment between updates."""
    if hasattr(model, "rollout_buffer"):
        return int(model.n_steps)
    return int(getattr(model.train_freq, "frequency", model.train_freq))


def _own_global_state(rng: Rng) -> Any:
    """Return global state with a random seed; raise an error if the extra ``rl`` is missing."""
    try:
        from agents.rl.loop import OwnGlobalState
    except ImportError as error:
        raise UnknownAgentError(
            "missing-package",
            "this agent needs torch and stable-baselines3, which come with periodic-gp[rl]: "
            'in the folder of the project, run pip install -c constraints.txt -e ".[rl]"',
        ) from error
    return OwnGlobalState(int(rng.integers(2**31)))
