"""States of one shape, one above the other in common arrays: a step of all is a few products.

The candidates of a mixture that differ in their time kernels alone (a period, a rate of forgetting)
have states of the same shape, and learn from the same observations. What a single filter does in
thirty calls (``kalman.py``) is done here for all of them in as many; each stays a posterior in its
own right, whose arrays are a layer of the common ones.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm

from agents.arrays import Array
from agents.checks import finite_observation
from agents.gp.posteriors.base import Posterior
from agents.gp.posteriors.kalman import LEAST_RHO, KalmanFilter
from agents.gp.posteriors.state_arrays import Moments, Room, Slice
from agents.gp.posteriors.state_space import StateSpace

MIN_COLLECTING = 100
"""Length of the states from which steps are collected: together they are too big for the cache."""
COLLECTED_STEPS = 8
"""How many."""


class Views(NamedTuple):
    """A block of all layers: its time features, and its parts of the common arrays."""

    clock: slice
    S: Array
    inner: Array
    X: Array
    columns: slice
    cross: Array
    outer: Array
    diagonal: Array


def stacks_of(members: Sequence[Posterior], before: Sequence[Stack] = ()) -> list[Stack]:
    """A stack for all members of the same shape, where there are several.

    Args:
        members: Posteriors with the same observations.
        before: Stacks in which some of them live already: they stay there, if they can.
    """
    groups: dict[Any, list[StateSpace]] = {}
    for member in members:
        if isinstance(member, StateSpace) and not member.features.whole_times:
            groups.setdefault(_shape(member), []).append(member)
    known = {stack.shape: stack for stack in before}
    stacks = []
    for shape, group in groups.items():
        if len(group) > 1:
            stack = known.get(shape) or Stack(shape)
            stack.take_in(group)
            stacks.append(stack)
        else:
            group[0].filter.move_out()
    return stacks


def _shape(member: StateSpace) -> Any:
    """All that is the same in the members of a stack: action features and how blocks lie."""
    terms = tuple((term.variance, term.actions) for term in member.kernel.terms)
    blocks = tuple(
        (b.columns.start, b.columns.stop, b.clock.start, b.clock.stop, b.rows.start, b.rows.stop)
        for b in member.features.blocks
    )
    return terms, blocks, len(member.features.clock.nu)


class Stack:
    """Members in one array, in no particular order.

    Attributes:
        shape: Of all of them.
        members: One for each layer.
    """

    def __init__(self, shape: Any) -> None:
        self.shape = shape
        self.members: list[StateSpace] = []
        self._filters: list[KalmanFilter] = []
        self._slices: list[Slice] = []
        self._room = Room.of((0,), 0, 0, 0)

    def take_in(self, members: Sequence[StateSpace]) -> None:
        """Hold these from now on, and give the layers of all others away: they are of no use then.

        Those that are here already are moved as little as can be.
        """
        wanted = {id(member) for member in members}
        here = {id(member) for i, member in enumerate(self.members) if self._is_home(i)}
        if len(members) > len(self._room.S):
            self._make_room(members)
            here = set()
        holes = [i for i in range(len(self.members)) if id(self.members[i]) not in wanted & here]
        coming = [member for member in members if id(member) not in here]
        for member in coming:
            self._place(member, holes.pop(0) if holes else len(self.members))
        for hole in reversed(holes):
            last = self.members.pop()
            self._filters.pop()
            if hole < len(self.members):
                self._place(last, hole)
        self._describe()

    def _is_home(self, i: int) -> bool:
        """Whether a layer is where its member lives: it may have left, or begun anew."""
        own = self._filters[i]
        return self.members[i].filter is own and own.S.base is self._room.S

    def _make_room(self, members: Sequence[StateSpace]) -> None:
        features, layers = members[0].features, len(members) + len(self._room.S) // 2
        collected = COLLECTED_STEPS if features.size >= MIN_COLLECTING else 0
        self._room = Room.of((layers,), features.size, features.width, collected)
        self.members, self._filters = [], []

    def _place(self, member: StateSpace, i: int) -> None:
        member.filter.move_to(self._room.layer(i))
        if i == len(self.members):
            self.members.append(member)
            self._filters.append(member.filter)
        else:
            self.members[i], self._filters[i] = member, member.filter

    def _describe(self) -> None:
        """Tables of what differs between the layers, and views of what lies in them."""
        k, filters = len(self.members), self._filters
        clocks = [member.features.clock for member in self.members]
        self._nu, self._shift, self._amplitude = (
            np.stack([getattr(clock, name) for clock in clocks])
            for name in ("nu", "shift", "amplitude")
        )
        self._log_rho = np.stack([each.log_rho for each in filters])
        self._decays = bool(self._log_rho.any())
        self._noise = np.array([member.noise_variance for member in self.members])
        first, m, M = filters[0], filters[0].features.size, filters[0].features.width
        self._column, self._tick = first.column, first.tick
        S, cross, covariance, self._X = (array[:k] for array in self._room)
        diagonal = np.einsum("kii->ki", covariance)
        self._views = [
            Views(
                b.clock,
                S[:, b.rows].reshape(k, *b.shape, m + 1),
                cross[:, b.columns, None],
                self._X[:, :, b.rows].reshape(k, -1, *b.shape),
                b.columns,
                cross[:, :, b.rows].reshape(k, M, *b.shape),
                covariance[:, :, b.columns, None],
                diagonal[:, b.columns],
            )
            for b in first.features.blocks
        ]
        self._moments = Moments(cross[:, :, -1], covariance)
        self._slices = []

    def moments(self, t: float) -> Moments:
        """The belief of all about f(., t); valid until the next call, or until one changes."""
        if self._at(t):
            return self._moments
        slices = [member.now(t) for member in self.members]
        return Moments(np.stack([s.mean for s in slices]), np.stack([s.covariance for s in slices]))

    def _at(self, t: float) -> bool:
        """Compute the belief of all about f(., t), unless they are not in step."""
        known = self._slices
        if known and known[0].t == t and all(map(operator.is_, known, self._own_slices())):
            return True
        lag = self._lag(t)
        if lag is None:
            return False
        # As in ``TimeFeatures``, for all clocks.
        psi = self._amplitude * np.cos(2 * np.pi * (self._nu * t % 1.0) - self._shift)
        rho = np.exp(self._log_rho * lag)
        wave = rho * psi
        for view in self._views:
            np.matmul(wave[:, None, None, view.clock], view.S, out=view.inner)
        if self._filters[0].pending:
            self._catch_up(wave)
        for view in self._views:
            np.matmul(view.cross, wave[:, None, view.clock, None], out=view.outer)
        if self._decays and lag:
            fresh = (1.0 - rho**2) * psi**2
            for view in self._views:
                diagonal = view.diagonal
                diagonal += fresh[:, view.clock].sum(axis=1)[:, None]
        layers = zip(psi, rho, *self._moments, strict=True)
        self._slices = [Slice(t, *layer) for layer in layers]
        for each, own in zip(self._filters, self._slices, strict=True):
            each.slice = own
        self._psi, self._rho = psi, rho
        return True

    def observe(self, action: Any, t: float, y: float) -> None:
        """Every member learns."""
        finite_observation(t, y)
        phi = self.members[0].phi_of(action)
        if not self._at(t):
            for member in self.members:
                member.observe(action, t, y)
            return
        if self._decays and self._rho.min() < LEAST_RHO:
            for each in self._filters:
                each.settle(t)
            self._at(t)
        s = self._moments.covariance @ phi @ phi + self._noise
        g = phi @ self._room.cross[: len(s)]
        e = y - g[:, -1]
        if self._decays:
            fresh = (1.0 / self._rho - self._rho) * self._psi
            g[:, :-1] += phi[self._column] * fresh[:, self._tick]
        g[:, -1] = -e
        g /= np.sqrt(s)[:, None]
        for x, each in zip(g, self._filters, strict=True):
            each.subtract(x)
        density = -0.5 * (e * e / s + np.log(2 * np.pi * s))
        for member, own in zip(self.members, density.tolist(), strict=True):
            member.learned(phi, t, y, own)

    def _catch_up(self, wave: Array) -> None:
        """Take the collected steps into account in the contraction."""
        pending = self._filters[0].pending
        contracted = np.empty((len(wave), pending, self._room.cross.shape[1]))
        for view in self._views:
            grid, part = view.X[:, :pending], wave[:, None, view.clock, None]
            np.matmul(grid, part, out=contracted[:, :, view.columns, None])
        for X, own, cross in zip(self._X, contracted, self._room.cross, strict=False):
            dgemm(-1.0, X[:pending].T, own.T, 1.0, cross.T, trans_b=1, overwrite_c=1)

    def _own_slices(self) -> list[Slice | None]:
        return [each.slice for each in self._filters]

    def _lag(self, t: float) -> float | None:
        """Time since the base that all have in common; None if there is none."""
        if not all(map(self._is_home, range(len(self.members)))):
            return None
        moving = [each for each in self._filters if each.decays]
        bases = {each.base for each in moving}
        if len(bases) > 1 or any(t < each.time for each in moving):
            return None
        if len({each.pending for each in self._filters}) > 1:
            for each in self._filters:
                each.form()
        base = bases.pop() if bases else -math.inf
        return 0.0 if math.isinf(base) else t - base
