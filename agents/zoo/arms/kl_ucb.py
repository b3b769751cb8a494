"""kl-UCB, with bounds from the Kullback-Leibler divergence."""

from __future__ import annotations

import math

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import number, one_of
from agents.zoo.arms.ucb1 import UCB1

HALVINGS = 30
"""Number of halvings in the bisection for a bound."""


class KLUCB(UCB1):
    """kl-UCB: the arm with the largest mean that the rewards so far do not rule out.

    Pseudo-code::

        try every arm once
        f <- log n + c log log n,   n = sum_a n[a]
        a_t <- argmax_a max{ q : n[a] d(mean[a], q) <= f }

    Reference: [@cappe2013kullback], [@garivier2011klucb]. The authors recommend c = 0 in practice;
    their theorems assume c = 3. The default ``divergence``, "gaussian", is
    d(p, q) = (p - q)^2 / (2 sigma^2). The bound is then mean + sigma sqrt(2 f / n[a]), and its
    width is half that of UCB1. The divergence "bernoulli" is for bounded rewards.

    Deviations from the paper: rewards may have any scale. The divergence "gaussian" measures
    differences in units of sigma. For the divergence "bernoulli", rewards are rescaled to [0, 1].
    If the problem states their scale and noise, the interval that is mapped to [0, 1] extends two
    standard deviations to either side of their mean; otherwise, it is the range of the rewards so
    far. Values outside the interval are clipped.

    Args:
        divergence: Divergence d: "gaussian" or "bernoulli".
        c: Factor c of log log n.
        scale: Standard deviation sigma of the noise. The default is the problem's ``noise_std`` or,
            if that is unknown or 0, the standard deviation of the rewards so far.
        box_arms: Number of points to which a box is discretised.
    """

    name = "kl-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        divergence: str = "gaussian",
        c: float = 0.0,
        scale: float | None = None,
        box_arms: int = 20,
    ) -> None:
        self._divergence = one_of("divergence", divergence, ("gaussian", "bernoulli"))
        self._c = number("c", c)
        super().__init__(problem, rng, scale=scale, box_arms=box_arms)

    def choose(self, t: float, observation: Array) -> int:
        """Return an untried arm, or the arm with the greatest bound."""
        level = self._level()
        if self._divergence == "gaussian" or self._means.untried:
            return self.highest_bound(self._means, self.scale.sigma * math.sqrt(2.0 * level))
        count = np.array(self._means.count)
        low, high = self.scale.interval
        mean = (np.array(self._means.mean) - low) / max(high - low, 1e-300)  # avoids 0 / 0
        return self.best_of(bernoulli_bound(np.clip(mean, 0.0, 1.0), level / count))

    def _level(self) -> float:
        log = math.log(max(self._n, 3))  # log log n needs n > e
        return max(log + self._c * math.log(log), 0.0)


def bernoulli_bound(mean: Array, level: Array) -> Array:
    """Return the largest q with kl(mean, q) <= level, by bisection."""
    tiny = 1e-15  # keeps the logarithms finite
    p = np.clip(mean, tiny, 1.0 - tiny)
    allowed = level - p * np.log(p) - (1.0 - p) * np.log1p(-p)
    low, high = p, np.full_like(p, 1.0 - tiny)
    for _ in range(HALVINGS):
        q = 0.5 * (low + high)
        inside = -p * np.log(q) - (1.0 - p) * np.log1p(-q) <= allowed
        low, high = np.where(inside, q, low), np.where(inside, high, q)
    return np.asarray(low)
