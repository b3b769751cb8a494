"""Which of very many arms can have the largest upper confidence bound?

The variance of n arms, phi^T C phi, costs n M_a^2. Most arms are out of the question, and that
shows in single precision and in the first few features already: with phi = (phi_1, phi_2),

    | sqrt(phi^T C phi) - sqrt(phi_1^T C_11 phi_1) | <= |phi_2|,      since C <= I.

No arm that could win, or tie, is left out.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from agents.arrays import Array
from agents.gp.actions import Integers

ROUNDING = 3e-5
"""Bound on the relative error of phi_1^T C_11 phi_1 in single precision, for M_a < 500."""


class Shortlist:
    """Narrows arms down, first by few features, then by more.

    Args:
        phi: Features of the arms, strongest first, shape (n, M_a).
    """

    def __init__(self, phi: Array) -> None:
        square = phi**2
        # Squared length of what is left of phi from feature i on, shape (n, M_a).
        rest = np.cumsum(square[:, ::-1], axis=1)[:, ::-1]
        self._norm2 = rest[:, 0].copy()
        heights = rest.max(axis=0) / self._norm2.max()
        self._widths = [max(1, int((heights > tail**2).sum())) for tail in (1e-1, 3e-3)]
        rest = np.pad(rest, ((0, 0), (0, 1)))
        self._tails = [np.sqrt(rest[:, w]) for w in self._widths]
        self._single = phi[:, : self._widths[-1]].astype(np.float32)

    def __call__(self, mean: Array, covariance: Array, beta: float) -> Integers:
        """Arms that may maximise mean + sqrt(beta) * standard deviation."""
        arms = np.arange(len(mean))
        for width, tail in zip(self._widths, self._tails, strict=True):
            C = covariance[:width, :width].astype(np.float32)
            phi = self._single[arms, :width]
            variance = np.einsum("qi,qi->q", phi @ C, phi)
            arms = arms[self._open(mean[arms], variance, tail[arms], self._norm2[arms], beta)]
        return arms

    @staticmethod
    def _open(
        mean: Array, variance: NDArray[np.float32], tail: Array, norm2: Array, beta: float
    ) -> NDArray[np.bool_]:
        """Where the highest possible bound reaches the best of the lowest possible bounds."""
        slack = ROUNDING * norm2
        high = mean + math.sqrt(beta) * (np.sqrt(np.maximum(variance + slack, 0.0)) + tail)
        low = mean + math.sqrt(beta) * (np.sqrt(np.maximum(variance - slack, 0.0)) - tail)
        return np.asarray(high >= low.max() - ROUNDING * math.sqrt(norm2.max()))
