"""Exponential weights for adversarial rewards."""

from __future__ import annotations

import math

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import number, positive
from agents.zoo.arms.arm_agent import ArmAgent


class Exp3S(ArmAgent):
    """Exp3.S: exponential weights with a small redistribution at every step.

    Pseudo-code::

        w <- 1/K for every arm
        p[a] <- (1 - gamma) w[a] + gamma / K;  a_t ~ p
        x <- unit(y_t) / p[a_t]
        w[a] <- w[a] exp(gamma x 1[a = a_t] / K) + e alpha / K;  w <- w / sum(w)

    Reference: [@auer2002nonstochastic], Section 8: alpha = 1 / T and, the number of switches of the
    best arm not being known, gamma = min{1, sqrt(K log(K T) / T)} (Corollary 8.2); with a bound
    S on it, gamma = min{1, sqrt(K (S log(K T) + e) / ((e - 1) T))} (Corollary 8.3).

    Deviations from the paper: rewards are brought into [0, 1] by their range so far, or, where mean
    and deviation are known, by two deviations about the mean; what lies outside is cut off. A
    reward is weighted by the probability of its arm when it comes, which is that of the decision
    unless it comes late. Weights are normalised, which changes no probability.

    Args:
        switches: S, how often the best arm changes, if it is known.
        box_arms: Number of points of a box.
    """

    name = "exp3-s"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        switches: float | None = None,
        box_arms: int = 20,
    ) -> None:
        self._switches = None if switches is None else number("switches", switches)
        super().__init__(problem, rng, box_arms=box_arms)

    def start(self) -> None:
        """Begin with equal weights."""
        k, horizon = self.n_arms, self.horizon
        self._weight = np.full(k, 1.0 / k)
        self._share = math.e / (k * horizon)
        log = math.log(k * horizon)
        square = k * log / horizon
        if self._switches is not None:
            square = k * (self._switches * log + math.e) / ((math.e - 1.0) * horizon)
        self._gamma = min(1.0, math.sqrt(square))

    def choose(self, t: float, observation: Array) -> int:
        """Return a draw from the probabilities."""
        up_to = np.cumsum(self._probability())
        return min(int(np.searchsorted(up_to, self._rng.random(), "right")), self.n_arms - 1)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Raise the weight of the arm."""
        gain = self.scale.unit(reward) / float(self._probability()[arm])
        self._weight[arm] *= math.exp(self._gamma * gain / self.n_arms)
        self._weight += self._share
        self._weight /= self._weight.sum()

    def _probability(self) -> Array:
        return (1.0 - self._gamma) * self._weight + self._gamma / self.n_arms


class RExp3(Exp3S):
    """Rexp3: Exp3 that starts again at the end of every batch.

    Pseudo-code::

        D <- ceil((K log K)^(1/3) (T / V)^(2/3));  gamma <- min{1, sqrt(K log K / ((e - 1) D))}
        every D steps: w <- 1/K for every arm
        p[a] <- (1 - gamma) w[a] + gamma / K;  a_t ~ p
        w[a_t] <- w[a_t] exp(gamma unit(y_t) / (p[a_t] K));  w <- w / sum(w)

    Reference: [@besbes2014stochastic], [@besbes2019optimal]: D and gamma as in Theorem 2, V being
    a bound on the total variation of the best mean. A season makes V grow with T; it is unknown
    to an agent, so the default is V = 3. (That it is the value of the paper's simulations could
    not be confirmed.)

    Deviations from the paper: rewards are brought into [0, 1] by their range so far, or, where mean
    and deviation are known, by two deviations about the mean; what lies outside is cut off. A
    reward for a decision of an earlier batch is ignored. Batches are counted by the clock.

    Args:
        variation: V, on the scale of [0, 1].
        box_arms: Number of points of a box.
    """

    name = "rexp3"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        variation: float = 3.0,
        box_arms: int = 20,
    ) -> None:
        self._variation = positive("variation", variation)
        super().__init__(problem, rng, box_arms=box_arms)

    def start(self) -> None:
        """Begin with equal weights, and compute the length of a batch."""
        k = self.n_arms
        self._weight, self._share = np.full(k, 1.0 / k), 0.0
        self._begin: float | None = None
        hard = k * math.log(k)
        batch = math.ceil(hard ** (1 / 3) * (self.horizon / self._variation) ** (2 / 3))
        self._batch = max(batch, 1)
        self._gamma = min(1.0, math.sqrt(hard / ((math.e - 1.0) * self._batch)))

    def choose(self, t: float, observation: Array) -> int:
        """Begin a new batch if it is time, then draw."""
        if self._begin is None:
            self._begin = t
        elif t >= self._begin + self._batch:
            self._begin += self._batch * ((t - self._begin) // self._batch)
            self._weight[:] = 1.0 / self.n_arms
        return super().choose(t, observation)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Raise the weight of the arm, if the decision was made in this batch."""
        if self._begin is None or t >= self._begin:
            super().learn(arm, reward, t)
