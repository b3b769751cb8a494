"""Model of the rewards: a Gaussian process over arms and phases.

The arms have independent levels and seasons,

    f(a, t) = mu + level_a + season_a(t),   k = [a = b] {v_0 + v_1 Periodic(t - s)},

with equal noise in all rows. The means and counts of rows by arm and phase are sufficient
statistics, so the cost depends on the number of phases, not on the number of rows. The variances
(in units of the noise variance) and the length-scale are those of the grid point with the highest
evidence.
For each grid point, mu and the noise variance have their maximum-likelihood values
[@rasmussen2006gaussian].
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from agents.gp import Constant, Finite, Periodic
from periodic_decisions.logs.log import Integers, LogSeasons
from periodic_envs.arrays import Array

# Grid of variances, in units of the noise variance, and of length-scales.
LEVELS = (0.1, 1.0, 10.0)
SEASONS = (0.001, 0.03, 0.3, 3.0)
LENGTH_SCALES = (0.5, 1.0)


@dataclass(frozen=True, eq=False)
class RewardModel:
    """Beliefs about the mean reward of every arm in every phase.

    Attributes:
        mean: Posterior means, shape (phases, arms).
        covariance: Posterior covariances of the mean rewards of each arm at all phases, shape
            (arms, phases, phases); arms are independent.
        noise_variance: Noise variance of a single row.
    """

    mean: Array
    covariance: Array
    noise_variance: float

    def average(self, share: Array) -> tuple[float, float]:
        """Return the posterior mean and standard deviation of a weighted average of mean rewards.

        ``share`` contains the weights, shape (phases, arms).
        """
        by_arm = np.ascontiguousarray(share.T)
        variance = np.einsum("ap,apq,aq->", by_arm, self.covariance, by_arm)
        return float((share * self.mean).sum()), float(np.sqrt(max(variance, 0.0)))


@dataclass(frozen=True, eq=False)
class Cells:
    """Sufficient statistics of the cells, each of which is one arm at one phase.

    Attributes:
        count: Number of rows in each cell, shape (arms, phases).
        mean: Mean reward in each cell, shape (arms, phases); 0 for a cell without rows.
        within: Sum over all rows of the squared differences from the means of their cells.
    """

    count: Array
    mean: Array
    within: float

    @classmethod
    def of(cls, phase: Integers, arm: Integers, reward: Array, phases: int, arms: int) -> Cells:
        """Return the statistics of the rows."""
        cell = arm * phases + phase
        number = np.bincount(cell, minlength=arms * phases).astype(np.float64)
        mean = np.bincount(cell, reward, minlength=arms * phases) / np.maximum(number, 1.0)
        within = float(((reward - mean[cell]) ** 2).sum())
        return cls(number.reshape(arms, phases), mean.reshape(arms, phases), within)

    def noisy(self, prior: Array) -> tuple[Array, Array]:
        """Return S = sqrt(count) and I + S K S, for a prior covariance K of the phases.

        S has the shape (arms, phases), and I + S K S the shape (arms, phases, phases).
        """
        root = np.sqrt(self.count)
        return root, root[:, :, None] * prior * root[:, None, :] + np.eye(len(prior))


def phase_priors(seasons: LogSeasons) -> list[Array]:
    """Return the prior covariance of the phases at each grid point.

    Covariances have the shape (phases, phases) and are in units of the noise variance.
    """
    starts, origin = seasons.starts(), Finite.arms(1).points(np.zeros(seasons.phases, np.intp))
    kernels = (
        Constant(level) + season * Periodic(seasons.period, length_scale)
        for level, season, length_scale in product(LEVELS, SEASONS, LENGTH_SCALES)
    )
    return [kernel.gram(origin, starts, origin, starts) for kernel in kernels]


def evidence(cells: Cells, prior: Array) -> tuple[float, float, float]:
    """Return the log evidence up to a constant, and the mu and noise variance that maximise it."""
    root, noisy = cells.noisy(prior)
    n = float(cells.count.sum())
    scaled = np.stack((root, root * cells.mean), axis=2)
    ones, onto = np.moveaxis(root[:, :, None] * np.linalg.solve(noisy, scaled), 2, 0)
    mu = float(onto.sum() / ones.sum())
    squares = cells.within + float(((cells.mean - mu) * (onto - mu * ones)).sum())
    noise_variance = max(squares / n, 1e-300)
    diagonals = np.diagonal(np.linalg.cholesky(noisy), axis1=1, axis2=2)
    # log N(y; mu, s^2 (Z K Z' + I)) at the maximum-likelihood mu and s^2.
    log_evidence = -0.5 * n * np.log(noise_variance) - float(np.log(diagonals).sum())
    return float(log_evidence), mu, noise_variance


def fit_model(
    phase: Integers, arm: Integers, reward: Array, *, seasons: LogSeasons, arms: int
) -> RewardModel:
    """Return the model with the highest evidence on the grid.

    Args:
        phase: Phase of each row.
        arm: Arm of each row.
        reward: Reward of each row.
        seasons: Period and number of phases.
        arms: Number of arms.
    """
    cells = Cells.of(phase, arm, reward, seasons.phases, arms)
    candidates = [(*evidence(cells, prior), prior) for prior in phase_priors(seasons)]
    _, mu, noise_variance, prior = max(candidates, key=lambda candidate: candidate[0])
    return posterior(cells, prior, mu, noise_variance)


def posterior(cells: Cells, prior: Array, mu: float, noise_variance: float) -> RewardModel:
    """Return the posterior of the mean rewards for one prior covariance of the phases."""
    root, noisy = cells.noisy(prior)
    # K S (I + S K S)^-1 S, shape (arms, phases, phases): O(phases^3) for each arm.
    gain = prior @ (root[:, :, None] * np.linalg.inv(noisy) * root[:, None, :])
    mean = mu + (gain @ (cells.mean - mu)[:, :, None])[:, :, 0]
    covariance = noise_variance * (prior - gain @ prior)
    return RewardModel(np.ascontiguousarray(mean.T), covariance, noise_variance)


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Mean rewards, predicted for each fold by a model that was fitted to all other folds.

    Attributes:
        tables: Predicted mean rewards for each fold, shape (folds, phases, arms).
        seasons: Phase and fold of each row.
    """

    tables: Array
    seasons: LogSeasons

    def at(self, arm: Integers) -> Array:
        """Return the mean reward of ``arm[i]`` in each row i, predicted without use of this row."""
        return np.asarray(self.tables[self.seasons.fold, self.seasons.phase, arm])

    def best(self) -> Integers:
        """Return the best arm at the phase of each row, predicted without use of this row."""
        return np.asarray(self.tables.argmax(2)[self.seasons.fold, self.seasons.phase])


def cross_fit(seasons: LogSeasons, arm: Integers, reward: Array, arms: int) -> CrossFit:
    """Fit one model for each fold to the rows of all other folds."""
    others = [seasons.fold != fold for fold in range(seasons.folds)]
    models = [
        fit_model(seasons.phase[rows], arm[rows], reward[rows], seasons=seasons, arms=arms)
        for rows in others
    ]
    return CrossFit(np.stack([model.mean for model in models]), seasons)
