"""Belief of auto-gp-ucb: a scale of the rewards, and structures weighted by evidence.

The mean reward f(a, t) = sum_i f_i(a, t) has one part for each term of the kernel. Some parts last
(level and season), some vanish within a few steps (persistence), and the sharp part of a season
matters at only a few steps of each season. All parts contribute to the uncertainty of the current
reward, but exploration of a part is useful only as long as the part lasts. The bonus of the upper
confidence bound is therefore computed from the standard deviation of

    sum_i w_i f_i(a, t),      w_i = rho^LOOKAHEAD for a term with correlation rho at lag 1,
                              SHARP_WORTH for the sharp part of a season, 1 for all other terms,

under the joint posterior of all terms. Without the weights, the bonus of an arm that is not chosen
would contain the full variance of its persistence term at every step, and exploration would never
end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from agents.arrays import Rng
from agents.auto.history import History, Offset
from agents.auto.structures import SMOOTH_HARMONICS, Structure
from agents.auto.transform import RewardTransform
from agents.gp import (
    UCB,
    Actions,
    Array,
    Decay,
    Finite,
    Gradient,
    Harmonics,
    Kernel,
    Mixture,
    Posterior,
    Prediction,
    Predictive,
    StateSpace,
    Term,
    argmax,
    upper_bound,
)

LOOKAHEAD = 6.0
"""Lag, in steps, at which the correlation of a term with decay equals its weight w_i. Information
about the term should still be useful after this number of steps."""
SHARP_WORTH = 0.75
"""Weight w_i of the sharp part of a season, which matters at only a few steps of each season."""
NEGLIGIBLE = 1e-6
"""Weight of a candidate below which the candidate is omitted from predictions."""


def worth(term: Term) -> float:
    """Return the weight w_i of a term, which the docstring of the module defines."""
    total = 1.0
    for clock in term.clocks:
        if isinstance(clock, Decay):
            total *= float(np.exp(LOOKAHEAD * clock.log_rho))
        elif isinstance(clock, Harmonics) and clock.lowest > SMOOTH_HARMONICS[1]:
            total *= SHARP_WORTH
    return total


class Learnable:
    """View of a posterior over finitely many arms, with the variances of sum_i w_i f_i(a, t).

    The docstring of the module defines w_i. If the engine has no state, the terms cannot be
    separated, and the variances are those of the posterior.
    """

    def __init__(self, posterior: Posterior) -> None:
        self._posterior = posterior
        self._worths: dict[StateSpace, Array] = {}

    @property
    def kernel(self) -> Kernel:
        """Prior covariance of the mean rewards."""
        return self._posterior.kernel

    @property
    def actions(self) -> Actions:
        """Set of actions to choose from."""
        return self._posterior.actions

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return the mean of f(., t), and the variance of sum_i w_i f_i(., t)."""
        return self._predict(self._posterior, t, actions)

    def gradient(self, t: float, actions: Any) -> Gradient:
        """Return the prediction of the posterior and its derivatives, without the weights w_i."""
        return self._posterior.gradient(t, actions)

    def sample(self, t: float, rng: Rng, actions: Any = None) -> Array:
        """Return a draw of f(., t) from the posterior, without the weights w_i."""
        return self._posterior.sample(t, rng, actions)

    def contenders(self, t: float, beta: float) -> None:
        """Return None for all arms; the contenders of the posterior ignore the weights w_i."""
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
        """Return the mean and variance of a mixture; disagreement between members adds variance."""
        keep = np.flatnonzero(mixture.weights > NEGLIGIBLE)
        weights = mixture.weights[keep] / mixture.weights[keep].sum()
        parts = [self._predict(mixture.members[i], t, actions) for i in keep]
        if len(parts) == 1:
            return parts[0]
        mean, variance = (np.stack(column) for column in zip(*parts, strict=True))
        middle = weights @ mean
        return Prediction(middle, weights @ (variance + (mean - middle) ** 2))

    def _worth(self, posterior: StateSpace) -> Array:
        """Return, for each column of the action features, the weight w_i of its term."""
        if posterior not in self._worths:
            sizes = [len(basis.weight) for basis in posterior.features.bases]
            worths = [worth(term) for term in posterior.kernel.terms]
            self._worths[posterior] = np.repeat(worths, sizes)
        return self._worths[posterior]


