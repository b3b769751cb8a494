"""Exploration schedules beta_t for UCB = mean + sqrt(beta_t) * standard deviation.

Eq. (6) of the paper has the weight beta_t^(-1/2). The proofs of the paper and all cited methods use
sqrt(beta_t), and so does this module; only the schedule "printed" follows Eq. (6). The first step
is t = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agents.checks import not_negative, require, share
from agents.gp.actions import Actions, Box, Finite

MAX_FACTOR = 1e100
"""Largest factor of a scaled schedule, whose square must stay finite."""


class Beta(Protocol):
    """Schedule that maps a step t = 1, 2, ... to beta_t >= 0."""

    def __call__(self, t: float) -> float:
        """Return the value of beta_t at step t."""


@dataclass(frozen=True)
class PaperBeta:
    """Schedule of the paper's experiments: beta_t = 0.8 log(0.4 t), clipped at 0 for t < 3."""

    def __call__(self, t: float) -> float:
        """Return the value of beta_t at step t."""
        return max(0.0, 0.8 * math.log(0.4 * _step(t)))


@dataclass(frozen=True)
class PrintedBeta:
    """Schedule of Eq. (6) exactly as in the paper: the weight is (0.8 log(0.4 t))^(-1/2).

    The first two steps, where 0.8 log(0.4 t) is negative, have the weight of the third step. The
    weight decreases with time, although the proofs require a weight that increases.
    """

    def __call__(self, t: float) -> float:
        """Return 1 / (0.8 log(0.4 t)), the square of the weight at step t."""
        return 1.0 / PaperBeta()(max(_step(t), 3.0))


@dataclass(frozen=True)
class SteadyBeta:
    """The paper's schedule, but at least 1: beta_t = max(1, 0.8 log(0.4 t)).

    This schedule is for beliefs whose scale and variances are learned. It explores from the first
    step on. Unlike a constant schedule, it grows, which prevents an early commitment to one action.
    """

    def __call__(self, t: float) -> float:
        """Return the value of beta_t at step t."""
        return max(1.0, PaperBeta()(t))


@dataclass(frozen=True)
class ConstantBeta:
    """Constant schedule: beta_t = value."""

    value: float

    def __post_init__(self) -> None:
        not_negative("beta", self.value)

    def __call__(self, t: float) -> float:
        """Return the value of beta_t at step t."""
        return self.value


@dataclass(frozen=True)
class ScaledBeta:
    """Schedule whose weight sqrt(beta_t) is that of another schedule times a factor.

    Attributes:
        schedule: Original schedule.
        factor: Factor on the weight sqrt(beta_t).
    """

    schedule: Beta
    factor: float

    def __post_init__(self) -> None:
        not_negative("the factor", self.factor)
        require(
            self.factor <= MAX_FACTOR, f"the factor must be at most {MAX_FACTOR:g}", self.factor
        )

    def __call__(self, t: float) -> float:
        """Return the value of beta_t at step t."""
        return self.factor**2 * self.schedule(t)


@dataclass(frozen=True)
class FiniteBeta:
    """Schedule of Eq. (7) for n actions: beta_t = 2 log(n t^2 pi^2 / (6 delta)).

    Attributes:
        n: Number of actions.
        delta: Upper bound on the probability that the regret bound fails.
    """

    n: int
    delta: float = 0.1

    def __post_init__(self) -> None:
        share("delta", self.delta)

    def __call__(self, t: float) -> float:
        """Return the value of beta_t at step t."""
        return 2 * math.log(self.n * _step(t) ** 2 * math.pi**2 / (6 * self.delta))  # Eq. (7)


