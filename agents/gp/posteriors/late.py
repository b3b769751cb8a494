"""Insertion of late observations by a replay, for kernels with decay.

Without decay the order of observations does not matter. With decay, the last 32 to 64 observations
are stored with the belief before them. A late reward that is not older than this belief is treated
exactly: the belief is restored, and the observations are replayed in order of time. An older reward
is treated as a noisy observation of the present state (``KalmanFilter.update``), which is an
approximation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from agents.arrays import Array
from agents.gp.posteriors.kalman import KalmanFilter

SPAN = 32
"""Number of observations between two marks."""
NUMBERS = 4
"""Number of values that are stored for an observation in addition to its features."""


class Mark(NamedTuple):
    """Copy of a Gaussian state, which is restored when a late observation arrives."""

    S: Array
    time: float
    base: float
    log_evidence: float


NO_MARK = Mark(np.empty((0, 0)), -math.inf, -math.inf, 0.0)
"""Placeholder for filters without decay, which need no marks."""


class LateObservations:
    """Kalman filter that stores recent observations.

    After a late observation, these observations are processed again in order of time.
    """

    def __init__(self, kalman: KalmanFilter) -> None:
        self.filter, self.log_evidence = kalman, 0.0
        self._entries: list[Array] = []  # (t, y, sigma^2, log scale, phi) after the older mark
        self._older = self._newer = self._mark() if kalman.decays else NO_MARK

    def observe(
        self, phi: Array, t: float, y: float, noise_variance: float, log_scale: float = 0.0
    ) -> None:
        """Learn from an observation, which may be late.

        The Gaussian likelihood of the observation is multiplied by exp(log_scale).
        """
        if not self.filter.decays:
            self.log_evidence += self.filter.update(phi, t, y, noise_variance) + log_scale
            return
        entry = _entry(phi, t, y, noise_variance, log_scale)
        if self._older.time <= t < self.filter.time:
            self._replay(sorted([*self._entries, entry], key=lambda entry: float(entry[0])))
        else:
            self._take(entry)

    def learn(self, phi: Array, t: Array, y: Array, noise_variance: float) -> None:
        """Learn from many observations, in batches if the filter has no decay."""
        if not self.filter.decays:
            self.log_evidence += self.filter.learn(phi, t, y, noise_variance)
            return
        for row, when, reward in zip(phi, t.tolist(), y.tolist(), strict=True):
            self.observe(row, when, reward, noise_variance)

    def observe_all(self, t: float, phi: Array, factors: Array) -> None:
        """Multiply the belief by Gaussian factors; t must be the time of the newest observation.

        The array ``factors`` has shape (q, 3), with the rows (y, sigma^2, log scale).
        """
        room = SPAN - len(self._entries) % SPAN
        if self.filter.decays and len(phi) >= room:  # a mark must be set between these factors
            for row, (y, noise_variance, log_scale) in zip(phi, factors.tolist(), strict=True):
                self.observe(row, t, y, noise_variance, log_scale)
            return
        self.log_evidence += self.filter.update_all(phi, t, factors[:, 0], factors[:, 1])
        self.log_evidence += float(factors[:, 2].sum())
        if self.filter.decays:
            entries = np.empty((len(phi), NUMBERS + phi.shape[1]))
            entries[:, 0], entries[:, 1:NUMBERS], entries[:, NUMBERS:] = t, factors, phi
            self._entries.extend(entries)

    def _mark(self, spent: Mark | None = None) -> Mark:
        """Return a mark of the present state; reuse the array of an obsolete mark, if any."""
        kalman = self.filter
        kalman.form()
        kalman.settle(kalman.time)
        S = np.empty_like(kalman.S) if spent is None else spent.S
        S[:] = kalman.S
        return Mark(S, kalman.time, kalman.base, self.log_evidence)

    def _take(self, entry: Array) -> None:
        t, y, noise_variance, log_scale = entry[:NUMBERS].tolist()
        density = self.filter.update(entry[NUMBERS:], t, y, noise_variance)
        self.log_evidence += density + log_scale
        self._remember(entry)

    def took(self, phi: Array, t: float, y: float, noise_variance: float, density: float) -> None:
        """Record an observation that has already been applied to the filter.

        The observation must not be late; ``density`` is its log density.
        """
        self.log_evidence += density
        if self.filter.decays:
            self._remember(_entry(phi, t, y, noise_variance, 0.0))

    def _remember(self, entry: Array) -> None:
        self._entries.append(entry)
        if len(self._entries) == SPAN:
            self._newer = self._mark()
        elif len(self._entries) == 2 * SPAN:
            self._older, self._newer = self._newer, self._mark(self._older)
            self._entries = self._entries[SPAN:]

    def _replay(self, entries: list[Array]) -> None:
        self.filter.load(self._older.S, self._older.time, self._older.base)
        self.log_evidence, self._entries = self._older.log_evidence, []
        for entry in entries:
            self._take(entry)


def _entry(phi: Array, t: float, y: float, noise_variance: float, log_scale: float) -> Array:
    """Return an observation in its stored form."""
    entry = np.empty(NUMBERS + len(phi))
    entry[:NUMBERS] = t, y, noise_variance, log_scale
    entry[NUMBERS:] = phi
    return entry
