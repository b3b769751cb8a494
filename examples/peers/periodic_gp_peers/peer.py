"""Base class of the adapters, which provides the context, the scale of rewards and randomness."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agents import Problem, UnknownAgentError
from agents.checks import positive, require, whole
from agents.zoo.arms.arm_agent import arms_of, nearest_arm

Array = NDArray[np.float64]
MAX_REWARD = 1e100
"""Maximum magnitude of a reward, so that squares of rewards stay finite."""
BOX_ARMS = 20
"""Number of points to which a box is discretised."""
MAX_HARMONICS = 1_000
"""Maximum number of harmonics per season; with more, the libraries would be too slow."""
INSTALL = 'run in the folder of the project: pip install -c constraints.txt -e "examples/peers[{}]"'


class Peer:
    """Base class of all agents of this package.

    A subclass defines how to choose an arm and how to learn from a reward.

    The context consists of a constant, and of cosine and sine of the first harmonics of every
    season. Rewards are standardised with the scale that the problem provides. If the scale is
    unknown, rewards are standardised with the mean and standard deviation of the rewards so far,
    and the first choices are random. A box is discretised to twenty points, as by the arm agents
    of the package ``agents``. All random numbers come from ``rng``.

    Args:
        problem: Information about the world; it must include a season unless ``period`` is given.
        rng: Random generator, which is the only source of randomness.
        period: Length of the season in steps; by default the seasons of the problem.
        harmonics: Number of harmonics of each season. A season of at most 2 ``harmonics`` steps
            has fewer.
        first_pulls: Number of rewards before arms are compared, if the scale is unknown.
    """

    extra: ClassVar[str]
    """Name of the library, which is also the name of the extra that installs it."""

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        period: float | None = None,
        harmonics: int = 3,
        first_pulls: int = 10,
    ) -> None:
        self.periods = problem.periods if period is None else (positive("period", period),)
        if not self.periods:
            raise ValueError(
                f"{type(self).__name__} needs a season, but the problem has none: "
                "append :period=24 to the name of the agent"
            )
        harmonics = whole("harmonics", harmonics)
        require(harmonics <= MAX_HARMONICS, f"harmonics must be at most {MAX_HARMONICS}", harmonics)
        self.problem, self.rng = problem, rng
        self._points = arms_of(problem, BOX_ARMS)
        self.n_arms = len(self._points)
        multiples = range(1, harmonics + 1)
        waves = [k / p for p in self.periods for k in multiples if 2 * k < p or k == 1]
        self._angles = 2.0 * np.pi * np.array(waves)
        self._first_pulls = whole("first_pulls", first_pulls, ", or 0") if first_pulls else 0
        self._told = None
        if problem.reward_scale is not None and problem.noise_std is not None:
            mean, deviation = problem.reward_scale
            self._told = mean, math.hypot(deviation, problem.noise_std)
        self._count, self._mean, self._squares = 0, 0.0, 0.0
        self.start()
        for observation, action, reward in problem.past_decisions():
            self.update(observation, action, reward)

    def start(self) -> None:
        """Import the library and create the models; called when all other attributes are set."""
        raise NotImplementedError

    def choose(self, t: float) -> int:
        """Return the arm for time t."""
        raise NotImplementedError

    def learn(self, t: float, arm: int, reward: float) -> None:
        """Learn from the standardised reward of an arm chosen at time t."""
        raise NotImplementedError

    def chosen_at_random(self, t: float, arm: int) -> None:
        """Record one of the first, random choices, for libraries that need its probability."""

    def act(self, observation: Array) -> Any:
        """Return the library's choice, or a random action while the scale of rewards is unknown."""
        t = float(observation[0])
        if self._told is None and self._count < self._first_pulls:
            arm = int(self.rng.integers(self.n_arms))
            self.chosen_at_random(t, arm)
        else:
            arm = int(self.choose(t))
        return arm if self.problem.n_actions is not None else self._points[arm].copy()

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Standardise a reward and pass it to the library."""
        reward, arm = float(reward), nearest_arm(self._points, self.problem.checked(action))
        if math.isnan(reward):  # the reward is missing
            return
        if not abs(reward) <= MAX_REWARD:
            raise ValueError(
                f"a reward must be finite and of magnitude at most 1e100, got {reward}"
            )
        self._count += 1
        step = reward - self._mean
        self._mean += step / self._count
        self._squares += step * (reward - self._mean)
        mean, deviation = self._told or (self._mean, math.sqrt(self._squares / self._count))
        standardised = (reward - mean) / deviation if deviation > 0.0 else 0.0
        self.learn(float(observation[0]), arm, standardised)

    def context(self, t: float) -> Array:
        """Return the context at time t: a constant, all cosines, all sines, shape (d,)."""
        angles = self._angles * t
        return np.concatenate([[1.0], np.cos(angles), np.sin(angles)])

    def arm_features(self) -> Array:
        """Return coordinates of the arms, or one indicator column per arm if there are none."""
        points = self.problem.action_features
        if self.problem.n_actions is None:
            points = self._points * self.problem.action_half_width
        return np.eye(self.n_arms) if points is None else np.asarray(points, dtype=np.float64)

    def best_of(self, scores: Array) -> int:
        """Return the arm with the greatest score; ties are broken at random."""
        scores = np.asarray(scores, dtype=np.float64)
        return int(self.rng.choice(np.flatnonzero(scores == scores.max())))

    def seed(self) -> int:
        """Return a seed for the library, drawn from the agent's generator."""
        return int(self.rng.integers(2**31 - 1))

    def library(self, module: str) -> Any:
        """Return a module of the library, or raise an error that states what to install."""
        try:
            return import_module(module)
        except ImportError as error:
            raise UnknownAgentError(
                "missing-package",
                f"this agent needs {self.extra}, which cannot be imported ({error}); "
                f"{INSTALL.format(self.extra)}",
            ) from error
