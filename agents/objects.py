"""Conversion of objects to JSON nodes and arrays, and restoration from untrusted files.

A *node* is ``[kind, content, ...]``. It refers to other nodes by their numbers, so that shared
objects and arrays with shared memory stay shared, and a loaded agent continues exactly from its
saved state.

Restoring runs no constructor or method of the classes that a file names, and imports nothing. It
creates empty objects and sets their attributes. Their classes must already be imported, from a
module of :data:`TRUSTED` or from the package of the root object. Time and memory are bounded by the
actual size of the nodes and arrays.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Iterable
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from agents.arrays import Rng
from agents.checks import require
from agents.errors import CodedError

MAX_ARMS = 100_000
"""Largest number of arms in the problem of a saved agent."""
TRUSTED = ("agents.base", "agents.gp.", "agents.zoo.", "agents.auto.")
"""Prefixes of the modules of this package whose classes a file may name. None of these classes
accesses files when its attributes are used."""
BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
"""Bit generators of NumPy that a file may name."""
PLAIN = (bool, int, float, str, type(None))
"""Types whose values are stored in nodes unchanged."""
SCALARS = {np.dtype(code).name: np.dtype(code).type for code in "?bhilBHILefd"}
"""Types of NumPy scalars by name."""

Arrays = dict[str, NDArray[Any]]


class SavedAgentError(CodedError, ValueError):
    """Raised if an agent cannot be saved, or if a file is not a valid saved agent."""


def pack(value: Any, arrays: Arrays) -> dict[str, Any]:
    """Return a JSON header that describes an object; add the arrays of the object to ``arrays``.

    Raises:
        SavedAgentError: If the object, or an object that it contains, cannot be saved.
    """
    writer = _Writer(value, arrays)
    writer.reference(value, type(value).__name__)
    return {"class": place_of(type(value)), "version": _version(), "nodes": writer.nodes}


def unpack(header: dict[str, Any], arrays: Arrays, cls: type[Any]) -> Any:
    """Return the packed object, which must be of class ``cls``.

    Raises:
        SavedAgentError: If the object was packed by a different version of this package, is not of
            class ``cls``, or contains objects of unknown classes.
    """
    if header["version"] != _version():
        raise SavedAgentError(
            "wrong-version",
            f"the agent was saved by periodic-gp {header['version']}, "
            f"but this is periodic-gp {_version()}: use the version that saved the agent",
        )
    restored = _Reader(header["nodes"], arrays, cls).value([0])
    if not isinstance(restored, cls):
        raise SavedAgentError(
            "wrong-class", f"expected an object of class {place_of(cls)}, got {restored!r:.60}"
        )
    return restored


def place_of(cls: type[Any]) -> str:
    """Return the import path of a class, ``module:Class``."""
    return f"{cls.__module__}:{cls.__qualname__}"


class _Writer:
    """Writer of the nodes and arrays of all objects that are reachable from a root object."""

    def __init__(self, root: Any, arrays: Arrays) -> None:
        self.nodes: list[Any] = []
        self._root, self._arrays = root, arrays
        self._known: dict[
            int, tuple[int, Any]
        ] = {}  # keeps the object alive, so that its id is not reused

    def reference(self, value: Any, path: str) -> Any:
        """Return a plain value unchanged, or ``[number of its node]`` for other objects."""
        if type(value) in PLAIN:
            return value
        if id(value) not in self._known:
            number = len(self.nodes)
            self._known[id(value)] = number, value
            self.nodes.append(None)
            self.nodes[number] = self._node(value, path)
        return [self._known[id(value)][0]]

    def _node(self, value: Any, path: str) -> list[Any]:
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, np.generic) and value.dtype.name in SCALARS:
            return ["scalar", value.dtype.name, value.item()]
        if isinstance(value, np.random.Generator):
            return ["generator", self.reference(value.bit_generator.state, path)]
        if type(value) is dict:
            keys, items = self._all(value, path), value.items()
            return ["dict", keys, [self.reference(item, f"{path}[{k!r}]") for k, item in items]]
        if type(value) in (list, tuple, set):
            return [type(value).__name__, self._all(value, path)]
        if isinstance(value, deque):
            return ["deque", self._all(value, path), value.maxlen]
        if isinstance(value, slice):
            return ["slice", value.start, value.stop, value.step]
        if isinstance(value, spaces.Discrete):
            return ["discrete", int(value.n)]
        if isinstance(value, spaces.Box):
            return ["box", *self._all((value.low, value.high), path)]
        return self._object(value, path)

    def _all(self, values: Iterable[Any], path: str) -> list[Any]:
        return [self.reference(value, f"{path}[{i}]") for i, value in enumerate(values)]

    def _array(self, value: NDArray[Any], path: str) -> list[Any]:
        """Return the node of an array, or of a view of another array."""
        if value.dtype.kind not in "biuf":
            raise SavedAgentError(
                "cannot-save",
                f"cannot save {path}: an array must hold bools or real numbers, got {value.dtype}",
            )
        owner = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        dense = _memory(owner).flags.c_contiguous and owner.dtype == value.dtype
        if owner is not value and dense and 0 < value.size <= owner.size:
            offset = value.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
            return ["view", self.reference(owner, path), offset, value.shape, value.strides]
        key, axes = f"array{len(self._arrays)}", _order(value)
        dtype = value.dtype.newbyteorder("<")
        self._arrays[key] = np.array(value.transpose(axes), dtype=dtype, order="C")
        return ["array", key, axes]

    def _object(self, value: Any, path: str) -> list[Any]:
        place = place_of(type(value))
        known = value is self._root or _trusted_class(place, type(self._root)) is type(value)
        if not known or isinstance(value, Enum):
            raise SavedAgentError(
                "cannot-save",
                f"cannot save {path} ({value!r:.60}): an attribute must be a number, a string, an "
                "array, a collection of these, or an object whose class is in the agent's package",
            )
        if isinstance(value, tuple):
            return ["named", place, self._all(value, path)]
        slots = [name for name in getattr(type(value), "__slots__", ()) if hasattr(value, name)]
        names = [*getattr(value, "__dict__", ()), *slots]
        state = {name: self.reference(getattr(value, name), f"{path}.{name}") for name in names}
        return ["object", place, state]


class _Reader:
    """Reader of objects from nodes and arrays."""

    def __init__(self, nodes: list[Any], arrays: Arrays, root_class: type[Any]) -> None:
        self._nodes, self._arrays, self._root_class = nodes, arrays, root_class
        self._made: dict[int, Any] = {}

    def value(self, reference: Any) -> Any:
        """Return the object to which a reference points, or a plain value unchanged."""
        if not isinstance(reference, list):
            return reference
        (number,) = reference
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]

    def _make(self, number: int) -> Any:
        match self._nodes[number]:
            case ["array", key, axes]:
                stored = np.array(self._arrays[key])
                return stored.transpose(np.argsort(axes)) if axes != sorted(axes) else stored
            case ["view", owner, offset, shape, strides]:
                memory = _memory(self.value(owner))
                require(
                    math.prod(shape) <= memory.size,
                    "a view must not be larger than its array",
                    shape,
                )
                return np.ndarray(shape, memory.dtype, memory, offset, strides)
            case ["scalar", kind, number_]:
                return SCALARS[kind](number_)
            case ["generator", state]:
                return _generator(self.value(state))
            case ["tuple" | "set" as kind, items]:
                return {"tuple": tuple, "set": set}[kind](map(self.value, items))
            case ["list", items]:
                listed = self._made[number] = []
                listed.extend(map(self.value, items))
                return listed
            case ["deque", items, maxlen]:
                return deque(map(self.value, items), maxlen)
            case ["dict", keys, items]:
                made = self._made[number] = {}
                made.update(zip(map(self.value, keys), map(self.value, items), strict=True))
                return made
            case ["slice", *ends]:
                return slice(*ends)
            case ["discrete", n]:
                require(0 < n <= MAX_ARMS, f"a saved problem must have 1 to {MAX_ARMS:,} arms", n)
                return spaces.Discrete(n)
            case ["box", low, high]:
                low, high = self.value(low), self.value(high)
                return spaces.Box(low, high, dtype=low.dtype.type)
            case ["named", place, items]:
                return tuple.__new__(self._class(number, place), map(self.value, items))
            case ["object", place, state]:
                made = self._made[number] = object.__new__(self._class(number, place))
                for name, item in state.items():
                    object.__setattr__(made, name, self.value(item))
                return made
        raise SavedAgentError(
            "damaged-file",
            "the file is damaged: it describes an object of an unknown kind, "
            f"{self._nodes[number]!r:.60}",
        )

    def _class(self, number: int, place: str) -> Any:
        cls = _trusted_class(place, self._root_class) if number else self._root_class
        if cls is None:
            raise SavedAgentError(
                "unknown-class",
                f"the file contains an object of {place}, which is not an imported class of this "
                "package or of the agent's package",
            )
        return cls


def _trusted_class(place: str, root_class: type[Any]) -> type[Any] | None:
    """Return the class with an import path if it is trusted and already imported, otherwise None.

    Classes from the package of the root object are trusted, as are classes from the modules in
    :data:`TRUSTED`.
    """
    module, _, qualname = place.partition(":")
    package = root_class.__module__.partition(".")[0]
    is_own = package != "agents" and f"{module}.".startswith(f"{package}.")
    obj: Any = sys.modules.get(module) if is_own or module.startswith(TRUSTED) else None
    for part in qualname.split("."):
        obj = getattr(obj, part, None)
    return obj if isinstance(obj, type) and obj.__module__ == module else None


def _order(array: NDArray[Any]) -> list[int]:
    """Return the axes of an array in order of decreasing stride."""
    return sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))


def _memory(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array whose axes are in the order of memory, by decreasing stride."""
    memory: NDArray[Any] = array.transpose(_order(array))
    return memory


def _generator(state: dict[str, Any]) -> Rng:
    """Return a generator in the given state."""
    kind = state["bit_generator"]
    require(kind in BIT_GENERATORS, f"a generator must be one of {', '.join(BIT_GENERATORS)}", kind)
    made = np.random.Generator(getattr(np.random, kind)(0))
    made.bit_generator.state = state
    return made


@cache
def _version() -> str:
    try:
        return version("periodic-gp")
    except PackageNotFoundError:
        return "of a checkout that is not installed"
