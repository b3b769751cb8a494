"""Thompson sampling for linear rewards, on harmonics of the season."""

from __future__ import annotations

from agents.arrays import Array
from agents.zoo.linear.seasonal_agent import SeasonalAgent


class LinTS(SeasonalAgent):
    """Thompson sampling with a linear model for every arm, on harmonics of the season.

    Pseudo-code::

        z_t <- (1, cos 2 pi k t / tau, sin 2 pi k t / tau) for k = 1..H, each tau
        theta_a <- ridge regression of arm a's rewards, standardised as they came, on z
        draw beta_a ~ N(theta_a, alpha^2 V_a^-1) for every arm
        a_t <- argmax_a z_t' beta_a
        first ten rewards at random, unless the reward scale is known; ties at random

    Reference: [@agrawal2013thompson], Algorithm 1, with a model for each arm and alpha = 1, as in
    the library MABWiser.

    Deviations from the paper: the paper's alpha = R sqrt(9 d log(t / delta)) is for the proof. The
    paper has one theta for all arms; here, every arm has a separate theta. Only z_t' beta_a is
    drawn, from N(z_t' theta_a, alpha^2 z_t' V_a^-1 z_t), which is equivalent and needs one random
    number per arm. All seasons of the problem have harmonics in z, without products of harmonics.
    Rewards are standardised when they arrive, by the mean and the standard deviation of the rewards
    so far, or by those of the problem if they are known. A box is discretised to ``box_arms``
    points.

    Args:
        common: Arguments of every agent with harmonics, see :class:`SeasonalAgent`.
    """

    name = "lints"

    def scores(self, mean: Array, deviation: Array) -> Array:
        """Return a draw for every arm."""
        return mean + self.width * deviation * self._rng.standard_normal(self.n_arms)
