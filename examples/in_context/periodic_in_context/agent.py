"""Agent that computes upper confidence bounds with a trained transformer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from agents.arrays import Array, Rng
from agents.base import Problem, is_valid_reward, time_of
from agents.checks import not_negative, require, whole
from agents.registry import UnknownAgentError
from agents.saving import Saveable
from periodic_in_context.network import Network, Reader
from periodic_in_context.relations import arm_relations
from periodic_in_context.tokens import FIRST_SCALE, Situation, cut_off, with_count, with_reward
from periodic_in_context.weights import flattened, read_weights, unflattened

WIDTH = 1.5
WINDOW, MIN_WINDOW = 1_000, 2 * FIRST_SCALE
MAX_ARMS = 1_000
"""Maximum number of arms, since the relations between all pairs of arms are stored in a table."""


class InContextUCB(Saveable):
    """Upper confidence bounds of a transformer that was trained on draws of a prior.

    Pseudo-code::

        beforehand: draw worlds from a prior, lives in them, and train a transformer to tell the
            mean and the deviation of f(a, t) from what was seen before
        at 4, 8, 16, ... rewards: mean and deviation of the rewards <- those so far; read all again
        mu, sigma <- what the transformer says of each arm now, given all past (t, a, reward)
        a_t <- argmax_a mu(a) + width sigma(a); observe y_t, read it

    Within an episode, the agent fits no parameters: the transformer reads the history of the
    episode. The network receives only relations between decisions: whether their arms are equal or
    near, how similar their phases are, and how much time lies between them. It receives neither the
    index of an arm nor a time, so it accepts any number of arms and any period. While the reward
    scale is unknown, the agent chooses at random among the least-tried arms. It stores at most
    ``window`` decisions. If there are more, it drops the older half and reads the rest again. It
    uses only the main season of the problem; if the problem has no season, the agent does not
    search for one. Contexts are ignored.

    Reference: [@muller2022transformers] for networks that are fitted to a prior,
    [@muller2023pfns4bo] for their use in optimisation, [@srinivas2009gaussian] for the bound.

    Deviations from the paper: tokens contain no features of the arm or of the time of a decision;
    instead, attention uses kernels of the relations between decisions. The predictive distribution
    is Gaussian. The prior is a distribution over seasonal worlds.

    Args:
        width: Number of standard deviations by which the bound exceeds the mean.
        window: Maximum number of stored decisions.
    """

    name = "in-context-ucb"
    takes = "arms"
    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    """Libraries on whose versions the training depends; running the agent does not need them."""

    def __init__(
        self, problem: Problem, rng: Rng, *, width: float = WIDTH, window: int = WINDOW
    ) -> None:
        if problem.n_actions is None:
            raise ValueError(
                f"{self.name} requires finitely many actions, got {problem.action_space}"
            )
        arms = problem.n_actions
        require(arms <= MAX_ARMS, f"{self.name} supports at most {MAX_ARMS:,} arms", arms)
        self._width, self._window = not_negative("width", width), whole("window", window)
        require(window >= MIN_WINDOW, f"window must be at least {MIN_WINDOW}", window)
        self._n_arms = arms
        self._table = arm_relations(self._n_arms, problem.action_features)
        self._history: list[tuple[float, float, float, float]] = []
        self._tuned: NDArray[np.float32] | None = None
        known = problem.reward_scale
        self._mean, self._deviation = known or (0.0, 0.0)
        self._next = float("inf") if known else float(FIRST_SCALE)
        past = [(float(o[0]), a, r) for o, a, r in problem.past_decisions()]
        self._history = [
            (t, float(problem.checked(arm)), reward, 1.0)
            for t, arm, reward in past[-self._window :]
            if is_valid_reward(reward, t)
        ]
        self.rebuild()

    def belief(self, t: float) -> tuple[Array, Array]:
        """Return means and deviations of the mean rewards at t; NaN if the scale is unknown."""
        if not self._deviation:
            nothing = np.full(self._n_arms, np.nan)
            return nothing, nothing.copy()
        mean, deviation = self._reader.ask(with_count(self._content, len(self._history)), t)
        return (
            self._mean + self._deviation * mean.astype(np.float64),
            self._deviation * deviation.astype(np.float64),
        )

    def act(self, observation: Array) -> int:
        """Return the arm with the greatest bound, or a least-tried arm if the scale is unknown."""
        t = time_of(observation)
        if not self._deviation:
            tried = np.bincount([int(row[1]) for row in self._history], minlength=self._n_arms)
            return self._any_of(np.flatnonzero(tried == tried.min()))
        mean, deviation = self._reader.ask(with_count(self._content, len(self._history)), t)
        bound = mean + np.float32(self._width) * deviation
        return self._any_of(np.flatnonzero(bound == bound.max()))

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Read a reward; a missing reward (NaN) changes nothing."""
        t, reward = float(observation[0]), float(reward)
        if not is_valid_reward(reward, t):
            return
        self._history.append((t, float(self._problem.checked(action)), reward, 0.0))
        full = len(self._history) > self._window
        if full:
            del self._history[: (len(self._history) + 1) // 2]
        if full or len(self._history) >= self._next:
            self.rebuild()
        elif self._deviation:
            self._read(len(self._history) - 1)

    def rebuild(self) -> None:
        """Compute a new reward scale if it is due, and read all stored rewards again."""
        rewards = np.array([row[2] for row in self._history])
        if len(rewards) >= self._next:
            self._mean, self._deviation = float(rewards.mean()), float(rewards.std()) or 1.0
            self._next = 2.0 * len(rewards)
        known_noise = self._problem.noise_std
        noise = known_noise / self._deviation if known_noise and self._deviation else None
        problem = self._problem
        has_features = problem.action_features is not None
        situation = Situation(self._n_arms, has_features, problem.period, noise)
        self._content = situation.content()
        self._reader = Reader(self._network(), self._table, problem.period, self._window)
        if self._deviation:
            for i in range(len(self._history)):
                self._read(i)

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
        """Fine-tune the network in other worlds of the same kind (``tuning.py``). This needs torch.

        The arguments are those of :class:`agents.base.Trainable`.
        """
        try:
            from periodic_in_context.tuning import tune
        except ImportError as error:
            raise UnknownAgentError(
                "missing-package",
                "training needs torch, which the extra rl of periodic-gp installs; run in the "
                'folder of the project: pip install -c constraints.txt -e ".[rl]"',
            ) from error
        cls(problem, rng, **settings)  # raises an error for an unsupported problem or setting
        learned = tune(
            problem, envs, steps, rng, lambda *known: cls(*known, **settings), read_weights()
        )
        return {"weights": flattened(learned)}

    @classmethod
    def after_training(
        cls,
        problem: Problem,
        rng: Rng,
        learned: Mapping[str, NDArray[Any]],
        settings: Mapping[str, Any],
    ) -> InContextUCB:
        """Return an agent with the weights learned in training."""
        agent = cls(problem, rng, **settings)
        agent._tuned = np.asarray(learned["weights"], np.float32)
        agent.rebuild()
        return agent

    def _read(self, i: int) -> None:
        t, arm, reward, warm = self._history[i]
        scaled = cut_off((reward - self._mean) / self._deviation)
        token = with_reward(self._content, scaled, warm=bool(warm), count=i)
        self._reader.read(token, int(arm), t, scaled)

    def _any_of(self, arms: NDArray[np.intp]) -> int:
        return int(arms[int(self._rng.integers(len(arms)))]) if len(arms) > 1 else int(arms[0])

    def _network(self) -> Network:
        return Network(read_weights() if self._tuned is None else unflattened(self._tuned))
