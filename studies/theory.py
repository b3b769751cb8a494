"""The paper's regret analysis in numbers: information gain, Theorems 1 and 2, and their rates.

The functions depend only on covariance matrices. In formulas, sigma^2 is ``noise_variance``, T is
``rounds``, and a season has tau phases. gamma^A_T is the largest information that T noisy rewards
can give about a fixed function of the action. gamma^S_T is the largest information about a function
that repeats every tau steps, where the step determines the phase. Both are maxima over finitely
many actions, which may be chosen repeatedly; an interval must be replaced by a fine grid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from periodic_envs import checks
from periodic_envs.arrays import Array

Ints = NDArray[np.intp]

_BLOCK = 64  # number of rank-one updates that are subtracted in one matrix product, for speed
_DESIGNS = 200_000  # maximum number of designs that are tried individually


@dataclass(frozen=True)
class Bracket:
    """Lower and upper bounds on gamma_1, ..., gamma_T; neither bound decreases with T.

    Attributes:
        low: Gain of the greedy design, shape (T,).
        high: Upper bound on the gain of all designs, shape (T,).
        choices: Action of the greedy design at each step, shape (T,).
    """

    low: Array
    high: Array
    choices: Ints


def information_gain(covariance: ArrayLike, *, noise_variance: float) -> float:
    """Return I(y; f) = 1/2 log|I + K / sigma^2| for mean rewards with covariance K (Sec. 4.1).

    >>> round(information_gain([[1.0]], noise_variance=1.0), 4)
    0.3466
    """
    noise_variance = checks.positive("noise_variance", noise_variance)
    return _gain(_covariance("covariance", covariance), noise_variance)


def predictive_variances(covariance: ArrayLike, *, noise_variance: float) -> Array:
    """Return the variances sigma^2_{t-1}(s_t), t = 1, ..., T, given the previous rewards.

    The covariance is conditioned on one reward after the other, without a determinant. The equality
    of ``gain_from_variances`` and ``information_gain`` is therefore a check of Lemma A.1.
    """
    noise_variance = checks.positive("noise_variance", noise_variance)
    left = _covariance("covariance", covariance).copy()
    variances = np.empty(len(left))
    for t in range(len(left)):
        variances[t] = max(left[t, t], 0.0)  # negative only by round-off
        left -= np.outer(left[t], left[t] / (variances[t] + noise_variance))
    return variances


def gain_from_variances(variances: ArrayLike, *, noise_variance: float) -> float:
    """Return I(y; f) = 1/2 sum_t log(1 + sigma^2_{t-1}(s_t) / sigma^2), by Lemma A.1."""
    variances = np.asarray(variances, dtype=np.float64)
    if not (variances >= 0.0).all():
        raise ValueError(f"variances must be numbers of at least 0, got {variances.min():g}")
    return float(_log_gain(variances, checks.positive("noise_variance", noise_variance)).sum())


def phase_gains(covariance: ArrayLike, phases: ArrayLike, *, noise_variance: float) -> Array:
    """Return the information gain I(y^(i); f^(i)) of each phase.

    By Lemma 1, the sum of these gains is at least I(y; f). The sum is equal to I(y; f) if and only
    if rewards of different phases are independent. Rewards of the same phase need not be
    independent, although the paper's remark on equality requires this. ``phases`` has a whole
    number for each row; the result has one gain for each distinct number, in increasing order.
    """
    noise_variance = checks.positive("noise_variance", noise_variance)
    covariance, phases = _covariance("covariance", covariance), np.asarray(phases)
    if phases.shape != (len(covariance),) or not np.issubdtype(phases.dtype, np.integer):
        raise ValueError(f"phases must be {len(covariance)} whole numbers, one for each row")
    rows = [np.flatnonzero(phases == phase) for phase in np.unique(phases)]
    return np.array([_gain(covariance[np.ix_(r, r)], noise_variance) for r in rows])


def action_gain(covariance: ArrayLike, *, rounds: int, noise_variance: float) -> Bracket:
    """Return bounds on gamma^A_1, ..., gamma^A_T for actions with the given covariance (n, n).

    Information gain is monotone and submodular. The gain of T choices is therefore at most the gain
    of any design plus T times the largest marginal gain of one more reward: the online bound of
    [@leskovec2007cost]. Here the bound is minimised over greedy designs of every length. It never
    exceeds the guarantee for greedy choices, e / (e - 1) times their gain [@nemhauser1978analysis].
    """
    covariance = _covariance("covariance", covariance)
    return _greedy(covariance, _visits(rounds, 1), noise_variance)


def season_gain(
    action_covariance: ArrayLike,
    season_covariance: ArrayLike,
    *,
    rounds: int,
    noise_variance: float,
) -> Bracket:
    """Return bounds on gamma^S_1, ..., gamma^S_T for the covariance k_A(a, a') k_tau(i, i').

    Step t = 1, 2, ... is in phase (t - 1) mod tau, a row of ``season_covariance``. The upper bound
    is the smaller of two bounds. The first is the online bound, as in ``action_gain``. With one
    choice per step, the online bound is at most twice the greedy gain, which is the guarantee of
    [@fisher1978analysis] for greedy choices. The second is Theorem 2, with the number of visits of
    each phase, so that tau need not divide T.
    (Theorem 2 can hold with equality although phases are correlated: if actions are independent of
    each other, each phase may use a different action.)
    """
    actions = _covariance("action_covariance", action_covariance)
    season = _covariance("season_covariance", season_covariance)
    visits, scales = _visits(rounds, len(season)), season.diagonal()
    bracket = _greedy(_kron(season, actions), visits, noise_variance)
    once, ceiling = _visits(int(visits.max()), 1), np.zeros(rounds)
    for scale in np.unique(scales).tolist():  # one scale if variances are equal
        alone = _greedy(scale * actions, once, noise_variance)
        ceiling += np.append(0.0, alone.high)[visits[:, scales == scale]].sum(1)
    high = np.minimum(bracket.high, ceiling)  # Theorem 2
    return Bracket(bracket.low, np.maximum(bracket.low, high), bracket.choices)


def exact_action_gain(covariance: ArrayLike, *, rounds: int, noise_variance: float) -> float:
    """Return gamma^A_T by trying every design, which is feasible for small sets only."""
    return exact_season_gain(covariance, [[1.0]], rounds=rounds, noise_variance=noise_variance)


def exact_season_gain(
    action_covariance: ArrayLike,
    season_covariance: ArrayLike,
    *,
    rounds: int,
    noise_variance: float,
) -> float:
    """Return gamma^S_T by trying every design, which is feasible for small sets only.

    The order of the choices within a phase does not matter, so different orders are not tried. The
    arguments are those of ``season_gain``.
    """
    actions = _covariance("action_covariance", action_covariance)
    season = _covariance("season_covariance", season_covariance)
    noise_variance, n = checks.positive("noise_variance", noise_variance), len(actions)
    counts = _visits(rounds, len(season))[-1].tolist()
    designs = math.prod(math.comb(n + count - 1, count) for count in counts)
    if designs > _DESIGNS:
        raise ValueError(
            f"there are {designs:,} designs, but at most {_DESIGNS:,} can be tried: use fewer "
            "rounds or actions"
        )
    phases = (range(i * n, (i + 1) * n) for i in range(len(season)))
    sets = map(itertools.combinations_with_replacement, phases, counts)
    rows = (np.concatenate(design).astype(np.intp) for design in itertools.product(*sets))
    covariance = _kron(season, actions)
    return max(_gain(covariance[np.ix_(r, r)], noise_variance) for r in rows)


def regret_bound(
    rounds: ArrayLike, *, beta: ArrayLike, gamma: ArrayLike, noise_variance: float
) -> Array:
    """Return Theorem 1's bound, sqrt(c3 T beta_T gamma_T) + pi^2 / 6, c3 = 8 / log(1 + sigma^-2).

    The bound holds for prior variances of at most 1, as for GP-UCB [@srinivas2009gaussian]. For a
    finite set of actions, the term pi^2 / 6 is not needed. Arrays are broadcast.
    """
    rounds, beta, gamma = (np.asarray(x, dtype=np.float64) for x in (rounds, beta, gamma))
    if not all((np.isfinite(x) & (x >= 0.0)).all() for x in (rounds, beta, gamma)):
        raise ValueError("rounds, beta and gamma must be finite numbers of at least 0")
    c3 = 8.0 / math.log1p(1.0 / checks.positive("noise_variance", noise_variance))
    return np.asarray(np.sqrt(c3 * rounds * beta * gamma) + math.pi**2 / 6.0)


def slope_constants(width: float, *, length_scale: float) -> tuple[float, float]:
    """Return (c1, c2) of Theorem 1's second assumption, P{sup |df/da| >= L} <= c1 exp{-(L / c2)^2}.

    The constants are for a draw of variance 1 with the squared exponential kernel on an interval of
    this width. The slope of the draw has variance 1 / l^2, and its second derivative has variance
    3 / l^4. If the slope reaches L or -L, it does so at the left end of the interval, or it crosses
    L upwards or -L downwards. Rice's formula [@rice1945mathematical] gives the expected number of
    these crossings. With the distribution function Phi of the standard normal distribution,

        P <= 2 Phi(-L l) + 2 (width / 2 pi) (sqrt(3) / l) exp(-L^2 l^2 / 2)
          <= {1 + sqrt(3) width / (pi l)} exp(-L^2 l^2 / 2)   for all L >= 0.
    """
    width = checks.positive("width", width)
    length_scale = checks.positive("length_scale", length_scale)
    c1 = 1.0 + math.sqrt(3.0) * width / (math.pi * length_scale)
    return c1, math.sqrt(2.0) / length_scale


def power(rounds: ArrayLike, gamma: ArrayLike) -> float:
    """Return the exponent p of gamma_T ~ T^p (Corollary 1), the slope of log gamma over log T.

    The slope is fitted by least squares. Only numbers of rounds are used that are at or above the
    geometric mean of the smallest and the largest number.

    >>> round(power([1, 10, 100, 1000, 10000], [1, 2, 4, 8, 16]), 3)
    0.301
    """
    return _slope(rounds, gamma, np.log)


def power_of_log(rounds: ArrayLike, gamma: ArrayLike) -> float:
    """Return the exponent p of gamma_T ~ (log T)^p, fitted as in ``power`` but over log log T.

    For gamma^S_T, pass T / tau as ``rounds``, as in Corollary 1.
    """
    return _slope(rounds, gamma, lambda rounds: np.log(np.log(rounds)))


def _greedy(covariance: Array, visits: Ints, noise_variance: float) -> Bracket:
    """Return the gain of a greedy design, and an upper bound on the gain of all designs.

    The rows of ``covariance`` are pairs of phase and action, ordered by phase. Row t - 1 of
    ``visits`` has the number of visits of each phase after t steps.
    """
    noise_variance = checks.positive("noise_variance", noise_variance)
    (rounds, tau), n = visits.shape, len(covariance) // visits.shape[1]
    left, variances = covariance.copy(), covariance.diagonal().copy()
    pending = np.empty((_BLOCK, len(left)))
    low, choices = np.zeros(rounds + 1), np.empty(rounds, dtype=np.intp)
    more = np.empty((rounds + 1, tau))  # largest marginal gain of one more reward in each phase
    more[0] = _log_gain(variances.reshape(tau, n).max(1), noise_variance)
    for t in range(rounds):
        row, here = t % _BLOCK, t % tau * n
        choices[t] = np.argmax(variances[here : here + n])
        chosen = here + choices[t]
        low[t + 1] = low[t] + _log_gain(variances[chosen], noise_variance)  # Lemma A.1
        column = left[chosen] - pending[:row, chosen] @ pending[:row]
        pending[row] = column / math.sqrt(variances[chosen] + noise_variance)
        variances = np.maximum(variances - pending[row] ** 2, 0.0)
        if row == _BLOCK - 1:
            left -= pending.T @ pending
        more[t + 1] = _log_gain(variances.reshape(tau, n).max(1), noise_variance)
    high, counts = np.full(rounds, np.inf), visits.astype(np.float64)
    for gain, most in zip(low, more, strict=True):  # each bound increases with T, like gamma_T
        np.minimum(high, gain + counts @ most, out=high)
    return Bracket(low[1:], np.maximum(low[1:], high), choices)  # the bounds may cross by round-off


def _visits(rounds: int, tau: int) -> Ints:
    """Return the number of visits of each phase after T = 1, 2, ... steps, shape (rounds, tau)."""
    steps = np.arange(1, checks.whole("rounds", rounds, 1) + 1)
    return (steps[:, None] + tau - 1 - np.arange(tau)) // tau


def _kron(season: Array, actions: Array) -> Array:
    return np.asarray(np.kron(season, actions), dtype=np.float64)


def _gain(covariance: Array, noise_variance: float) -> float:
    return 0.5 * float(np.linalg.slogdet(np.eye(len(covariance)) + covariance / noise_variance)[1])


def _log_gain(variances: Array, noise_variance: float) -> Array:
    return 0.5 * np.log1p(variances / noise_variance)


def _slope(rounds: ArrayLike, gamma: ArrayLike, scale: Callable[[Array], Array]) -> float:
    rounds, gamma = np.asarray(rounds, dtype=np.float64), np.asarray(gamma, dtype=np.float64)
    if rounds.ndim != 1 or rounds.shape != gamma.shape:
        raise ValueError(
            f"rounds and gamma must be vectors of equal length, got the shapes {rounds.shape} and "
            f"{gamma.shape}"
        )
    if not ((rounds >= 1.0) & (gamma > 0.0) & np.isfinite(rounds * gamma)).all():
        raise ValueError("rounds must be at least 1, gamma above 0, and both finite")
    kept = rounds**2 >= rounds.min(initial=np.inf) * rounds.max(initial=1.0)
    if len(np.unique(rounds[kept])) < 3:
        raise ValueError(
            "rounds must have at least three distinct values at or above the geometric mean of the "
            f"smallest and the largest value, got {len(np.unique(rounds[kept]))}"
        )
    x = scale(rounds[kept])
    return float((x - x.mean()) @ np.log(gamma[kept]) / np.sum((x - x.mean()) ** 2))


def _covariance(name: str, value: ArrayLike) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        raise ValueError(f"{name} must be a square matrix, got an array of shape {array.shape}")
    scale = np.abs(array).max()
    if not np.isfinite(scale) or np.abs(array - array.T).max() > 1e-9 * scale:
        raise ValueError(f"{name} must be finite and symmetric")
    try:  # a small multiple of the unit matrix allows for round-off
        np.linalg.cholesky(array + (1e-8 * scale + np.finfo(float).tiny) * np.eye(len(array)))
    except np.linalg.LinAlgError:
        raise ValueError(f"{name} must be positive semi-definite") from None
    return array
