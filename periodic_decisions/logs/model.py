"""The model of the rewards: a Gaussian process over arms and phases.

Every arm has a level and a season of its own,

    f(a, t) = mu + level_a + season_a(t),   k = [a = b] {v_0 + v_1 Periodic(t - s)},

with equal noise in all rows. Rows of one arm and phase enter by their mean and number, which is all
that the posterior needs, so that its cost depends on the phases and not on the rows. The variances
(in units of the noise) and the length-scale are those of a small grid with the highest evidence;
mu and the noise variance are at their best for each [@rasmussen2006gaussian].
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from agents.gp import Constant, Finite, Kernel, Periodic
from periodic_decisions.logs.log import Integers
from periodic_decisions.logs.seasons import Seasons
from periodic_envs.arrays import Array

LEVELS = (0.1, 1.0, 10.0)
"""Variances of the arms' levels that are tried, in units of the noise variance."""
SEASONS = (0.001, 0.03, 0.3, 3.0)
"""Variances of the arms' seasons that are tried, in units of the noise variance."""
LENGTH_SCALES = (0.5, 1.0)
"""Length-scales of the seasons that are tried."""


@dataclass(frozen=True, eq=False)
class Model:
    """Beliefs about the mean reward of every arm in every phase.

    Attributes:
        mean: Shape (phases, arms).
        covariance: Of the phases of each arm, shape (arms, phases, phases); arms are independent.
        noise_variance: Of a single row.
    """

    mean: Array
    covariance: Array
    noise_variance: float

    def average(self, share: Array) -> tuple[float, float]:
        """Mean and standard deviation of a weighted mean reward.

        Args:
            share: What each arm in each phase counts, shape (phases, arms).
        """
        by_arm = np.ascontiguousarray(share.T)
        variance = np.einsum("ap,apq,aq->", by_arm, self.covariance, by_arm)
        return float((share * self.mean).sum()), float(np.sqrt(max(variance, 0.0)))


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows by arm and phase: numbers and means (arms, phases), and the squares around these."""

    count: Array
    mean: Array
    within: float

    @classmethod
    def of(cls, phase: Integers, arm: Integers, reward: Array, phases: int, arms: int) -> Cells:
        """The cells of some rows."""
        cell = arm * phases + phase
        number = np.bincount(cell, minlength=arms * phases).astype(np.float64)
        total = np.bincount(cell, reward, minlength=arms * phases)
        mean = total / np.maximum(number, 1.0)
        within = float(((reward - mean[cell]) ** 2).sum())
        return cls(number.reshape(arms, phases), mean.reshape(arms, phases), within)


def phase_kernel(period: float, level: float, season: float, length_scale: float) -> Kernel:
    """Covariance of one arm's rewards over time, in units of the noise variance."""
    return Constant(level) + season * Periodic(period, length_scale)


def fit_model(
    phase: Integers, arm: Integers, reward: Array, *, seasons: Seasons, arms: int
) -> Model:
    """The model with the highest evidence on the grid.

    Args:
        phase: Phase of each row.
        arm: Arm of each row.
        reward: Reward of each row.
        seasons: The period and the number of phases.
        arms: How many arms there are.
    """
    cells = Cells.of(phase, arm, reward, seasons.phases, arms)
    starts, origin = seasons.starts(), Finite.arms(1).points(np.zeros(seasons.phases, np.intp))
    kernels = (
        phase_kernel(seasons.period, *values) for values in product(LEVELS, SEASONS, LENGTH_SCALES)
    )
    solved = (_solve(cells, kernel.gram(origin, starts, origin, starts)) for kernel in kernels)
    return max(solved, key=lambda found: found.evidence).model(cells)


@dataclass(frozen=True, eq=False)
class _Solved:
    """What one prior K makes of the cells, by way of S (I + S K S)^-1 S with S^2 = counts."""

    prior: Array
    root: Array
    noisy: Array
    mu: float
    noise_variance: float
    evidence: float

    def model(self, cells: Cells) -> Model:
        root = self.root
        inverse = root[:, :, None] * np.linalg.inv(self.noisy) * root[:, None, :]
        gain = self.prior @ inverse  # (arms, phases, phases)
        mean = self.mu + (gain @ (cells.mean - self.mu)[:, :, None])[:, :, 0]
        covariance = self.noise_variance * (self.prior - gain @ self.prior)
        return Model(np.ascontiguousarray(mean.T), covariance, self.noise_variance)


def _solve(cells: Cells, prior: Array) -> _Solved:
    root = np.sqrt(cells.count)
    n = float(cells.count.sum())
    noisy = root[:, :, None] * prior * root[:, None, :] + np.eye(len(prior))
    scaled = np.stack((root, root * cells.mean), axis=2)
    ones, onto = np.moveaxis(root[:, :, None] * np.linalg.solve(noisy, scaled), 2, 0)
    mu = float(onto.sum() / ones.sum())
    squares = cells.within + float(((cells.mean - mu) * (onto - mu * ones)).sum())
    noise_variance = max(squares / n, 1e-300)
    diagonals = np.diagonal(np.linalg.cholesky(noisy), axis1=1, axis2=2)
    # Of all rows, without constants: log N(y; mu, s^2 (Z K Z' + I)) at the best mu and s^2.
    evidence = -0.5 * n * np.log(noise_variance) - float(np.log(diagonals).sum())
    return _Solved(prior, root, noisy, mu, noise_variance, float(evidence))


@dataclass(frozen=True, eq=False)
class CrossFit:
    """For each fold the mean rewards (folds, phases, arms) by the model of all other folds."""

    tables: Array
    seasons: Seasons

    def at(self, arm: Integers) -> Array:
        """The mean reward of an arm in the phase of each row, by a model without that row."""
        return np.asarray(self.tables[self.seasons.fold, self.seasons.phase, arm])

    def best(self) -> Integers:
        """The best arm in the phase of each row, by a model without that row."""
        return np.asarray(self.tables.argmax(2)[self.seasons.fold, self.seasons.phase])


def cross_fit(seasons: Seasons, arm: Integers, reward: Array, arms: int) -> CrossFit:
    """Fit one model for each fold, to the rows of all others."""
    tables = []
    for fold in range(seasons.folds):
        other = seasons.fold != fold
        model = fit_model(
            seasons.phase[other], arm[other], reward[other], seasons=seasons, arms=arms
        )
        tables.append(model.mean)
    return CrossFit(np.stack(tables), seasons)
