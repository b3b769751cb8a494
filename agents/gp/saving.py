"""Posteriors as plain data: arrays, numbers, strings and JSON-able lists. No pickle.

>>> import numpy as np
>>> from agents.gp import Finite, Index, Periodic, from_state, make_posterior, to_state
>>> posterior = make_posterior(Index() * Periodic(7.0), Finite.arms(3), noise_variance=0.1)
>>> posterior.observe(1, t=4, y=0.5)
>>> again = from_state(to_state(posterior))
>>> bool((again.predict(t=11).mean == posterior.predict(t=11).mean).all())
True
"""

from __future__ import annotations

import dataclasses
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from agents.gp import kernels
from agents.gp.actions import Actions, Box, Finite, InContext
from agents.gp.basis import Basis, Nystrom, Table, Tilted
from agents.gp.features import Block, Features
from agents.gp.kernels.base import ActionKernel, Kernel, Sum, Term, TimeKernel
from agents.gp.kernels.context import without_lines
from agents.gp.kernels.spectrum import TimeFeatures
from agents.gp.posteriors.base import Posterior, State
from agents.gp.posteriors.incremental import Incremental
from agents.gp.posteriors.mixture import Mixture
from agents.gp.posteriors.period_search import PeriodSearch
from agents.gp.posteriors.state_space import StateSpace


def to_state(posterior: Posterior) -> State:
    """Everything there is to know about a posterior.

    Features are part of it: computed again elsewhere they could differ by a sign.
    """
    if isinstance(posterior, Mixture):
        members = [to_state(member) for member in posterior.members]
        kind = {"engine": posterior.name.split()[0], "log_prior": posterior.log_prior.copy()}
        return posterior.state() | kind | {"members": members}
    state = posterior.state() | {"engine": posterior.name.split()[0]}
    state |= {"kernel": kernel_to_json(posterior.kernel)}
    state |= {"noise_variance": posterior.noise_variance} | _actions_to_state(posterior.actions)
    if isinstance(posterior, StateSpace):
        state |= _features_to_state(posterior.features)
    return state


def from_state(state: State) -> Posterior:
    """A posterior that continues bit for bit where ``to_state`` was called.

    Raises:
        ValueError: If the state does not describe a posterior (KeyError if a part is missing).
    """
    for key, value in state.items():
        _check(key, value)
    if state["engine"] in ("mixture", "period-search"):
        return _mixture_from_state(state)
    kernel, actions = kernel_from_json(state["kernel"]), _actions_from_state(state)
    noise_variance, engine = float(state["noise_variance"]), state["engine"]
    posterior: Incremental | StateSpace
    if engine == "state-space":
        features = _features_from_state(state, kernel)
        posterior = StateSpace(kernel, actions, noise_variance, features)
    elif engine == "incremental":
        posterior = Incremental(kernel, actions, noise_variance, state["window"])
    else:
        raise ValueError(f"unknown engine {engine!r}")
    posterior.restore(state)
    return posterior


def _mixture_from_state(state: State) -> Mixture:
    members = [from_state(member) for member in state["members"]]
    mixture = (
        PeriodSearch.loaded(state, members)
        if state["engine"] == "period-search"
        else Mixture.revived(members, state["log_prior"])
    )
    # Once more, where they live now: when they moved in, they summed up what they had collected.
    for member, own in zip(members, state["members"], strict=True):
        member.restore(own)
    return mixture


def kernel_to_json(kernel: Kernel) -> list[dict[str, Any]]:
    """A kernel as a list of terms."""
    return [
        {"variance": term.variance, "factors": [_factor_to_json(k) for k in term.factors]}
        for term in kernel.terms
    ]


def kernel_from_json(terms: list[dict[str, Any]]) -> Kernel:
    """The inverse of ``kernel_to_json``."""
    return Sum(tuple(_term_from_json(term) for term in terms))


def _check(key: str, value: Any) -> None:
    """Arrays hold finite numbers (but the time before the first observation is -inf)."""
    if value is None and key != "window":
        raise ValueError(f"{key} is missing")
    if key == "whole_times" and not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false")
    if isinstance(value, np.ndarray):
        numeric = value.dtype.kind in "fi"
        if not numeric or not (key.endswith((".time", ".base")) or np.isfinite(value).all()):
            raise ValueError(f"{key} must hold finite numbers")