MIN_WEIGHT = 1e-3
"""Probability below which a structure is dropped."""


@dataclass(frozen=True)
class Belief:
    """Belief about rewards: a transform, and a mixture of structures for transformed rewards.

    Attributes:
        scale: Transform of the rewards; None until it is known.
        posterior: Mixture of structures for the transformed rewards minus the offset.
        names: Names of the structures.
        offset: Function that returns the prior mean of all arms at a time, on the transformed
            scale; None for a prior mean of 0.
        looks_ahead: True if the bonus uses variances that are weighted by w_i.
        choices: Log probability of the choices of the warm start under random choice, or 0 if the
            evidence of ``posterior`` includes the probability of these choices.
    """

    scale: RewardTransform | None
    posterior: Mixture
    names: tuple[str, ...]
    offset: Offset | None = None
    looks_ahead: bool = False
    choices: float = 0.0

    @classmethod
    def of(
        cls, scale: RewardTransform | None, structures: list[Structure], members: list[Posterior]
    ) -> Belief:
        """Return a belief with one member per structure and the prior weights of the structures."""
        weights = np.array([s.weight for s in structures])
        return cls(scale, Mixture(members, weights), tuple(s.name for s in structures))

    @property
    def simplest(self) -> Posterior:
        """Belief without a needless mixture: the only member, or the mixture of several members."""
        members = self.posterior.members
        return self.posterior if len(members) > 1 else members[0]

    def acquisition(self, view: Predictive, rng: Rng) -> UCB | OffsetUCB:
        """Return an object that maximises the upper confidence bound of ``view`` plus any offset.

        If ``looks_ahead`` is true and the actions are finite, the variances in the bound are
        weighted by w_i.
        """
        if self.looks_ahead and isinstance(view.actions, Finite):
            view = Learnable(self.simplest)
        return UCB(view, rng) if self.offset is None else OffsetUCB(view, rng, self.offset)

    def evidence(self, history: History) -> float:
        """Return the log evidence of the rewards and of the choices of the warm start.

        The result is the sum of the log density of the rewards, in their unit, and the log
        probability of the choices.
        """
        scale = self.scale or RewardTransform()
        return self.posterior.log_evidence + scale.log_slope(history.reward) + self.choices

    def observe(self, action: Any, t: float, reward: float) -> None:
        """Learn from a reward.

        Until the scale is known, the reward is replaced by 0, the prior mean. Only the variances
        change then, so the agent explores other actions.
        """
        y = 0.0 if self.scale is None else float(self.scale.forward(reward))
        if self.offset is not None:
            y -= float(self.offset(t)[action])
        self.posterior.observe(action, t, y)

    def rewards(self, prediction: Prediction, t: float, arms: Any) -> tuple[Array, Array]:
        """Return the median and the spread of mean rewards, in the unit of rewards.

        The spread is the difference between the rewards at half a standard deviation above and
        below the mean on the transformed scale.

        Args:
            prediction: Prediction on the scale of the posterior.
            t: Time of the prediction.
            arms: Arms of the prediction; None for all arms.
        """
        mean, half = prediction.mean, 0.5 * np.sqrt(prediction.variance)
        if self.offset is not None:
            offset = self.offset(t)
            mean = mean + (offset if arms is None else offset[np.atleast_1d(arms)])
        scale = self.scale or RewardTransform()
        return scale.backward(mean), scale.backward(mean + half) - scale.backward(mean - half)

    def pruned(self) -> Belief:
        """Return the belief without improbable structures, or ``self`` if all are probable."""
        mixture = self.posterior
        keep = np.flatnonzero(mixture.weights > MIN_WEIGHT).tolist()
        if len(keep) == len(mixture.members):
            return self
        remaining = Mixture.revived([mixture.members[i] for i in keep], mixture.log_prior[keep])
        return replace(self, posterior=remaining, names=tuple(self.names[i] for i in keep))


class OffsetUCB:
    """Acquisition rule that maximises the upper confidence bound, for a nonzero prior mean."""

    def __init__(self, view: Predictive, rng: Rng, offset: Offset) -> None:
        self._view, self._rng, self._offset = view, rng, offset

    def choose(self, t: float, beta: float) -> int:
        """Return the arm with the highest bound at time t; ties are broken at random."""
        return argmax(upper_bound(self._view.predict(t), beta) + self._offset(t), self._rng)
