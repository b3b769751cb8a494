"""Base class of worlds that are drawn from a Gaussian process."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.draws import ContinuousDraws, Draws, empty_tables, stack_tables
from periodic_envs.fields.basis import (
    Basis,
    LinearBasis,
    TooRough,
    lattice,
    random_frequencies,
)
from periodic_envs.process import PublicInfo
from periodic_envs.world import World

ACTION_KERNELS = ("linear", "matern", "se")
Generators = Sequence[np.random.Generator]
_CACHED = 8_192
"""Number of random numbers per batch, which is small enough for the processor's cache."""


@dataclass(frozen=True, kw_only=True)
class GaussianWorld(World):
    """World with a covariance over actions; subclasses define the weights over time.

    Attributes:
        period: Length of the season whose phase is observed, in steps; any positive number.
        n_actions: Size of a finite set of points in [-1, 1]^dim, or None for the whole box.
        dim: Dimension of the actions, 1 to 6.
        action_kernel: "se", "matern" or "linear".
        nu: Smoothness of the Matern kernel, 0.5 to 30, or 1.5 to 30 if ``dim`` is greater than 1.
        action_length_scale: Length-scale of the action kernel.
        action_width: Width of the action box in the unit of ``action_length_scale``. Unless the
            kernel is linear, the width is at most 2,000 length-scales in one dimension, 50 in two
            dimensions and 20 in more.
    """

    period: float = 20.0
    n_actions: int | None = None
    dim: int = 1
    action_kernel: str = "se"
    nu: float = 2.5
    action_length_scale: float = 1.0
    action_width: float = 10.0

    def __post_init__(self) -> None:
        checks.positive("period", self.period)
        if self.n_actions is not None:
            checks.whole("n_actions", self.n_actions, 1)
        checks.whole("dim", self.dim, 1, 6)
        checks.one_of("action_kernel", self.action_kernel, ACTION_KERNELS)
        checks.positive("action_length_scale", self.action_length_scale)
        checks.positive("action_width", self.action_width)
        # The maxima of rougher or larger fields cannot be found reliably.
        if self.action_kernel == "matern":
            wanted = "nu" if self.dim == 1 else "nu in two or more dimensions"
            checks.within(wanted, self.nu, 0.5 if self.dim == 1 else 1.5, 30.0)
        if self.action_kernel != "linear":
            most = {1: 2000.0, 2: 50.0}.get(self.dim, 20.0)
            name = f"action_width / action_length_scale with dim={self.dim}"
            checks.within(name, self.action_width / self.action_length_scale, 0.0, most)
        self._lattice  # noqa: B018 (an error is raised now, not at the first draw)

    @property
    def periods(self) -> tuple[float, ...]:
        """Periods that agents may know."""
        return (float(self.period),)

    @property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        half_width = self.action_width / 2.0
        return PublicInfo(
            n_actions=self.n_actions,
            dim=self.dim,
            periods=self.periods,
            action_features=None if self.n_actions is None else half_width * self.points,
            action_half_width=half_width,
            reward_scale=(0.0, 1.0),
        )

    @cached_property
    def points(self) -> Array:
        """Points of the finite set: evenly spaced in one dimension, otherwise a Halton sequence."""
        assert self.n_actions is not None
        if self.dim == 1:
            return np.linspace(-1.0, 1.0, self.n_actions)[:, None]
        from scipy.stats import qmc  # slow to import, and not always needed

        points: Array = qmc.Halton(self.dim, scramble=False).random(self.n_actions)
        return 2.0 * points - 1.0

    def draw_basis(self, rng: np.random.Generator) -> Basis:
        """Return the feature map of one draw: the shared feature map, or random frequencies."""
        if self._lattice is not None:
            return self._lattice
        return random_frequencies(self.dim, self._length_scale, self._nu, rng)

    @property
    def _length_scale(self) -> float:
        """Length-scale of the action kernel on the box [-1, 1]^dim."""
        return self.action_length_scale / (self.action_width / 2.0)

    @property
    def _nu(self) -> float | None:
        return self.nu if self.action_kernel == "matern" else None

    @cached_property
    def _lattice(self) -> Basis | None:
        """Feature map that all draws share, or None if the frequencies of each draw are random."""
        if self.action_kernel == "linear":
            return LinearBasis(self.dim)
        if self.dim > 2:
            return None
        try:
            return lattice(self._length_scale, self._nu, self.dim)
        except TooRough:
            if self.dim == 2:
                return None
            raise ValueError(
                f"action_length_scale must be larger with action_width={self.action_width:g}, got "
                f"{self.action_length_scale:g}: the reward function would have too many "
                "frequencies; alternatively, use a smaller action_width or a smoother kernel"
            ) from None

    def draw_weighted(self, rngs: Generators, features: Array, **timeline: Any) -> Draws:
        """Draw reward processes whose covariance over table rows is ``features @ features.T``.

        Products are computed separately for each copy. Their rounding depends on the shapes of the
        arrays, but a copy must be bit-identical in every batch.
        """
        bases = [self.draw_basis(rng) for rng in rngs]
        weights = empty_tables(len(rngs), len(features), len(bases[0].scale))
        for part, normal in unit_normals(rngs, (features.shape[1], weights.shape[2])):
            np.matmul(features, normal, out=weights[part])
        return self.draws(bases, weights, **timeline)

    def draws(
        self, bases: Sequence[Basis], weights: Array, *, rows: NDArray[np.intp], **timeline: Any
    ) -> Draws:
        """Return the reward processes for weights of variance 1, shape (n, rows, m).

        The array ``weights`` is scaled in place.
        """
        timeline.setdefault("periods", np.full(len(weights), float(self.period)))
        weights *= bases[0].scale
        if self.n_actions is None:
            return ContinuousDraws(tables=weights, bases=bases, rows=rows, **timeline)
        if self._lattice is not None and rows.ndim == 1:
            values = empty_tables(len(weights), weights.shape[1], self.n_actions)
            np.matmul(weights, self._point_features.T, out=values)
            return Draws(tables=values, rows=rows, **timeline)
        depths = rows.max(-1, initial=0) + 1
        pairs = zip(bases, weights, np.broadcast_to(depths, len(weights)), strict=True)
        values_by_copy = [table[:depth] @ basis(self.points).T for basis, table, depth in pairs]
        return Draws(tables=stack_tables(values_by_copy), rows=rows, **timeline)

    @cached_property
    def _point_features(self) -> Array:
        """Features of the finite set of actions, for a feature map that all draws share."""
        assert self._lattice is not None
        return self._lattice(self.points)


def unit_normals(rngs: Generators, shape: tuple[int, ...]) -> Iterator[tuple[slice, Array]]:
    """Yield a slice of b copies and their standard normal numbers (b, *shape), batch by batch.

    Each copy uses a separate generator. The next batch overwrites the array.
    """
    size = max(1, _CACHED // math.prod(shape))
    space = np.empty((min(size, len(rngs)), *shape))
    for start in range(0, len(rngs), size):
        part = rngs[start : start + size]
        for rng, room in zip(part, space, strict=False):
            rng.standard_normal(out=room)
        yield slice(start, start + len(part)), space[: len(part)]
