"""Thompson sampling for each phase of the season."""

from __future__ import annotations

import numpy as np

from agents.arrays import Array
from agents.zoo.arms.phase_ucb import PhaseUCB


class PhaseTS(PhaseUCB):
    """Gaussian Thompson sampling kept separately for every phase of the season.

    Pseudo-code::

        p <- floor(t mod tau)
        v[a] <- 1 / (1 / s^2 + n[p, a] / sigma^2)
        m[a] <- v[a] (m_0 / s^2 + sum[p, a] / sigma^2)
        draw f[a] ~ N(m[a], v[a]) for every arm;  a_t <- argmax_a f[a]

    Reference: [@russo2018tutorial] for Thompson sampling with Gaussian rewards.

    Deviations from the paper: this is none of the paper's methods. With ``phase-ucb`` it is the
    reference for what sharing between phases and actions is worth. Where mean, deviation and noise
    of all rewards are known, the prior N(m_0, s^2) has this mean, and the variance of deviation and
    noise together. Otherwise m_0 is the middle of the rewards so far, and s a quarter of their
    range. A box is cut into ``box_arms`` points.

    Args: those of :class:`PhaseUCB`.
    """

    name = "phase-ts"

    def choose(self, t: float, observation: Array) -> int:
        """Return the best arm of a world drawn from the beliefs at this phase."""
        count, total = (table[self._phase(t)] for table in (self._count, self._total))
        low, high = self.scale.interval
        middle, prior = (low + high) / 2.0, ((high - low) / 4.0) ** 2
        # As good as noiseless, but it can be divided by.
        noise = max(self.scale.sigma**2, 1e-12 * prior)
        if prior == 0.0:
            return self.best_of(np.zeros(self.n_arms))
        weight = noise + count * prior
        mean = (noise * middle + prior * total) / weight
        deviation = np.sqrt(prior * noise / weight)
        return self.best_of(mean + deviation * self._rng.standard_normal(self.n_arms))
