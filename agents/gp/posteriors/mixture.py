"""Mixture of kernels, each with a separate posterior, which are weighted by their evidence.

This is Bayesian model averaging [@hoeting1999bayesian], exact and online. After every reward

    omega_i ~ pi_i exp(log evidence_i),
    mean = sum_i omega_i mean_i,
    variance = sum_i omega_i {variance_i + (mean_i - mean)^2}.

The belief has the first two moments of the mixture. Disagreement between candidates increases the
variance, so that an upper confidence bound favours actions on which the candidates disagree.

If all candidates have the same action kernel, their beliefs at a time t are distributions of v in
f(a, t) = phi(a) . v. The first two moments of v are then computed, and choosing an action costs the
same as with one kernel (``bank.py``).

For times before the newest reward, the predictions of state-space candidates with decay are
approximations (see ``StateSpace``), and so are those of a mixture of such candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.special import logsumexp

from agents.arrays import Array, Rng
from agents.gp.actions import Actions
from agents.gp.features import Basis, RankError, find_basis, find_features
from agents.gp.kernels.base import Kernel
from agents.gp.posteriors.bank import NEGLIGIBLE, Bank
from agents.gp.posteriors.base import Gradient, Posterior, Prediction
from agents.gp.posteriors.engines import make_posterior
from agents.gp.posteriors.state_space import StateSpace

SMALL = 1000
"""Length of a state up to which candidates use the state-space engine even if another engine is
faster."""
DROP = 1e-11
"""Share of the prior variance below which a feature of a candidate is dropped, to save time. The
share is far below the resolution of the rewards."""
SHORT = 50
"""Number of observations up to which the state-space engine is not worthwhile."""


def make_members(
    kernels: Sequence[Kernel],
    actions: Actions,
    noise_variance: float,
    *,
    horizon: int | None = None,
    engine: str = "auto",
) -> list[Posterior]:
    """Return one candidate per kernel, all with the state-space engine if all states are small.

    The arguments are those of ``make_posterior``, with several kernels instead of one.
    """
    short = horizon is not None and horizon <= SHORT
    if engine == "auto" and not short:
        with suppress(RankError):
            return _with_states(kernels, actions, noise_variance)
    options: dict[str, Any] = {"horizon": horizon, "engine": engine}
    return [make_posterior(kernel, actions, noise_variance, **options) for kernel in kernels]


def _with_states(
    kernels: Sequence[Kernel], actions: Actions, noise_variance: float
) -> list[Posterior]:
    """Return state-space candidates with shared action features, or raise a RankError."""
    known: dict[Any, Basis] = {}
    members: list[Posterior] = []
    for kernel in kernels:
        for term in kernel.terms:
            key = (term.actions, term.variance)
            known[key] = known.get(key) or find_basis(term, actions)
        bases = [known[term.actions, term.variance] for term in kernel.terms]
        features = find_features(kernel, actions, bases=bases, drop=DROP)
        if features.size > SMALL:
            raise RankError(f"a state has {features.size} features, more than {SMALL}")
        members.append(StateSpace(kernel, actions, noise_variance, features))
    return members


class Mixture:
    """Posterior that is a mixture of posteriors over the same actions.

    Args:
        members: Candidates, which must have the same observations (or none).
        prior: Prior weights of the candidates, not necessarily normalised; None for equal weights.
    """

    _bank: Bank | None = None

    def __init__(self, members: Sequence[Posterior], prior: Array | None = None) -> None:
        if not members:
            raise ValueError("a mixture needs at least one candidate")
        weight = np.ones(len(members)) if prior is None else np.asarray(prior, dtype=np.float64)
        if weight.shape != (len(members),) or not (weight > 0).all():
            raise ValueError(f"prior must have a positive weight for each candidate, got {weight}")
        self._adopt(list(members), np.log(weight / weight.sum()))

    @classmethod
    def revived(cls, members: Sequence[Posterior], log_prior: Array) -> Mixture:
        """Return a mixture with exactly the given log prior weights."""
        if np.shape(log_prior) != (len(members),):
            raise ValueError(
                f"log_prior must have {len(members)} entries, got shape {np.shape(log_prior)}"
            )
        mixture = cls(members)
        mixture._adopt(list(members), np.array(log_prior))
        return mixture

    def _adopt(self, members: list[Posterior], log_prior: Array) -> None:
        """Replace the candidates and their log prior weights."""
        self.members, self.log_prior = members, log_prior
        states = [member for member in members if isinstance(member, StateSpace)]
        known = self._bank
        self._bank = Bank(states, known) if len(states) == len(members) else None
        self._weights: Array | None = None

    @property
    def name(self) -> str:
        """Number of candidates, and the engine of the first candidate."""
        return self._named("mixture")

    def _named(self, kind: str) -> str:
        n, engine = len(self.members), self.members[0].name.split()[0]
        return f"{kind} ({n} candidate{'s' * (n != 1)}, {engine})"

    @property
    def weights(self) -> Array:
        """Posterior probability of each candidate, shape (k,)."""
        if self._weights is None:
            score = self._scores()
            weights = np.exp(score - score.max())
            self._weights = weights / weights.sum()
        return self._weights

    @property
    def kernel(self) -> Kernel:
        """Kernel of the most probable candidate."""
        return self.members[int(self.weights.argmax())].kernel

    @property
    def actions(self) -> Actions:
        """Set of actions."""
        return self.members[0].actions

    @property
    def noise_variance(self) -> float:
        """Variance of the observation noise of the first candidate."""
        return self.members[0].noise_variance

    @property
    def count(self) -> int:
        """Number of observations so far."""
        return self.members[0].count

    @property
    def log_evidence(self) -> float:
        """Log density of all observations under the mixture."""
        return float(logsumexp(self._scores()))

    def observe(self, action: Any, t: float, y: float) -> None:
        """Update all candidates with an observation."""
        if self._bank is not None:
            self._bank.observe(action, t, y)
        else:
            for member in self.members:
                member.observe(action, t, y)
        self._weights = None

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return the mean and variance of f(., t) under the mixture."""
        if self._bank is not None and self._bank.shares:
            return self._bank.predict(t, self.weights, actions)
        weights, members = self._heavy()
        parts = [member.predict(t, actions) for member in members]
        mean, variance = (np.stack(column) for column in zip(*parts, strict=True))
        middle = weights @ mean
        return Prediction(middle, weights @ (variance + (mean - middle) ** 2))

    def gradient(self, t: float, actions: Any) -> Gradient:
        """Return the prediction with its derivatives."""
        if self._bank is not None and self._bank.shares:
            return self._bank.gradient(t, self.weights, actions)
        weights, members = self._heavy()
        parts = [member.gradient(t, actions) for member in members]
        mean, variance, rise, growth = (np.stack(column) for column in zip(*parts, strict=True))
        middle, slope = weights @ mean, np.tensordot(weights, rise, 1)
        spread = weights @ (variance + (mean - middle) ** 2)
        apart = 2.0 * (mean - middle)[:, :, None] * (rise - slope)
        return Gradient(middle, spread, slope, np.tensordot(weights, growth + apart, 1))

    def sample(self, t: float, rng: Rng, actions: Any = None) -> Array:
        """Return one draw of f(., t) from a candidate that is drawn according to the weights."""
        member = self.members[int(rng.choice(len(self.members), p=self.weights))]
        return member.sample(t, rng, actions)

    def contenders(self, t: float, beta: float) -> None:
        """Return None, which stands for all arms."""
        return None

    def reset(self) -> None:
        """Forget all observations."""
        for member in self.members:
            member.reset()
        self._adopt(self.members, self.log_prior)

    def _scores(self) -> Array:
        return np.asarray(self.log_prior + [member.log_evidence for member in self.members])

    def _heavy(self) -> tuple[Array, list[Posterior]]:
        """Return the normalised weights and the candidates, without those of negligible weight."""
        keep = np.flatnonzero(self.weights > NEGLIGIBLE)
        weights = self.weights[keep]
        return weights / weights.sum(), [self.members[i] for i in keep]
