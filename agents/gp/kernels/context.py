"""Rewards that depend on a context, too: f(action, context, t).

To a posterior, where the action was taken is part of what was done: its actions are then pairs
(action, context), written as one vector, and its kernel has a factor over contexts,

    k{(a, u, t), (b, u', s)} = k(a, b) k_U(u, u') c(t - s)        (after [@krause2011contextual]).

To an acquisition the context of the moment is given: ``InThisContext`` shows it a posterior over
the actions alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from agents.arrays import Array, Rng
from agents.gp.actions import Box, Finite, InContext, Points
from agents.gp.kernels.base import POSITIVE, ActionKernel, Kernel, Sum, Term
from agents.gp.posteriors.base import Gradient, Posterior, Prediction


@dataclass(frozen=True)
class ContextSquaredExponential(ActionKernel):
    """Smooth in the context: k_U(u, u') = exp(-|u - u'|^2 / (2 l^2)).

    The same l as scikit-learn RBF, GPyTorch, GPy and GPJax.

    Attributes:
        length_scale: l, in the unit of the contexts; a tuple gives one per entry.
    """

    length_scale: float | tuple[float, ...] = 1.0
    free: ClassVar[Mapping[str, tuple[float, float]]] = {"length_scale": POSITIVE}
    analytic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not all(0 < scale < np.inf for scale in np.atleast_1d(self.length_scale)):
            raise ValueError(f"a length-scale must be positive, got {self.length_scale}")

    def __call__(self, a: Points, b: Points) -> Array:
        """Covariance matrix, by the formula of the class."""
        if a.context is None or b.context is None:
            raise TypeError("a kernel over contexts needs actions in contexts")
        scale = np.asarray(self.length_scale)
        squares = cdist(a.context / scale, b.context / scale, "sqeuclidean")
        return np.asarray(np.exp(-0.5 * squares))

    def slope(self, a: Points, b: Points) -> Array:
        """Zero: the context is not the agent's to choose."""
        return np.zeros((len(a.x), len(b.x), a.x.shape[1]))


FAR = 2.5
"""Spreads from the centre beyond which a context is taken to be no further away."""


@dataclass(frozen=True)
class ContextLinear(ActionKernel):
    """A line in a context of one number: k_U(u, u') = z z', z = (u - centre) / spread up to +-FAR.

    Attributes:
        centre: Where the line is 0.
        spread: The unit of the context, > 0.
    """

    centre: float = 0.0
    spread: float = 1.0
    analytic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.centre) and 0 < self.spread < np.inf):
            raise ValueError(f"a line needs a centre and a positive spread, got {self}")

    def z(self, context: Array | None) -> Array:
        """Contexts, shape (n, 1), in units of the spread, shape (n,)."""
        if context is None or context.shape[1] != 1:
            raise TypeError("a line over contexts needs actions in contexts of one number")
        far = (context[:, 0] - self.centre) / self.spread
        return np.minimum(np.maximum(far, -FAR), FAR)

    def __call__(self, a: Points, b: Points) -> Array:
        """Covariance matrix, by the formula of the class."""
        return np.outer(self.z(a.context), self.z(b.context))

    def own(self, a: Points) -> Array:
        """The variance z^2 at each action."""
        return np.asarray(self.z(a.context) ** 2)

    def slope(self, a: Points, b: Points) -> Array:
        """Zero: the context is not the agent's to choose."""
        return np.zeros((len(a.x), len(b.x), a.x.shape[1]))


def without_lines(term: Term) -> tuple[list[ContextLinear], Term]:
    """The lines of a term, and the term without them."""
    lines = [factor for factor in term.actions if isinstance(factor, ContextLinear)]
    others = tuple(factor for factor in term.actions if not isinstance(factor, ContextLinear))
    return lines, replace(term, actions=others)


def furthest(kernel: Kernel) -> Kernel:
    """The kernel in contexts as far from the centres of its lines as any."""
    apart = [without_lines(term) for term in kernel.terms]
    return Sum(tuple(replace(t, variance=t.variance * FAR ** (2 * len(k))) for k, t in apart))


def is_linear(kernel: Kernel) -> bool:
    """Whether a context enters in a line, and in no other way."""
    factors = [factor for term in kernel.terms for factor in term.actions]
    line = any(isinstance(factor, ContextLinear) for factor in factors)
    return line and not any(isinstance(f, ContextSquaredExponential) for f in factors)


class InThisContext:
    """A posterior over actions in contexts, as it looks in one context.

    Args:
        posterior: Its actions are ``InContext``.

    Attributes:
        context: The context of the moment, shape (c,); set it before asking.
    """

    def __init__(self, posterior: Posterior) -> None:
        if not isinstance(posterior.actions, InContext):
            raise TypeError("the posterior's actions have no contexts")
        self._posterior, self._joint = posterior, posterior.actions
        self.context = np.zeros(self._joint.dimension)

    @property
    def kernel(self) -> Kernel:
        """The prior covariance."""
        return self._posterior.kernel

    @property
    def actions(self) -> Finite | Box:
        """The actions alone."""
        return self._joint.actions

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Mean and variance of f(., context, t)."""
        return self._posterior.predict(t, self._joint.joined(actions, self.context))

    def gradient(self, t: float, actions: Any) -> Gradient:
        """Prediction with derivatives in the action."""
        return self._posterior.gradient(t, self._joint.joined(actions, self.context))

    def sample(self, t: float, rng: Rng, actions: Any = None) -> Array:
        """One joint draw of f(., context, t)."""
        return self._posterior.sample(t, rng, self._joint.joined(actions, self.context))

    def contenders(self, t: float, beta: float) -> None:
        """The posterior has no short cut to the best arm: None."""
        return None
