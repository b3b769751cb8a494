"""Base of the adapters: context, scaled rewards, random ties, one generator."""

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
"""In magnitude: squares of rewards must stay finite."""
BOX_ARMS = 20
"""Points of a box."""
MAX_HARMONICS = 1_000
"""Of each season: a context of more would take a library longer than anybody waits."""
INSTALL = 'in the project, pip install -c constraints.txt -e "examples/peers[{}]"'


class Peer:
    """Base of all agents here: a subclass says how an arm is chosen, and how one is learned of.

    The context is a constant, and cosine and sine of the first harmonics of every season. Rewards
    are standardised by what the problem tells of their scale, or by those so far; in the latter
    case the first pulls are at random. A box is cut into twenty points, as our own agents for arms
    do it. All randomness comes from the generator that is given.

    Args:
        problem: What is known: its actions, and a season unless ``period`` is given.
        rng: The only source of randomness.
        period: The season's length in steps, instead of the problem's.
        harmonics: How many of each season; fewer for a season of less than 2 harmonics + 1 steps.
        first_pulls: Rewards to be known before anything is compared, unless a scale is told.
    """

    extra: ClassVar[str]
    """What to install: the name of the library, and of the extra of this package."""

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
                f"{type(self).__name__} needs a season and the problem tells none: "
                "write :period=24 behind its name"
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
        """Import the library and make the models; ``n_arms``, ``seed`` and all else is there."""
        raise NotImplementedError

    def choose(self, t: float) -> int:
        """The arm for a moment."""
        raise NotImplementedError

    def learn(self, t: float, arm: int, reward: float) -> None:
        """Take in a standardised reward."""
        raise NotImplementedError

    def chosen_at_random(self, t: float, arm: int) -> None:
        """One of the first pulls, for libraries that ask how likely a choice was."""

    def act(self, observation: Array) -> Any:
        """The library's choice; a random one as long as the scale of rewards is not known."""
        t = float(observation[0])
        if self._told is None and self._count < self._first_pulls:
            arm = int(self.rng.integers(self.n_arms))
            self.chosen_at_random(t, arm)
        else:
            arm = int(self.choose(t))
        return arm if self.problem.n_actions is not None else self._points[arm].copy()

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Standardise a reward, as the rewards so far have it, and hand it to the library."""
        reward, arm = float(reward), nearest_arm(self._points, self.problem.checked(action))
        if math.isnan(reward):  # no news
            return
        if not abs(reward) <= MAX_REWARD:
            raise ValueError(f"a reward must be finite and at most 1e100, got {reward}")
        self._count += 1
        step = reward - self._mean
        self._mean += step / self._count
        self._squares += step * (reward - self._mean)
        mean, deviation = self._told or (self._mean, math.sqrt(self._squares / self._count))
        standardised = (reward - mean) / deviation if deviation > 0.0 else 0.0
        self.learn(float(observation[0]), arm, standardised)

    def context(self, t: float) -> Array:
        """A constant, all cosines, all sines: shape (d,)."""
        angles = self._angles * t
        return np.concatenate([[1.0], np.cos(angles), np.sin(angles)])

    def arm_features(self) -> Array:
        """For models that all arms share: coordinates if they have some, or one column an arm."""
        points = self.problem.action_features
        if self.problem.n_actions is None:
            points = self._points * self.problem.action_half_width
        return np.eye(self.n_arms) if points is None else np.asarray(points, dtype=np.float64)

    def best_of(self, scores: Array) -> int:
        """The arm of the greatest score, ties at random."""
        scores = np.asarray(scores, dtype=np.float64)
        return int(self.rng.choice(np.flatnonzero(scores == scores.max())))

    def seed(self) -> int:
        """A seed for the library, from the generator that was given."""
        return int(self.rng.integers(2**31 - 1))

    def library(self, module: str) -> Any:
        """A module of the library, or a sentence that says what to install."""
        try:
            return import_module(module)
        except ImportError as error:
            raise UnknownAgentError(
                "missing-package",
                f"this agent needs {self.extra}, which cannot be imported ({error}): "
                f"{INSTALL.format(self.extra)}",
            ) from error
