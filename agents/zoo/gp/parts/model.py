"""What a GP agent believes: a posterior, how it is made and how it learns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from agents.arrays import Rng
from agents.checks import require
from agents.gp import (
    UCB,
    Actions,
    Array,
    Box,
    Finite,
    InContext,
    Kernel,
    Mixture,
    Posterior,
    Prediction,
    Predictive,
    State,
    from_state,
    make_posterior,
    to_state,
)
from agents.gp.posteriors.mixture import make_members
from agents.state import Stateful


class Acquisition(Protocol):
    """A rule by which actions are chosen."""

    def choose(self, t: float, beta: float) -> Any:
        """An action for time t, in the coordinates of the kernel."""


class MakeAcquisition(Protocol):
    """Makes such a rule; a class like ``UCB`` does."""

    def __call__(self, posterior: Predictive, rng: Rng) -> Acquisition:
        """The rule for a posterior."""


@dataclass(frozen=True)
class Prior:
    """All that a posterior is made from.

    Attributes:
        kernel: Covariance over actions, contexts and time.
        actions: What there is to choose from, with contexts if there are any.
        noise_variance: On the scale of the prior.
        horizon: Number of decisions, if known.
        engine: As in ``make_posterior``.
    """

    kernel: Kernel
    actions: Actions
    noise_variance: float
    horizon: int | None = None
    engine: str = "auto"

    def posterior(self, kernel: Kernel | None = None) -> Posterior:
        """A posterior without observations, of this kernel or another one."""
        return make_posterior(
            self.kernel if kernel is None else kernel,
            self.actions,
            self.noise_variance,
            horizon=self.horizon,
            engine=self.engine,
        )

    def mixture(self, kernels: Sequence[Kernel], weights: Array | None = None) -> Mixture:
        """A posterior over several kernels, all equally likely beforehand without weights."""
        members = make_members(
            kernels, self.actions, self.noise_variance, horizon=self.horizon, engine=self.engine
        )
        return Mixture(members, weights)


class Model(Stateful):
    """A posterior that learns from every reward and forgets none; subclasses learn otherwise.

    Args:
        clock: Time kernel; the agent multiplies it by the kernels of actions and contexts.
        build: Makes the posterior from a prior.
        acquisition: Makes the rule by which actions are chosen, from a posterior and a generator.

    Attributes:
        posterior: What is believed at the moment.
        takes_contexts: Whether the posterior may be one over actions in contexts.
    """

    posterior: Posterior
    takes_contexts: ClassVar[bool] = True
    kept: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        clock: Kernel,
        *,
        build: Callable[[Prior], Posterior] = Prior.posterior,
        acquisition: MakeAcquisition = UCB,
    ) -> None:
        self.clock, self._build, self._acquisition = clock, build, acquisition

    def begin(self, prior: Prior) -> None:
        """Start without observations."""
        self.posterior = self._build(prior)

    def acquisition(self, view: Predictive, rng: Rng) -> Acquisition:
        """The rule by which actions are chosen from a view of the posterior."""
        return self._acquisition(view, rng)

    def advance(self, t: float) -> None:
        """A decision is due at time t: what is too old for it may be forgotten."""

    def observe(self, action: Any, t: float, y: float) -> None:
        """Take in a reward on the scale of the prior."""
        self.posterior.observe(action, t, y)

    def visit(self, action: Any, t: float) -> None:
        """Take in where an action was taken, as long as rewards have no scale."""
        self.observe(action, t, 0.0)

    def predict(self, view: Predictive, t: float, actions: Any) -> Prediction:
        """Mean and variance of f(., t), from a view of the posterior; a past t is not smoothed.

        (With decay and the state-space engine: see :class:`StateSpace`.)
        """
        return view.predict(t, actions)

    def state(self) -> dict[str, Any]:
        """The posterior, and what is kept beside it."""
        return {"posterior": to_state(self.posterior), **super().state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back, or say that it is not about the same actions."""
        self.posterior = restored_posterior(state["posterior"], self.posterior.actions)
        super().restore(state)


def posterior_of(kind: type[Any], engines: str) -> Callable[[Prior], Posterior]:
    """What makes a posterior that can do more than others can; ``engines`` says which can."""

    def build(prior: Prior) -> Posterior:
        found = prior.posterior()
        require(isinstance(found, kind), f"this agent's engine is {engines}", prior.engine)
        return found

    return build


def restored_posterior(state: State, actions: Actions) -> Posterior:
    """A posterior from its state, or an error if it is not about these actions."""
    posterior = from_state(state)
    if not _same_actions(posterior.actions, actions):
        raise ValueError("the belief is about other actions than the problem has")
    return posterior


def _same_actions(one: Actions, other: Actions) -> bool:
    if isinstance(one, InContext) and isinstance(other, InContext):
        return one.dimension == other.dimension and _same_actions(one.actions, other.actions)
    if isinstance(one, Finite) and isinstance(other, Finite):
        return np.array_equal(one.x, other.x)
    if isinstance(one, Box) and isinstance(other, Box):
        return np.array_equal(one.low, other.low) and np.array_equal(one.high, other.high)
    return False
