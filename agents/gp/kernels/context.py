"""Kernels and views for rewards that depend on a context: f(action, context, t).

The actions of the posterior are pairs (action, context), stored as one vector, and its kernel has a
factor over contexts,

    k{(a, u, t), (b, u', s)} = k(a, b) k_U(u, u') c(t - s)        (after [@krause2011contextual]).

An acquisition function uses ``InThisContext``, a view of the posterior in the current context. The
actions of this view have no contexts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from agents.arrays import Array, Rng
from agents.gp.actions import Box, Finite, InContext, Points
from agents.gp.kernels.base import POSITIVE, ActionKernel, Kernel
from agents.gp.posteriors.base import Gradient, Posterior, Prediction


@dataclass(frozen=True)
class ContextSquaredExponential(ActionKernel):
    """Kernel that is smooth in the context: k_U(u, u') = exp(-|u - u'|^2 / (2 l^2)).

    The length-scale l is defined as in the RBF kernels of scikit-learn, GPyTorch, GPy and GPJax.

    Attributes:
        length_scale: Length-scale l, in the unit of the contexts; a tuple has one length-scale for
            each entry of a context.
    """

    length_scale: float | tuple[float, ...] = 1.0
    free: ClassVar[Mapping[str, tuple[float, float]]] = {"length_scale": POSITIVE}
    analytic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not all(0 < scale < np.inf for scale in np.atleast_1d(self.length_scale)):
            raise ValueError(f"length_scale must be positive and finite, got {self.length_scale}")

    def __call__(self, a: Points, b: Points) -> Array:
        """Return the covariance matrix, by the formula of the class."""
        if a.context is None or b.context is None:
            raise TypeError(
                "a kernel over contexts needs points with contexts, but the points have none"
            )
        scale = np.asarray(self.length_scale)
        squares = cdist(a.context / scale, b.context / scale, "sqeuclidean")
        return np.asarray(np.exp(-0.5 * squares))

    def slope(self, a: Points, b: Points) -> Array:
        """Return zeros, since the kernel does not depend on the coordinates of the actions."""
        return np.zeros((len(a.x), len(b.x), a.x.shape[1]))


class InThisContext:
    """View of a posterior over actions in contexts, for one current context.

    Args:
        posterior: Posterior whose actions are ``InContext``.

    Attributes:
        context: Current context, shape (c,); set it before predictions.
    """

    def __init__(self, posterior: Posterior) -> None:
        if not isinstance(posterior.actions, InContext):
            raise TypeError(
                "InThisContext needs a posterior whose actions are InContext, "
                f"got {type(posterior.actions).__name__}"
            )
        self._posterior, self._joint = posterior, posterior.actions
        self.context = np.zeros(self._joint.dimension)

    @property
    def kernel(self) -> Kernel:
        """Prior covariance over actions, contexts and time."""
        return self._posterior.kernel

    @property
    def actions(self) -> Finite | Box:
        """Set of the actions without contexts."""
        return self._joint.actions

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return the mean and variance of f(., context, t)."""
        return self._posterior.predict(t, self._joint.joined(actions, self.context))

    def gradient(self, t: float, actions: Any) -> Gradient:
        """Return the prediction with its derivatives with respect to the action."""
        return self._posterior.gradient(t, self._joint.joined(actions, self.context))

    def sample(self, t: float, rng: Rng, actions: Any = None) -> Array:
        """Return one joint draw of f(., context, t)."""
        return self._posterior.sample(t, rng, self._joint.joined(actions, self.context))

    def contenders(self, t: float, beta: float) -> None:
        """Return None, which stands for all arms."""
        return None
