"""Thompson sampling for each phase of the season."""

from __future__ import annotations

import numpy as np

from agents.arrays import Array
from agents.zoo.arms.phase_ucb import PhaseUCB


class PhaseTS(PhaseUCB):
    """Gaussian Thompson sampling with separate statistics for every phase of the season.

    Pseudo-code::

        p <- floor(t mod tau)
        v[a] <- 1 / (1 / s^2 + n[p, a] / sigma^2)
        m[a] <- v[a] (m_0 / s^2 + sum[p, a] / sigma^2)
        draw f[a] ~ N(m[a], v[a]) for every arm;  a_t <- argmax_a f[a]

    Reference: [@russo2018tutorial] for Thompson sampling with Gaussian rewards.

    Deviations from the paper: this agent is not one of the methods of [@cai2021periodic]. Like
    ``phase-ucb``, it is a baseline that shows the value of sharing information between phases and
    between actions. If the problem states the scale and the noise of the rewards, m_0 is their
    mean, and s^2 is the sum of the variance of the mean rewards and the variance of the noise.
    Otherwise, m_0 is the middle of the range of the rewards so far, and s is a quarter of this
    range. A box is discretised into ``box_arms`` points.

    Args: the arguments of :class:`PhaseUCB`.
    """

    name = "phase-ts"

    def choose(self, t: float, observation: Array) -> int:
        """Return the arm with the greatest draw from the posteriors at this phase."""
        count, total = (table[self._phase(t)] for table in (self._count, self._total))
        low, high = self.scale.interval
        middle, prior = (low + high) / 2.0, ((high - low) / 4.0) ** 2
        # The lower limit avoids 0 / 0 in a noiseless world, and is negligible otherwise.
        noise = max(self.scale.sigma**2, 1e-12 * prior)
        if prior == 0.0:
            return self.best_of(np.zeros(self.n_arms))
        weight = noise + count * prior
        mean = (noise * middle + prior * total) / weight
        deviation = np.sqrt(prior * noise / weight)
        return self.best_of(mean + deviation * self._rng.standard_normal(self.n_arms))
