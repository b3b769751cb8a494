"""The context of a decision: in an observation, in an action, and in a view of a posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agents.base import Problem
from agents.gp import Actions, Array, Box, Finite, InContext, InThisContext, Posterior, Predictive
from agents.state import Stateful

NO_CONTEXT = ("t", "cos_phase", "sin_phase")
"""Entries of an observation that say what time it is."""


def context_columns(problem: Problem) -> tuple[int, ...]:
    """Which entries of an observation are a context: neither time nor phase."""
    fields = problem.observation_fields
    return tuple(i for i, name in enumerate(fields) if name not in NO_CONTEXT)


class ContextView(Stateful):
    """Reads contexts, places actions in them, and shows a posterior in the current one.

    Args:
        actions: The actions alone.
        columns: Entries of an observation that are its context.
        dimension: Length of a context that does not stand in observations; by default as many
            entries as there are columns. Without any the view changes nothing.

    Attributes:
        actions: The actions as a posterior has to know them: with contexts, if there are any.
    """

    kept = ("_context",)

    def __init__(
        self, actions: Finite | Box, columns: Sequence[int] = (), dimension: int | None = None
    ) -> None:
        self.columns = list(columns)
        length = len(self.columns) if dimension is None else dimension
        self.actions: Actions = InContext(actions, length) if length else actions
        self._context = np.zeros(length)
        self._view: InThisContext | None = None

    def __bool__(self) -> bool:
        return isinstance(self.actions, InContext)

    def read(self, observation: Array) -> Array:
        """The context that an observation shows, or an error if nothing can be known in it."""
        context = np.array(observation, dtype=np.float64)[self.columns]
        if not np.isfinite(context).all():
            raise ValueError(f"a context must be finite, got {context}")
        return context

    def place(self, action: Any, context: Array) -> Any:
        """An action in a context, as a posterior knows it."""
        if isinstance(self.actions, InContext):
            return self.actions.joined(action, context)[0]
        return action

    def show(self, posterior: Posterior) -> Predictive:
        """A posterior as an acquisition sees it: over the actions alone, in the current context."""
        if not self:
            return posterior
        self._view = InThisContext(posterior)
        self._view.context = self._context
        return self._view

    @property
    def context(self) -> Array | None:
        """The current context; None if there are no contexts."""
        return self._context if self else None

    @context.setter
    def context(self, context: Array) -> None:
        self._context = context
        if self._view is not None:
            self._view.context = context
