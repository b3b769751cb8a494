"""Reference rows of the tables of results, computed from the world.

The oracle has the smallest possible regret. The best fixed action is optimal among policies that
ignore time, and the best action per phase is optimal if the season never changes. Choosing at
random is a policy that does not learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import ArrayLike, NDArray

from evaluation.specs import CHANGES, REFERENCE_ROWS
from periodic_envs.arrays import Array
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.fields.maximise import maximise
from periodic_envs.process import ContinuousProcess, FiniteProcess, RewardProcess

Groups = NDArray[np.intp]


def reference_rewards(env: PeriodicBanditEnv) -> dict[str, Array]:
    """Return the mean reward of each step for all ``REFERENCE_ROWS``, with shape (steps,).

    - oracle: the best action at every step.
    - best-per-phase: for each bin of the season (see ``phase_bins``), the action with the highest
      mean reward over all steps of the episode in this bin.
    - best-fixed: the action with the highest mean reward over all steps of the episode.
    - uniform-random: the mean over uniformly drawn actions.

    The best actions are computed from the entire episode: these references are bounds, not agents.
    Rewards are exact for finite sets of actions. On a box, the mean rewards of the worlds of this
    package are linear in features of the action, and so are their means over steps. The optimiser
    of the world maximises these means. The mean over uniformly drawn actions is computed by
    Simpson's rule on 4,097 points in one dimension and on 129 x 129 points in two dimensions (the
    error is at most 1e-4). Above two dimensions, 8,192 Sobol points are used (the error is at most
    1e-2). For other processes, the mean over steps is maximised by a search on the same points,
    followed by a local optimisation from the best point.

    Args:
        env: An environment of this package, after ``reset``.
    """
    if env.episode is None:
        raise ResetNeeded("call reset() before computing references")
    process = env.episode.process
    times = env.episode.first_step + np.arange(env.horizon)
    landscape = _landscape(process, env.public.n_actions, env.public.dim, times)
    if isinstance(landscape, _Arms):
        best = landscape.table.max(1)
    else:
        best = np.array([process.optimum(t)[1] for t in times.tolist()])
    return {
        "oracle": best,
        "best-per-phase": landscape.best(phase_bins(times, process.period)),
        "best-fixed": landscape.best(np.zeros(env.horizon, dtype=np.intp)),
        "uniform-random": landscape.average(),
    }


def reference_regrets(env: PeriodicBanditEnv) -> dict[str, Array]:
    """Return the regret of each step for all ``REFERENCE_ROWS``, with shape (steps,).

    Args:
        env: An environment of this package, after ``reset``; see ``reference_rewards``.
    """
    rewards = reference_rewards(env)
    # Negative values are rounding errors. The environment sets them to 0, too.
    return {name: np.maximum(rewards["oracle"] - rewards[name], 0.0) for name in REFERENCE_ROWS}


def reference_columns(env: PeriodicBanditEnv) -> dict[str, NDArray[Any]]:
    """Return the columns of a reference run.

    The columns are the times, the period (at the start and after each change), the regret of each
    reference and, if the world can change, the times of the changes.

    Args:
        env: An environment of this package, after ``reset``; see ``reference_rewards``.
    """
    regrets = reference_regrets(env)
    assert env.episode is not None
    process, first = env.episode.process, env.episode.first_step
    columns = {
        "t": np.arange(first, first + env.horizon),
        "period": np.array([process.period]),
        **regrets,
    }
    changes, course = process.changes, getattr(process, "course", None)
    if changes is not None:
        columns[CHANGES] = np.asarray(changes)
        columns["period"] = np.full(len(changes) + 1, process.period)
        if course is not None:
            columns["period"] = course.periods[[0, *changes]]
    return columns


def phase_bins(t: ArrayLike, period: float) -> NDArray[np.intp]:
    """Return the bin of the season to which each time belongs, shape (steps,).

    A season is divided into ``round(period)`` bins of equal length, and into at least one bin. An
    integer period has one bin per phase. A period of 12.4 steps has 12 bins of 12.4/12 steps.

    >>> phase_bins([0, 1, 23, 24, 25], 24).tolist()
    [0, 1, 23, 0, 1]
    """
    bins = number_of_bins(period)
    # The offset absorbs rounding errors: time 62 is five periods of 12.4 and belongs to bin 0.
    position = np.floor(np.asarray(t, dtype=np.float64) * bins / period + 1e-9)
    return position.astype(np.intp) % bins


def number_of_bins(period: float) -> int:
    """Return the number of bins of a season."""
    return max(1, round(period))


def _landscape(
    process: RewardProcess, n_actions: int | None, dim: int, times: NDArray[np.int64]
) -> _Arms | _Field | _Unknown:
    """Return the mean rewards of all actions at all steps of an episode.

    The result has two methods, each of which returns one mean reward per step. ``best(groups)``
    uses, at every step, the action with the highest mean reward over all steps of the same group.
    ``average()`` averages over all actions.
    """
    if isinstance(process, FiniteProcess):
        return _Arms(process.values[process.rows[times]])
    if n_actions is not None:
        return _Arms(_values(process, np.arange(n_actions), times))
    if isinstance(process, ContinuousProcess):
        return _Field(process, process.weights[process.rows[times]])
    return _Unknown(process, dim, times)


@dataclass(frozen=True)
class _Arms:
    """Finite set of actions, with all mean rewards in a table of shape (steps, actions)."""

    table: Array

    def best(self, groups: Groups) -> Array:
        means, group = _group_means(self.table, groups)
        chosen: Array = self.table[np.arange(len(self.table)), means.argmax(1)[group]]
        return chosen

    def average(self) -> Array:
        return np.asarray(self.table.mean(1))


@dataclass(frozen=True)
class _Field:
    """Box of actions with mean rewards ``process.basis(action) @ weights[step]``."""

    process: ContinuousProcess
    weights: Array

    def best(self, groups: Groups) -> Array:
        means, group = _group_means(self.weights, groups)
        actions, _ = maximise(self.process.basis, means)
        features = self.process.basis(actions)
        return np.asarray(np.einsum("tm,tm->t", features[group], self.weights))

    def average(self) -> Array:
        points, shares = _grid(self.process.basis.dim)
        return np.asarray(self.weights @ (shares @ self.process.basis(points)))


@dataclass(frozen=True)
class _Unknown:
    """Box of actions whose mean rewards can only be evaluated at given actions and times."""

    process: RewardProcess
    dim: int
    times: NDArray[np.int64]

    def best(self, groups: Groups) -> Array:
        points, _ = _grid(self.dim)
        means, group = _group_means(_values(self.process, points, self.times), groups)
        chosen = np.empty(len(self.times))
        for index, start in enumerate(points[means.argmax(1)]):
            steps = np.flatnonzero(group == index)
            chosen[steps] = self._climb(start, self.times[steps])
        return chosen

    def _climb(self, start: Array, times: NDArray[np.int64]) -> Array:
        """Return the rewards of the best action that a local search from ``start`` finds.

        The best action has the highest mean reward over ``times``; the result has one reward per
        time.
        """
        from scipy.optimize import minimize  # slow to import, rarely required

        def rewards(action: Array) -> Array:
            return _values(self.process, action, times)

        optimum = minimize(
            lambda action: -rewards(action).mean(), start, bounds=[(-1.0, 1.0)] * self.dim
        )
        candidates = [rewards(start), rewards(optimum.x)]
        return max(candidates, key=lambda values: float(values.mean()))

    def average(self) -> Array:
        points, shares = _grid(self.dim)
        return np.asarray(_values(self.process, points, self.times) @ shares)


def _values(process: RewardProcess, actions: Any, times: NDArray[np.int64]) -> Array:
    """Return mean rewards of any process, evaluated step by step, shape (steps, ...)."""
    return np.array([process.mean(actions, t) for t in times.tolist()], dtype=np.float64)


def _group_means(rows: Array, groups: Groups) -> tuple[Array, Groups]:
    """Return the mean row of each group, shape (groups, k), and the group index of each step."""
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    sums = np.add.reduceat(rows[order], np.cumsum(sizes) - sizes, axis=0)
    return sums / sizes[:, None], group


def _grid(dim: int) -> tuple[Array, Array]:
    """Return quadrature points (n, dim) of the box and their weights (n,)."""
    if dim > 2:
        from scipy.stats import qmc  # slow to import, rarely required

        sobol: Array = qmc.Sobol(dim, scramble=False).random_base2(13)
        # The points are shifted from the lower edges of their cells to the centres.
        points = 2.0 * (sobol + 0.5 / len(sobol)) - 1.0
        return points, np.full(len(points), 1.0 / len(points))
    size = 4097 if dim == 1 else 129
    axis = np.linspace(-1.0, 1.0, size)
    # The weights of Simpson's rule are proportional to 1, 4, 2, 4, ..., 2, 4, 1.
    simpson = np.resize([2.0, 4.0], size)
    simpson[[0, -1]] = 1.0
    simpson /= simpson.sum()
    if dim == 1:
        return axis[:, None], simpson
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    return points, np.outer(simpson, simpson).ravel()
