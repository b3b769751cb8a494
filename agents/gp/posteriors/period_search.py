"""Search for an unknown period by a mixture whose candidates are pruned and split.

The range of frequencies is divided into cells. Each cell is a candidate with the period of the
midpoint and the prior probability of the cell, so the weights approximate the posterior of the
period by the midpoint rule. The prior is log-uniform. With a suggested period, the prior is an
equal mixture of a point mass at this period, a log-normal distribution around it, and the
log-uniform distribution.

Over a span of n time units, two frequencies can be distinguished if they differ by about 1 / n, so
cells must become narrower as the span grows::

    prune cells with small weights, except neighbours of cells with large ones
    while a cell is wider than MAX_CELL_CYCLES / span, or has nearly all weight with its neighbours:
        divide it (them) into thirds; the middle keeps its posterior, the others replay the history

The second condition divides cells until the posterior of the period is wider than three cells.
Neighbours are included because a cell is evaluated at its midpoint: the period may lie just across
the border of two cells.

The mixture has at most ``max_candidates`` candidates. When this number is reached, cells with small
weights stay wide. Cells are divided when the span, or the precision of the posterior, has grown
threefold, so the amortised cost of replays is below ``max_candidates`` updates per observation. The
history is stored for replays, as an action, a time and a reward per observation.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from agents.arrays import Array
from agents.gp.actions import Actions, Integers
from agents.gp.features import find_features
from agents.gp.kernels.base import Kernel, Sum, Term
from agents.gp.kernels.time import Harmonics, Periodic, TruncatedPeriodic
from agents.gp.posteriors.base import Posterior
from agents.gp.posteriors.engines import make_posterior
from agents.gp.posteriors.mixture import DROP, Mixture, make_members
from agents.gp.posteriors.state_space import StateSpace

MAX_CELL_CYCLES = 0.6
"""Largest width of a cell, in cycles over the span. If the midpoint and another frequency of the
cell have equal phases in the middle of the span, their phases differ by at most 0.15 cycles at its
ends."""
CERTAIN = 0.9
"""Total weight of a cell and its neighbours above which all other cells are negligible."""
COUNTS = 0.1
"""Weight of a cell from which its neighbours are not pruned."""
MIN_CELL_CYCLES = 1e-4
"""Width in cycles over the span below which a cell is not divided, whatever its weight."""
FIRST_SPAN = 30.0
"""Span for which the first cells are narrow enough, in units of time."""
MAX_CANDIDATES = 48
"""Largest number of candidates, which is smaller if their states are large."""
MAX_STATE_NUMBERS = 4e7
"""Largest total number of entries of all states. It limits the number of candidates, but 8
candidates are always allowed."""
MIN_WEIGHT = 1e-4
"""Weight below which a candidate is dropped. The weight is a posterior probability, so this
constant bounds the probability that the period lies in the dropped cell."""
MIN_PERIOD = 5.0
"""Default shortest period of a search."""
MAX_PERIOD_RANGE = (20.0, 200.0)
"""Bounds of the default longest period, which is a quarter of the horizon. If the horizon is
unknown, the default is the upper bound."""
GIVEN_PERIOD_SPREAD = 0.3
"""Prior standard deviation of the logarithm of the period around the suggested period."""


class PeriodSearch(Mixture):
    """Mixture over the period of a kernel.

    Args:
        kernel: Template. Each candidate replaces the period in all periodic factors of this kernel.
        actions: Finite set or box.
        noise_variance: Variance sigma^2 > 0 of the noise.
        low: Shortest period.
        high: Longest period.
        given_period: Suggested period, which adds a candidate and prior weight around it.
        horizon: Number of future observations, if known.
        engine: Name of the engine, as in ``make_posterior``.
    """

    def __init__(
        self,
        kernel: Kernel,
        actions: Actions,
        noise_variance: float,
        *,
        low: float,
        high: float,
        given_period: float | None = None,
        horizon: int | None = None,
        engine: str = "auto",
    ) -> None:
        if not 0 < low < high < math.inf:
            raise ValueError(
                f"low and high must be finite, with 0 < low < high, got {low} and {high}"
            )
        if given_period is not None:
            low, high = min(low, given_period), max(high, given_period)
        self._low, self._high, self._given_period = float(low), float(high), given_period
        kernels = [with_period(kernel, given_period or low)]
        options: dict[str, Any] = {"horizon": horizon, "engine": engine}
        (first,) = make_members(kernels, actions, noise_variance, **options)
        size = first.features.size if isinstance(first, StateSpace) else horizon or MAX_CANDIDATES
        self.max_candidates = int(np.clip(MAX_STATE_NUMBERS / size**2, 8, MAX_CANDIDATES))
        self._start(first)

    def _start(self, first: Posterior) -> None:
        lowest, highest = 1.0 / self._high, 1.0 / self._low
        count = math.ceil((highest - lowest) * FIRST_SPAN / MAX_CELL_CYCLES)
        edges = np.linspace(lowest, highest, 1 + int(np.clip(count, 3, self.max_candidates // 2)))
        cells = np.stack((edges[:-1], edges[1:]), axis=1)
        if self._given_period is not None:
            cells = np.concatenate((cells, np.full((1, 2), 1.0 / self._given_period)))
        self._past: list[tuple[Any, float, float]] = []
        self._earliest, self._latest = math.inf, -math.inf
        self._settle(cells, [_like(first, cell) for cell in cells])

    def _settle(self, cells: Array, members: list[Posterior]) -> None:
        self.cells = cells
        self._adopt(members, np.log(self._prior(cells)))

    def _prior(self, cells: Array) -> Array:
        """Return the prior probability of each cell; the suggested period is a cell of width 0."""
        ends = np.log((self._low, self._high))
        anything = np.log(cells[:, 1] / cells[:, 0]) / (ends[1] - ends[0])
        if self._given_period is None:
            return np.asarray(anything)
        below = ndtr(np.log(1.0 / (self._given_period * cells)) / GIVEN_PERIOD_SPREAD)
        least, most = ndtr((ends - math.log(self._given_period)) / GIVEN_PERIOD_SPREAD)
        about = (below[:, 0] - below[:, 1]) / (most - least)
        return np.where(_width(cells) == 0.0, 1.0, anything + about) / 3.0

    @property
    def name(self) -> str:
        """Name of the posterior, with the number of candidates and the engine of the first."""
        return self._named("period-search")

    @property
    def periods(self) -> Array:
        """Period of each candidate, shape (k,)."""
        return np.asarray(2.0 / self.cells.sum(axis=1))

    def observe(self, action: Any, t: float, y: float) -> None:
        """Update all candidates with an observation, then prune and split cells."""
        super().observe(action, t, y)
        self._past.append((np.copy(action), float(t), float(y)))
        self._earliest, self._latest = min(self._earliest, t), max(self._latest, t)
        keep = (self.weights >= MIN_WEIGHT) | self._beside(self.weights >= COUNTS)
        if not keep.all():
            self._keep(np.flatnonzero(keep))
        self._refine()

    def _keep(self, which: Integers) -> None:
        self._settle(self.cells[which], [self.members[i] for i in which])

    def _refine(self) -> None:
        """Split cells that are too wide, by decreasing weight, up to the limit of candidates."""
        while (wide := self._wide()).any() and (room := (self.max_candidates - len(wide)) // 2) > 0:
            first = np.argsort(-np.where(wide, self.weights, -1.0), kind="stable")[:room]
            self._split(wide & np.isin(np.arange(len(wide)), first))

    def _wide(self) -> NDArray[np.bool_]:
        width = _width(self.cells)
        cycles = width * max(self._latest - self._earliest, FIRST_SPAN)
        peak = np.arange(len(width)) == self.weights.argmax()
        around = self._beside(peak)
        wide: NDArray[np.bool_] = cycles > MAX_CELL_CYCLES
        if self.weights[around].sum() > CERTAIN:
            wide |= around & (width > 0.999 * width[peak]) & (cycles > MIN_CELL_CYCLES)
        return wide

    def _beside(self, which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask of the cells in ``which`` and of their neighbours.

        The cells are in order of frequency, except that the suggested period is the last cell.
        """
        low, high = self.cells[1:, 0], self.cells[:-1, 1]
        touching = np.abs(high - low) <= 1e-9 * low
        near: NDArray[np.bool_] = which.copy()
        near[1:] |= which[:-1] & touching
        near[:-1] |= which[1:] & touching
        return near

    def _split(self, wide: NDArray[np.bool_]) -> None:
        """Split the cells in ``wide`` into thirds.

        The middle third keeps the posterior of the cell.
        """
        cells: list[Array] = []
        members: list[Posterior] = []
        history = self._history()
        for cell, member, cut in zip(self.cells, self.members, wide, strict=True):
            edges = np.linspace(cell[0], cell[1], 4) if cut else cell
            thirds = np.stack((edges[:-1], edges[1:]), axis=1)
            cells.append(thirds)
            if cut:
                sides = (self._replayed(third, history) for third in thirds[[0, 2]])
                members.extend((next(sides), member, next(sides)))
            else:
                members.append(member)
        self._settle(np.concatenate(cells), members)

    def _replayed(self, cell: Array, history: tuple[NDArray[Any], Array, Array]) -> Posterior:
        member = _like(self.members[0], cell)
        if isinstance(member, StateSpace):
            member.learn(*history)
        else:
            for past in self._past:
                member.observe(*past)
        return member

    def _history(self) -> tuple[NDArray[Any], Array, Array]:
        """Return the actions, times and rewards of all observations."""
        chosen = self.actions.buffer(len(self._past))
        for i, past in enumerate(self._past):
            chosen[i] = past[0]
        return chosen, np.array([p[1] for p in self._past]), np.array([p[2] for p in self._past])

    def reset(self) -> None:
        """Forget all observations and restart with the first cells."""
        self._start(self.members[0])


