"""The hyper-parameters of a kernel as a vector of logarithms, and back."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from agents.arrays import Array
from agents.gp.kernels.base import ActionKernel, Kernel, Sum, Term, TimeKernel

VARIANCE = (1e-4, 1e4)


@dataclass(frozen=True)
class Parameter:
    """One positive number in a kernel.

    Attributes:
        term: Which term.
        factor: Which factor of the term; None for its variance.
        name: "variance", or a field of the factor.
        item: Position in the field if that is a tuple, else None.
        bounds: Where it may move.
    """

    term: int
    factor: int | None
    name: str
    item: int | None
    bounds: tuple[float, float]


def free_parameters(kernel: Kernel, fixed: Collection[str] = ()) -> list[Parameter]:
    """All hyper-parameters of a kernel but those whose name is in ``fixed``."""
    everything = (p for i, term in enumerate(kernel.terms) for p in _of_term(i, term))
    return [p for p in everything if p.name not in fixed]


def get(kernel: Kernel, parameters: Collection[Parameter]) -> Array:
    """Their values, shape (p,)."""
    return np.array([_value(kernel.terms[p.term], p) for p in parameters])


def put(kernel: Kernel, parameters: Collection[Parameter], values: Array) -> Kernel:
    """The kernel with other values."""
    terms = list(kernel.terms)
    for p, value in zip(parameters, values.tolist(), strict=True):
        terms[p.term] = _with(terms[p.term], p, value)
    return Sum(tuple(terms))


def _of_term(i: int, term: Term) -> Iterator[Parameter]:
    yield Parameter(i, None, "variance", None, VARIANCE)
    for j, factor in enumerate(term.factors):
        for name, bounds in factor.free.items():
            value = getattr(factor, name)
            items = range(len(value)) if isinstance(value, tuple) else [None]
            yield from (Parameter(i, j, name, item, bounds) for item in items)


def _value(term: Term, p: Parameter) -> float:
    if p.factor is None:
        return term.variance
    value = getattr(term.factors[p.factor], p.name)
    return float(value if p.item is None else value[p.item])


def _with(term: Term, p: Parameter, value: float) -> Term:
    if p.factor is None:
        return replace(term, variance=value)
    factors, new = list(term.factors), value
    old = getattr(factors[p.factor], p.name)
    field = new if p.item is None else (*old[: p.item], new, *old[p.item + 1 :])
    factors[p.factor] = replace(factors[p.factor], **{p.name: field})  # type: ignore[type-var]
    actions = tuple(k for k in factors if isinstance(k, ActionKernel))
    return Term(term.variance, actions, tuple(k for k in factors if isinstance(k, TimeKernel)))
