"""Coordinates of actions and contexts: between a problem and a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.arrays import Array
from agents.base import Problem
from agents.gp import (
    Actions,
    InContext,
    InThisContext,
    Posterior,
    Predictive,
)
from agents.zoo.gp.prior import actions_of

NO_CONTEXT = ("t", "cos_phase", "sin_phase")
"""Entries of an observation that depend on the time alone."""
NOTHING_SHOWN = np.empty(0)
"""Context of an observation that shows none."""


class Coordinates:
    """Map between a problem's actions and observations and those of a kernel.

    Arms are the same on both sides; a box is [-1, 1] outside and as wide as it is inside. With
    contexts an action becomes a pair (action, context).

    Args:
        problem: The problem.
        contexts: Whether to use the contexts that its observations show.

    Attributes:
        actions: The actions as a posterior has to know them, with contexts if there are any.
    """

    def __init__(self, problem: Problem, *, contexts: bool) -> None:
        self._problem = problem
        names = problem.observation_fields if contexts else ()
        self._columns = [i for i, name in enumerate(names) if name not in NO_CONTEXT]
        alone, length = actions_of(problem), len(self._columns)
        self.actions: Actions = InContext(alone, length) if length else alone
        self._context = np.zeros(length)
        self._view: InThisContext | None = None

    @property
    def have_contexts(self) -> bool:
        """True if actions are taken in contexts."""
        return bool(self._columns)

    def placed(self, action: Any, observation: Array) -> Any:
        """An action of the problem in its context, as a posterior knows it."""
        context = self._read(observation)
        point = self.of(self._problem.checked(action))
        if isinstance(self.actions, InContext):
            return self.actions.joined(point, context)[0]
        return point

    def of(self, action: Any) -> Any:
        """One action of the problem, or several, in the coordinates of the kernel."""
        if self._problem.n_actions is not None:
            return action
        return np.asarray(action, dtype=np.float64) * self._problem.action_half_width

    def asked(self, actions: Any) -> Any:
        """The actions of a question in the coordinates of the kernel; None means all arms."""
        if actions is not None:
            return self.of(actions)
        if self._problem.n_actions is None:
            raise ValueError("actions must be given for a box: an array (q, d) in [-1, 1]")
        return None

    def action(self, point: Any) -> Any:
        """The action of the problem at a point of the kernel's coordinates."""
        if self._problem.n_actions is not None:
            return int(point)
        scaled = np.asarray(point) / self._problem.action_half_width
        return np.clip(scaled, -1.0, 1.0).astype(np.float32)

    def enter(self, observation: Array) -> None:
        """Show posteriors in the context of this observation from now on."""
        self._context = self._read(observation)
        if self._view is not None:
            self._view.context = self._context

    def view(self, posterior: Posterior) -> Predictive:
        """A posterior over the actions alone, in the current context."""
        if not self._columns:
            return posterior
        self._view = InThisContext(posterior)
        self._view.context = self._context
        return self._view

    def _read(self, observation: Array) -> Array:
        if not self._columns:
            return NOTHING_SHOWN
        context = np.array(observation, dtype=np.float64)[self._columns]
        if not np.isfinite(context).all():
            raise ValueError(f"a context must be finite, got {context}")
        return context
