r"""Example of an agent that cheats: it recognises the public seeds, but not hidden seeds.

    periodic-gp submit examples/memorising_agent.py:Memoriser --protocol smoke --out cheat
    periodic-gp verify cheat --rerun 12 --agent examples/memorising_agent.py:Memoriser

The bundle passes all checks of ``verify`` with almost no regret: the numbers are correct, and the
agent chooses the same actions whenever it is run on the public seeds. The agent recognises a seed
by the state of its random generator, creates the same world, and looks up the best action. It
recognises neither the hidden seeds nor their worlds, so the judge rejects the submission:

    periodic-gp leaderboard open boards/mine --protocol smoke
    periodic-gp leaderboard add cheat --edition boards/mine
    periodic-gp leaderboard judge --edition boards/mine \
        --agent examples/memorising_agent.py:Memoriser
"""

import zlib
from contextlib import suppress

import gymnasium as gym
import numpy as np

import periodic_envs

SEEDS = range(100)


class Memoriser:
    """Agent that chooses the best action in worlds that it recognises, or else a random action."""

    def __init__(self, problem, rng):
        self._problem, self._rng = problem, rng
        seed = next((seed for seed in SEEDS if self._is_mine(seed)), None)
        self._worlds = [] if seed is None else self._candidates(seed)

    def act(self, observation):
        """Return the best action according to the code of the world."""
        if self._worlds:
            return self._worlds[0].episode.process.optimum(int(observation[0]))[0]
        if self._problem.n_actions is not None:
            return int(self._rng.integers(self._problem.n_actions))
        return self._rng.uniform(-1.0, 1.0, self._problem.dim)

    def update(self, observation, action, reward):
        """Exclude candidate worlds that would have given a different reward."""
        self._worlds = [env for env in self._worlds if env.step(action)[1] == reward]

    def _candidates(self, seed):
        found = []
        for env_id in periodic_envs.ids():
            with suppress(periodic_envs.DataError, ImportError):  # if data are not installed
                env = gym.make(env_id, horizon=self._problem.horizon).unwrapped
                env.reset(seed=seed)
                if env.action_space == self._problem.action_space:
                    found.append(env)
        return found

    def _is_mine(self, seed):
        """Return True if the harness created the random generator of this agent from ``seed``."""
        guess = np.random.default_rng(zlib.crc32(f"agent {seed}".encode()))
        return guess.bit_generator.state == self._rng.bit_generator.state
