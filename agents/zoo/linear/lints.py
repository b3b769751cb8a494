"""Thompson sampling for linear rewards, with harmonics of the season as features."""

from __future__ import annotations

from agents.arrays import Array
from agents.zoo.linear.seasonal_agent import SeasonalAgent


class LinTS(SeasonalAgent):
    """Thompson sampling with a linear model per arm, and seasonal harmonics as features.

    Pseudo-code::

        z_t <- (1, cos 2 pi k t / tau, sin 2 pi k t / tau) for k = 1..H, each tau
        theta_a <- ridge regression of arm a's rewards, standardised as they came, on z
        draw beta_a ~ N(theta_a, alpha^2 V_a^-1) for every arm
        a_t <- argmax_a z_t' beta_a
        first ten rewards at random, unless the reward scale is known; ties at random

    Reference: [@agrawal2013thompson], Algorithm 1, with a model for each arm and alpha = 1, as in
    the library MABWiser.

    Deviations from the paper: for its proof, the paper uses alpha = R sqrt(9 d log(t / delta)). The
    paper has one theta for all arms; here, every arm has a separate theta. Only z_t' beta_a is
    drawn, from N(z_t' theta_a, alpha^2 z_t' V_a^-1 z_t). This is equivalent, and needs only one
    random number per arm. If the problem has several seasons, z contains the harmonics of each
    season, but no products of harmonics. Rewards are standardised when they arrive, with the mean
    and the standard deviation that the problem states or, if these are unknown, with those of the
    rewards so far. A box is discretised into ``box_arms`` points.

    Args:
        common: Arguments of every agent with harmonics, see :class:`SeasonalAgent`.
    """

    name = "lints"

    def scores(self, mean: Array, deviation: Array) -> Array:
        """Return a random draw of every arm's mean reward from its posterior."""
        return mean + self.width * deviation * self._rng.standard_normal(self.n_arms)
