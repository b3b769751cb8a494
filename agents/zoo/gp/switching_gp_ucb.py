"""Switching-GP-UCB, for seasons that drift at an unknown rate, which is learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import seasonal_length_scale, several
from agents.gp import Array, Decay, Kernel, Mixture, Periodic, Sum, Term
from agents.zoo.gp.gp_agent import GPAgent
from agents.zoo.gp.prior import main_period

DECAYS = (0.0, 0.003, 0.01, 0.03, 0.1)
"""Default candidates for the forgetting rate.

With the rate 0, nothing is forgotten. With the other rates, the correlation falls to one half after
13 to 461 steps.
"""


class SwitchingGPUCB(GPAgent):
    """Switching-GP-UCB: GP-UCB that learns whether there is a season, and how fast rewards drift.

    Pseudo-code::

        k_i{(a, t), (b, s)} = k_A(a, b) (1 - eps_i)^(|t - s| / 2) [k_periodic(t - s) or 1]
        for t = 1, 2, ...:
            omega_i <- probability of k_i given all rewards so far
            mu, sigma <- mean and standard deviation of the mixture of the posteriors
            a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a)
            observe y_t

    Reference: the discussion of [@cai2021periodic] for the product of a periodic kernel and a
    decay, [@bogunovic2016time] for the decay, and [@hoeting1999bayesian] for averaging over
    kernels.

    Deviations from the paper: the paper names the product kernel but does not specify the rate.
    Here, every rate of a grid is a candidate, with the season and without the season. The prior
    probability that nothing is forgotten equals the prior probability that something is forgotten.

    For a past t, the state-space engine does not compute the exact posterior; see
    :meth:`GPAgent.belief`.

    Args:
        period: Period tau in steps; by default that of the problem's main season.
        time_length_scale: Length-scale l of the periodic kernel.
        decays: Candidate forgetting rates eps_i, each in [0, 1).
        common: Arguments of every GP agent, see :class:`GPAgent`.
    """

    name = "switching-gp-ucb"
    posterior: Mixture

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        period: float | None = None,
        time_length_scale: float = 1.0,
        decays: Sequence[float] = DECAYS,
        **common: Any,
    ) -> None:
        self._decays = several("decays", decays)
        if not all(0 <= eps < 1 for eps in self._decays):
            raise ValueError(f"decays must lie in [0, 1), got {decays!r}")
        length_scale = seasonal_length_scale(time_length_scale)
        clock = Periodic(main_period(problem, period), length_scale)
        super().__init__(problem, rng, time_kernel=clock, **common)

    def start(self) -> None:
        """Create a mixture without observations.

        It has one seasonal and one seasonless candidate for each forgetting rate.
        """
        kernels = [
            drifting(kernel, eps)
            for kernel in (self.kernel, seasonless(self.kernel))
            for eps in self._decays
        ]
        decays = np.array(self._decays)
        share = np.where(decays > 0, 1.0 / max(len(decays) - 1, 1), 1.0)
        self.posterior = self.new_mixture(kernels, np.tile(share, 2))

    def decay_belief(self) -> tuple[Array, Array]:
        """Return the rates, and their probabilities with a season (row 0) and without (row 1)."""
        return np.array(self._decays), self.posterior.weights.reshape(2, -1)


def drifting(kernel: Kernel, eps: float) -> Kernel:
    """Return the kernel times a decay with forgetting rate ``eps``; the same kernel if eps is 0."""
    return kernel * Decay(eps) if eps else kernel


def seasonless(kernel: Kernel) -> Kernel:
    """Return the kernel without the periodic factors of its terms."""
    return Sum(tuple(_without_season(term) for term in kernel.terms))


def _without_season(term: Term) -> Term:
    return replace(term, clocks=tuple(k for k in term.clocks if not isinstance(k, Periodic)))
