"""Mapping of actions and contexts between a problem and a kernel."""

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
"""Names of the entries of an observation that depend only on the time."""
NO_VALUES = np.empty(0)
"""Empty context, for agents that do not use contexts."""


class Coordinates:
    """Map between the actions of a problem and the actions of a kernel.

    Arms are unchanged. Points of a box are multiplied by ``Problem.action_half_width``, so that
    they are in the unit of the length-scales instead of [-1, 1]. With contexts, an action of the
    kernel is a pair (action, context).

    Args:
        problem: Problem, with its actions and the names of its observations.
        contexts: True to use the contexts in the observations.

    Attributes:
        actions: Set of actions in the coordinates of the kernel. The actions include contexts if
            contexts are used and the observations contain contexts.
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
        """True if the actions of the kernel have contexts."""
        return bool(self._columns)

    def placed(self, action: Any, observation: Array) -> Any:
        """Return an action with its context, if any, in the coordinates of the kernel."""
        context = self._read(observation)
        point = self.of(self._problem.checked(action))
        if isinstance(self.actions, InContext):
            return self.actions.joined(point, context)[0]
        return point

    def of(self, action: Any) -> Any:
        """Return one or several actions of the problem in the coordinates of the kernel."""
        if self._problem.n_actions is not None:
            return action
        return np.asarray(action, dtype=np.float64) * self._problem.action_half_width

    def to_kernel(self, actions: Any) -> Any:
        """Return actions in the coordinates of the kernel; return None, for all arms, unchanged."""
        if actions is not None:
            return self.of(actions)
        if self._problem.n_actions is None:
            raise ValueError(
                "actions must not be None for a box: "
                "use an array of shape (q, d) with values in [-1, 1]"
            )
        return None

    def action(self, point: Any) -> Any:
        """Return the action of the problem for a point in the coordinates of the kernel."""
        if self._problem.n_actions is not None:
            return int(point)
        scaled = np.asarray(point) / self._problem.action_half_width
        return np.clip(scaled, -1.0, 1.0).astype(np.float32)

    def enter(self, observation: Array) -> None:
        """Make the context of an observation the current context."""
        self._context = self._read(observation)
        if self._view is not None:
            self._view.context = self._context

    def view(self, posterior: Posterior) -> Predictive:
        """Return a posterior over the actions of the problem, given the current context."""
        if not self._columns:
            return posterior
        self._view = InThisContext(posterior)
        self._view.context = self._context
        return self._view

    def _read(self, observation: Array) -> Array:
        if not self._columns:
            return NO_VALUES
        context = np.array(observation, dtype=np.float64)[self._columns]
        if not np.isfinite(context).all():
            raise ValueError(f"the context in an observation must be finite, got {context}")
        return context
