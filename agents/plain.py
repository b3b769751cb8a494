"""The parts of an agent as JSON-able values and arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from agents.base import Experience, Problem
from agents.checks import require

MAX_ARMS = 100_000
MAX_BOX_DIMENSIONS = 256
MAX_OBSERVATION_SIZE = 10_000
"""A few bytes can claim a problem of any size, and an agent for it may take any memory."""


def put_away(value: Any, arrays: dict[str, Any]) -> Any:
    """Replace arrays by references into ``arrays``, where they are contiguous and little-endian."""
    if isinstance(value, np.ndarray):
        # A matrix stored by columns stays one: sums in another order differ in the last bit.
        by_columns = value.flags.f_contiguous and not value.flags.c_contiguous
        key, rows = f"array{len(arrays)}", value.T if by_columns else value
        arrays[key] = np.array(rows, dtype=value.dtype.newbyteorder("<"), order="C")
        return {"by_columns" if by_columns else "array": key}
    if isinstance(value, dict):
        return {str(key): put_away(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [put_away(item, arrays) for item in value]
    return plain(value)


def take_out(value: Any, arrays: dict[str, Any]) -> Any:
    """The inverse of ``put_away``."""
    if isinstance(value, dict):
        if set(value) == {"array"}:
            return arrays[value["array"]]
        if set(value) == {"by_columns"}:
            return arrays[value["by_columns"]].T
        return {key: take_out(item, arrays) for key, item in value.items()}
    return [take_out(item, arrays) for item in value] if isinstance(value, list) else value


def plain(value: Any) -> Any:
    """NumPy scalars, and the dictionaries of generators, as JSON knows them."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return {"values": value.tolist(), "dtype": str(value.dtype)}
    return value.item() if isinstance(value, np.generic) else value


def generator(state: dict[str, Any]) -> np.random.Generator:
    """A generator in the given state."""
    kinds = {"PCG64": np.random.PCG64, "PCG64DXSM": np.random.PCG64DXSM}
    kinds |= {"MT19937": np.random.MT19937, "Philox": np.random.Philox, "SFC64": np.random.SFC64}
    made = np.random.Generator(kinds[state["bit_generator"]](0))
    made.bit_generator.state = _unplain(state)
    return made


def _unplain(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"values", "dtype"}:
            require(value["dtype"] in ("uint32", "uint64"), "a generator has words", value["dtype"])
            return np.array(value["values"], dtype=value["dtype"])
        return {key: _unplain(item) for key, item in value.items()}
    return value


def problem_to_plain(problem: Problem) -> dict[str, Any]:
    """A problem as a dictionary of values and arrays."""
    box, space, past = problem.observation_space, problem.action_space, problem.warm_start
    return {
        **vars(problem),
        "action_space": problem.n_actions or [space.low, space.high],  # type: ignore[attr-defined]
        "observation_space": [box.low, box.high],
        "warm_start": None if past is None else [past.t, past.action, past.reward],
    }


def problem_from_plain(plain: dict[str, Any]) -> Problem:
    """The inverse of ``problem_to_plain``."""
    space, past = plain["action_space"], plain["warm_start"]
    low, high = plain["observation_space"]
    _require_size(low, MAX_OBSERVATION_SIZE, "an observation of at most {:,} numbers")
    if isinstance(space, int):
        require(space <= MAX_ARMS, f"a saved problem has at most {MAX_ARMS:,} arms", space)
    else:
        _require_size(space[0], MAX_BOX_DIMENSIONS, "a box of at most {:,} dimensions")
    lists = {name: tuple(value) for name, value in plain.items() if isinstance(value, list)}
    parts: dict[str, Any] = {
        "action_space": (
            spaces.Discrete(space)
            if isinstance(space, int)
            else spaces.Box(*space, dtype=space[0].dtype.type)
        ),
        "observation_space": spaces.Box(low, high, dtype=np.float64),
        "warm_start": None if past is None else Experience(*past),
    }
    return Problem(**{**plain, **lists, **parts})


def _require_size(bound: Any, most: int, rule: str) -> None:
    require(np.size(bound) <= most, f"a saved problem has {rule.format(most)}", np.size(bound))