@dataclass(frozen=True)
class BoxBeta:
    """Schedule of Eq. (8) for a box in R^d.

    beta_t = 2 log{pi^2 t^2 / (3 delta)} + 2 d log{c2 v d t^2 sqrt(log(c1 d pi^2 t^2 / (3 delta)))},
    clipped at 0.

    Attributes:
        d: Dimension of the box.
        v: Length of the longest side of the box.
        delta: Upper bound on the probability that the regret bound fails.
        c1: Constant of the smoothness assumption P(sup |df/da_j| > M) <= c1 exp(-M^2 / c2^2).
        c2: Second constant of the smoothness assumption.
    """

    d: int
    v: float
    delta: float = 0.1
    c1: float = 1.0
    c2: float = 1.0

    def __post_init__(self) -> None:
        share("delta", self.delta)
        if not (0 < self.c1 < math.inf and 0 < self.c2 < math.inf):
            raise ValueError(f"c1 and c2 must be positive and finite, got {self.c1} and {self.c2}")

    def __call__(self, t: float) -> float:
        """Return the value of beta_t at step t."""
        # The first term is a union bound over the steps; the second term discretises the box.
        union = math.pi**2 * _step(t) ** 2 / (3 * self.delta)
        slope = math.sqrt(max(0.0, math.log(self.c1 * self.d * union)))
        mesh = self.c2 * self.v * self.d * t**2 * slope
        if mesh == 0.0:
            return 0.0
        return max(0.0, 2 * math.log(union) + 2 * self.d * math.log(mesh))  # Eq. (8)


def parse_beta(spec: str | float | Beta, actions: Actions) -> Beta:
    """Return a schedule from its name.

    Args:
        spec: One of the following names. Each name may be followed by ``*FACTOR``, which multiplies
            the weight sqrt(beta_t) by the factor. A schedule is returned unchanged.

            - "paper", "steady" or "printed"
            - "finite" or "finite:DELTA"
            - "box", "box:DELTA" or "box:DELTA:C1:C2"
            - "theorem" or "theorem:DELTA": "finite" or "box", depending on the actions
            - "constant:VALUE", or only the number

        actions: Set of actions, which determines n, or d and v.

    >>> from agents.gp.actions import Box
    >>> parse_beta("box:0.05", Box([0, 0], [2, 3]))
    BoxBeta(d=2, v=3.0, delta=0.05, c1=1.0, c2=1.0)
    >>> parse_beta("paper*0.5", Box([0, 0], [2, 3]))
    ScaledBeta(schedule=PaperBeta(), factor=0.5)
    """
    if callable(spec):
        return spec
    schedule_text, star, factor = str(spec).partition("*")
    name, *numbers = schedule_text.split(":")
    try:
        schedule = _named(name, [float(number) for number in numbers], actions)
        return ScaledBeta(schedule, float(factor)) if star else schedule
    except ValueError as error:
        raise ValueError(f"cannot use beta = {spec!r}: {error}") from None


def _named(name: str, numbers: list[float], actions: Actions) -> Beta:
    if name == "theorem" and len(numbers) <= 1:
        name = "finite" if isinstance(actions, Finite) else "box"
    if name.replace(".", "").replace("e-", "").isdigit() and not numbers:
        name, numbers = "constant", [float(name)]
    make, counts = _SCHEDULES.get(name, (None, ()))
    if make is None or len(numbers) not in counts:
        raise ValueError(
            "expected paper, steady, printed, finite[:DELTA], box[:DELTA[:C1:C2]], "
            "theorem[:DELTA], constant:VALUE or a number"
        )
    return make(actions, *numbers)


def _finite(actions: Actions, *numbers: float) -> Beta:
    if not isinstance(actions, Finite):
        raise ValueError(
            "the schedule 'finite' requires a finite set of actions: use 'box' or 'theorem' for "
            "a box"
        )
    return FiniteBeta(len(actions), *numbers)


def _box(actions: Actions, *numbers: float) -> Beta:
    if not isinstance(actions, Box):
        raise ValueError(
            "the schedule 'box' requires a box of actions: use 'finite' or 'theorem' for a finite "
            "set"
        )
    return BoxBeta(actions.dimension, float((actions.high - actions.low).max()), *numbers)


_SCHEDULES: dict[str, tuple[Callable[..., Beta], tuple[int, ...]]] = {
    "paper": (lambda _: PaperBeta(), (0,)),
    "steady": (lambda _: SteadyBeta(), (0,)),
    "printed": (lambda _: PrintedBeta(), (0,)),
    "finite": (_finite, (0, 1)),
    "box": (_box, (0, 1, 3)),
    "constant": (lambda _, value: ConstantBeta(value), (1,)),
}
"""Factory and allowed numbers of parameters of each schedule."""


def _step(t: float) -> float:
    require(t >= 1, "t must be at least 1, since steps are counted from 1", t)
    return t