def usual_range(horizon: float | None) -> tuple[float, float]:
    """Return the default shortest and longest period for a horizon."""
    quarter = math.inf if horizon is None else horizon / 4.0
    return MIN_PERIOD, float(np.clip(quarter, *MAX_PERIOD_RANGE))


def with_period(kernel: Kernel, period: float) -> Kernel:
    """Return the kernel with a new period in all of its periodic factors."""
    return Sum(tuple(_term_with(term, period) for term in kernel.terms))


def _term_with(term: Term, period: float) -> Term:
    clocks = [
        replace(k, period=period) if isinstance(k, Periodic | TruncatedPeriodic | Harmonics) else k
        for k in term.clocks
    ]
    return replace(term, clocks=tuple(clocks))


def _like(sibling: Posterior, cell: Array) -> Posterior:
    """Return a candidate without observations for a cell, with the action features of a sibling."""
    kernel = with_period(sibling.kernel, 2.0 / float(cell.sum()))
    actions, noise_variance = sibling.actions, sibling.noise_variance
    if isinstance(sibling, StateSpace):
        known = sibling.features
        features = known.at_other_frequencies(kernel)
        features = features or find_features(kernel, actions, bases=known.bases, drop=DROP)
        return StateSpace(kernel, actions, noise_variance, features)
    return make_posterior(kernel, actions, noise_variance, engine=sibling.name.split()[0])


def _width(cells: Array) -> Array:
    return np.asarray(cells[:, 1] - cells[:, 0])
