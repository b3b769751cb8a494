"""What is worth finding out: the part of the uncertainty that a choice can reduce for later steps.

A belief about f(a, t) = sum_i f_i(a, t), term by term of the kernel, is uncertain about what lasts
(a level, a season), about what is gone in a few steps (persistence), and about what matters for the
same few steps of every season only (its sharp part). All of it is uncertainty about the reward of
now, but looking at it pays later steps only as far as it is still there. So the bonus of an upper
confidence bound is taken on

    sum_i w_i f_i(a, t),      w_i = rho^LOOKAHEAD for a term that forgets at rate rho per step,
                              SHARP_WORTH for the sharp part of a season, 1 for all else,

under the joint posterior of all terms. Otherwise an arm that is not visited keeps the full variance
of its shocks in its bonus for ever, and exploring what cannot be learned never ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.arrays import Array, Rng
from agents.auto.structures import SMOOTH_HARMONICS
from agents.gp import (
    Actions,
    Decay,
    Gradient,
    Harmonics,
    Kernel,
    Mixture,
    Posterior,
    Prediction,
    StateSpace,
    Term,
)

LOOKAHEAD = 6.0
"""Steps after which what is found out should still be of use."""
SHARP_WORTH = 0.75
"""Of the sharp part of a season: it helps at a few steps of each season only."""
NEGLIGIBLE = 1e-6
"""Weight below which a candidate is not asked."""


def worth(term: Term) -> float:
    """w_i of a term."""
    total = 1.0
    for clock in term.clocks:
        if isinstance(clock, Decay):
            total *= float(np.exp(LOOKAHEAD * clock.log_rho))
        elif isinstance(clock, Harmonics) and clock.lowest > SMOOTH_HARMONICS[1]:
            total *= SHARP_WORTH
    return total


class Learnable:
    """A posterior of finitely many arms whose variances are those of what can be learned.

    Engines without a state have no terms to tell apart; their variances stay as they are.
    """

    def __init__(self, posterior: Posterior) -> None:
        self._posterior = posterior
        self._worths: dict[StateSpace, Array] = {}

    @property
    def kernel(self) -> Kernel:
        """The prior covariance."""
        return self._posterior.kernel

    @property
    def actions(self) -> Actions:
        """What there is to choose from."""
        return self._posterior.actions

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Mean of f(., t), and variance of what can be learned of it."""
        return self._predict(self._posterior, t, actions)

    def gradient(self, t: float, actions: Any) -> Gradient:
        """As the posterior's: arms have none."""
        return self._posterior.gradient(t, actions)

    def sample(self, t: float, rng: Rng, actions: Any = None) -> Array:
        """As the posterior's."""
        return self._posterior.sample(t, rng, actions)

    def contenders(self, t: float, beta: float) -> None:
        """No short cut to the best arm: None."""
        return None

    def _predict(self, posterior: Posterior, t: float, actions: Any) -> Prediction:
        if isinstance(posterior, Mixture):
            return self._mixed(posterior, t, actions)
        if not isinstance(posterior, StateSpace):
            return posterior.predict(t, actions)
        now, phi = posterior.now(t), posterior.phi(actions)
        part = phi * self._worth(posterior)
        variance = np.einsum("qi,qi->q", part @ now.covariance, part)
        return Prediction(phi @ now.mean, np.maximum(variance, 0.0))

    def _mixed(self, mixture: Mixture, t: float, actions: Any) -> Prediction:
        """Where candidates disagree there is something to learn, too: which of them is right."""
        keep = np.flatnonzero(mixture.weights > NEGLIGIBLE)
        weights = mixture.weights[keep] / mixture.weights[keep].sum()
        parts = [self._predict(mixture.members[i], t, actions) for i in keep]
        if len(parts) == 1:
            return parts[0]
        mean, variance = (np.stack(column) for column in zip(*parts, strict=True))
        middle = weights @ mean
        return Prediction(middle, weights @ (variance + (mean - middle) ** 2))

    def _worth(self, posterior: StateSpace) -> Array:
        """w_i of each column of the action features."""
        if posterior not in self._worths:
            sizes = [len(basis.weight) for basis in posterior.features.bases]
            each = [worth(term) for term in posterior.kernel.terms]
            self._worths[posterior] = np.repeat(each, sizes)
        return self._worths[posterior]