def _term_from_json(term: dict[str, Any]) -> Term:
    factors = [_factor_from_json(factor) for factor in term["factors"]]
    actions = tuple(k for k in factors if isinstance(k, ActionKernel))
    clocks = tuple(k for k in factors if isinstance(k, TimeKernel))
    return Term(float(term["variance"]), actions, clocks)


def _factor_to_json(factor: ActionKernel | TimeKernel) -> dict[str, Any]:
    names = [f.name for f in dataclasses.fields(factor) if f.init]  # type: ignore[arg-type]
    values = {name: getattr(factor, name) for name in names}
    lists = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}
    return {"kind": type(factor).__name__} | lists


def _factor_from_json(factor: dict[str, Any]) -> ActionKernel | TimeKernel:
    values = {k: v for k, v in factor.items() if k != "kind"}
    if isinstance(values.get("length_scale"), list):
        values["length_scale"] = tuple(values["length_scale"])
    return _kernel_class(factor["kind"])(**values)


def _kernel_class(kind: str) -> Callable[..., ActionKernel | TimeKernel]:
    """The kernel of this name: of this package, or of any module that has been imported."""
    _import_kernels()
    named = [c for c in (*_below(ActionKernel), *_below(TimeKernel)) if c.__name__ == kind]
    found = {(c.__module__, c.__qualname__): c for c in named}
    if not found:
        raise ValueError(
            f"unknown kernel {kind!r}: if it is your own, import the file that defines it first"
        )
    if len(found) > 1:
        places = " and ".join(".".join(place) for place in found)
        raise ValueError(f"several kernels are named {kind!r}: {places}")
    return next(iter(found.values()))


@cache
def _import_kernels() -> None:
    """Import every file of kernels, so that a new one needs no mention elsewhere."""
    for module in pkgutil.iter_modules(kernels.__path__, f"{kernels.__name__}."):
        import_module(module.name)


def _below(base: type[Kernel]) -> Iterator[type[Any]]:
    """All subclasses of a kernel, and theirs."""
    for cls in base.__subclasses__():
        yield cls
        yield from _below(cls)


def _actions_to_state(actions: Actions) -> State:
    if isinstance(actions, InContext):
        return _actions_to_state(actions.actions) | {"context_dimension": actions.dimension}
    if isinstance(actions, Finite):
        return {"x": actions.x.copy()}
    return {"low": actions.low.copy(), "high": actions.high.copy()}


def _actions_from_state(state: State) -> Actions:
    plain = Finite(state["x"]) if "x" in state else Box(state["low"], state["high"])
    contexts = state.get("context_dimension")
    return plain if contexts is None else InContext(plain, int(contexts))


def _features_to_state(features: Features) -> State:
    clock = features.clock
    state: State = {"whole_times": features.whole_times}
    state |= {"clock": np.stack((clock.nu, clock.shift, clock.amplitude))}
    corners = [
        (b.columns.start, b.columns.stop, b.clock.start, b.clock.stop) for b in features.blocks
    ]
    state |= {"blocks": np.array(corners), "rho": np.array([b.log_rho for b in features.blocks])}
    for i, basis in enumerate(features.bases):
        plain = basis.inner if isinstance(basis, Tilted) else basis
        names = ("values",) if isinstance(plain, Table) else ("nodes", "mixing", "weight")
        state |= {f"{name}.{i}": getattr(plain, name).copy() for name in names}
    return state


def _features_from_state(state: State, kernel: Kernel) -> Features:
    bases = [_basis_from_state(state, i, term) for i, term in enumerate(kernel.terms)]
    blocks, row = [], 0
    corners, rho = np.asarray(state["blocks"]).tolist(), np.asarray(state["rho"]).tolist()
    for (c, d, p, q), log_rho in zip(corners, rho, strict=True):
        rows = slice(row, row + (d - c) * (q - p))
        blocks.append(Block(slice(c, d), slice(p, q), rows, log_rho))
        row = rows.stop
    clock = TimeFeatures(*np.array(state["clock"]))
    return Features(tuple(bases), clock, tuple(blocks), bool(state["whole_times"]))


def _basis_from_state(state: State, i: int, term: Term) -> Basis:
    lines, term = without_lines(term)
    plain: Table | Nystrom
    if f"values.{i}" in state:
        plain = Table(np.array(state[f"values.{i}"]))
    else:
        nodes, mixing, weight = (np.array(state[f"{k}.{i}"]) for k in ("nodes", "mixing", "weight"))
        plain = Nystrom(term, nodes, mixing, weight)
    return Tilted(plain, lines[0]) if lines else plain
