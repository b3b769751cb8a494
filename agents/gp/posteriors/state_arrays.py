"""The arrays of Gaussian states, and what they say about one moment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.arrays import Array


class Slice(NamedTuple):
    """The belief at one time t: f(a, t) = phi(a) . v with v ~ N(mean, covariance)."""

    t: float
    psi: Array  # (M_t,)
    rho: Array  # (M_t,): decay of each time feature from the base of the state to t
    mean: Array  # (M_a,)
    covariance: Array  # (M_a, M_a)


class Moments(NamedTuple):
    """Of v of several states, one layer each: mean (k, M_a) and covariance (k, M_a, M_a)."""

    mean: Array
    covariance: Array


class Room(NamedTuple):
    """The arrays of a state, or of several in layers: what it is, and what is computed from it."""

    S: Array  # (m, m + 1)
    cross: Array  # (M_a, m + 1)
    covariance: Array  # (M_a, M_a)
    X: Array  # (c, m + 1): room for collected steps

    @classmethod
    def of(cls, layers: tuple[int, ...], m: int, M: int, collected: int) -> Room:
        """For m features, M of them of actions."""
        shapes = (m, m + 1), (M, m + 1), (M, M), (collected, m + 1)
        return cls(*(np.empty(layers + shape) for shape in shapes))

    def layer(self, i: int) -> Room:
        """The room of one state among several."""
        return Room(*(array[i] for array in self))
