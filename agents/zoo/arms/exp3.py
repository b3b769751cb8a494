"""Exponential weights for adversarial rewards."""

from __future__ import annotations

import math

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import number, positive
from agents.zoo.arms.arm_agent import ArmAgent


class Exp3S(ArmAgent):
    """Exp3.S: exponential weights, of which a small share is redistributed at every step.

    Pseudo-code::

        w <- 1/K for every arm
        p[a] <- (1 - gamma) w[a] + gamma / K;  a_t ~ p
        x <- unit(y_t) / p[a_t]
        w[a] <- w[a] exp(gamma x 1[a = a_t] / K) + e alpha / K;  w <- w / sum(w)

    Reference: [@auer2002nonstochastic], Section 8, with alpha = 1 / T. If the number of switches of
    the best arm is unknown, gamma = min{1, sqrt(K log(K T) / T)} (Corollary 8.2). With a bound S on
    this number, gamma = min{1, sqrt(K (S log(K T) + e) / ((e - 1) T))} (Corollary 8.3).

    Deviations from the paper: rewards are rescaled to [0, 1]. If the problem states their scale and
    noise, the interval that is mapped to [0, 1] extends two standard deviations to either side of
    their mean; otherwise, it is the range of the rewards so far. Values outside the interval are
    clipped. The reward is divided by the probability of its arm at the time when the reward
    arrives. Unless the reward is late, this is the probability at the decision. Weights are
    normalised, which does not change the probabilities.

    Args:
        switches: Bound S on the number of switches of the best arm; None if it is unknown.
        box_arms: Number of points to which a box is discretised.
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
        """Start with equal weights."""
        k, horizon = self.n_arms, self.horizon
        self._weight = np.full(k, 1.0 / k)
        self._share = math.e / (k * horizon)
        log = math.log(k * horizon)
        square = k * log / horizon
        if self._switches is not None:
            square = k * (self._switches * log + math.e) / ((math.e - 1.0) * horizon)
        self._gamma = min(1.0, math.sqrt(square))

    def choose(self, t: float, observation: Array) -> int:
        """Return an arm drawn from the probabilities."""
        up_to = np.cumsum(self._probability())
        return min(int(np.searchsorted(up_to, self._rng.random(), "right")), self.n_arms - 1)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Increase the weight of the arm."""
        gain = self.scale.unit(reward) / float(self._probability()[arm])
        self._weight[arm] *= math.exp(self._gamma * gain / self.n_arms)
        self._weight += self._share
        self._weight /= self._weight.sum()

    def _probability(self) -> Array:
        return (1.0 - self._gamma) * self._weight + self._gamma / self.n_arms


class RExp3(Exp3S):
    """Rexp3: Exp3 that restarts at the end of every batch.

    Pseudo-code::

        D <- ceil((K log K)^(1/3) (T / V)^(2/3));  gamma <- min{1, sqrt(K log K / ((e - 1) D))}
        every D steps: w <- 1/K for every arm
        p[a] <- (1 - gamma) w[a] + gamma / K;  a_t ~ p
        w[a_t] <- w[a_t] exp(gamma unit(y_t) / (p[a_t] K));  w <- w / sum(w)

    Reference: [@besbes2014stochastic], [@besbes2019optimal]. D and gamma are those of Theorem 2,
    where V is a bound on the total variation of the best mean. With a season, V grows with T. An
    agent does not know V, so the default is V = 3. (We could not confirm that the paper's
    simulations use this value.)

    Deviations from the paper: rewards are rescaled to [0, 1]. If the problem states their scale and
    noise, the interval that is mapped to [0, 1] extends two standard deviations to either side of
    their mean; otherwise, it is the range of the rewards so far. Values outside the interval are
    clipped. A reward is ignored if its decision was made in an earlier batch. Batches are measured
    in time steps, not in rewards.

    Args:
        variation: Bound V on the total variation, for rewards in [0, 1].
        box_arms: Number of points to which a box is discretised.
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
        """Start with equal weights, and compute the length of a batch."""
        k = self.n_arms
        self._weight, self._share = np.full(k, 1.0 / k), 0.0
        self._begin: float | None = None
        hard = k * math.log(k)
        batch = math.ceil(hard ** (1 / 3) * (self.horizon / self._variation) ** (2 / 3))
        self._batch = max(batch, 1)
        self._gamma = min(1.0, math.sqrt(hard / ((math.e - 1.0) * self._batch)))

    def choose(self, t: float, observation: Array) -> int:
        """Start a new batch if the current batch has ended, then draw an arm."""
        if self._begin is None:
            self._begin = t
        elif t >= self._begin + self._batch:
            self._begin += self._batch * ((t - self._begin) // self._batch)
            self._weight[:] = 1.0 / self.n_arms
        return super().choose(t, observation)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Increase the weight of the arm if the decision was made in the current batch."""
        if self._begin is None or t >= self._begin:
            super().learn(arm, reward, t)
