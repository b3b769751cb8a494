"""Saving agents to files, and loading them without trusting the file.

A saved agent is a safetensors file: its arrays, and one JSON header that lists its objects. Each is
a *node*, ``[kind, content]``, and refers to others by their number, so shared objects and arrays
that share memory stay shared, and a loaded agent continues bit for bit.

Loading runs no constructor, calls no method and imports nothing: it makes empty objects of classes
that belong to the agent's own package and are imported already, and sets their attributes. Time and
memory are therefore bounded by the size of the file, whatever it claims.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import uuid
from collections import deque
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import require

FORMAT = "periodic-gp agent"
MAX_BYTES = 2**30
"""Largest file that ``load`` takes."""
MAX_HEADER_BYTES = 2**24
"""Largest header: JSON takes many times its length in memory."""
MAX_ARMS = 100_000
MAX_NUMBER = 10**9
"""Largest whole number among the settings of a saved agent."""
TRUSTED = ("agents.base", "agents.gp.", "agents.zoo.", "agents.auto.")
"""Modules of this package whose classes a file may name: none of them reads or writes files when
an attribute of an agent is used."""
BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
PLAIN = (bool, int, float, str, type(None))
SCALARS = {np.dtype(code).name: np.dtype(code).type for code in "?bhilBHILefd"}

Self = TypeVar("Self", bound="Saveable")


class SavedAgentError(ValueError):
    """A file that does not hold a saved agent, or an agent that cannot be saved."""


class Saveable:
    """Base of agents that can be saved; every attribute is saved.

    Attributes may be numbers, strings, None, arrays, random generators, lists, tuples, sets, deques
    and dictionaries of these, and objects of classes of the agent's own package. Functions and
    classes cannot be saved: make them methods, or attributes of the class.

    Args:
        problem: What is known.
        rng: The only source of randomness; it also breaks ties.
        settings: Those of the agent, which its class documents.
    """

    name: ClassVar[str] = ""
    """The name under which the agent is registered."""

    _problem: Problem
    _rng: Rng
    _settings: dict[str, Any]

    def __new__(cls: type[Self], problem: Problem, rng: Rng, **settings: Any) -> Self:
        """Keep the arguments, so that subclasses need not."""
        agent = super().__new__(cls)
        agent._problem, agent._rng, agent._settings = problem, rng, settings
        return agent

    def save(self, path: str | Path) -> None:
        """Write the agent to a file that ``load`` reads; on any error the old file stays.

        Raises:
            SavedAgentError: If an attribute cannot be saved.
        """
        arrays: dict[str, NDArray[Any]] = {}
        header = json.dumps(pack(self, arrays))
        about = {"format": FORMAT, "header": header, "digest": _digest(header, arrays)}
        data = to_bytes(arrays, about)
        if len(data) > MAX_BYTES or len(header) > MAX_HEADER_BYTES // 2:
            raise SavedAgentError(f"cannot save {str(path)!r}: the agent is too large")
        _write_atomically(Path(path), data)


def load(path: str | Path, agent_class: type[Saveable] | None = None) -> Any:
    """Return the agent that ``save`` wrote; it continues where the saved one stopped.

    Args:
        path: The file.
        agent_class: The class of the agent, if it is not registered. A file can name registered
            agents only, never a place to import from.

    Raises:
        SavedAgentError: If the file is missing, too large, damaged, or not a saved agent.
    """
    try:
        header, arrays = _read(Path(path))
        agent = unpack(header, arrays, agent_class or _registered(header))
        for setting, value in agent._settings.items():
            too_large = isinstance(value, int) and abs(value) > MAX_NUMBER
            require(not too_large, f"{setting} is at most {MAX_NUMBER:,}", value)
        return agent
    except SavedAgentError as error:
        raise SavedAgentError(f"cannot load {str(path)!r}: {error}") from None
    except Exception as error:  # a hostile file can fail anywhere; nothing of it is kept
        raise SavedAgentError(
            f"cannot load {str(path)!r}: damaged, or not a saved agent "
            f"({type(error).__name__}: {error})"
        ) from None


def pack(value: Any, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return an agent, or any of its parts, as a JSON-able header, and add its arrays to others.

    Raises:
        SavedAgentError: If something in it cannot be saved.
    """
    writer = _Writer(value, arrays)
    writer.reference(value, type(value).__name__)
    return {
        "agent": getattr(value, "name", ""),
        "class": _place(type(value)),
        "version": version("periodic-gp"),
        "nodes": writer.nodes,
    }


def unpack(header: dict[str, Any], arrays: dict[str, NDArray[Any]], cls: type[Any]) -> Any:
    """Return the object that was packed, as one of class ``cls``.

    Raises:
        SavedAgentError: If it was packed by another version of this package.
    """
    if header["version"] != version("periodic-gp"):
        raise SavedAgentError(
            f"it was written by version {header['version']} of periodic-gp, "
            f"and this is version {version('periodic-gp')}"
        )
    return _Reader(header["nodes"], arrays, cls).value([0])


class _Writer:
    """Nodes and arrays of all objects that can be reached from one."""

    def __init__(self, root: Any, arrays: dict[str, NDArray[Any]]) -> None:
        self.nodes: list[Any] = []
        self._root, self._arrays = root, arrays
        self._known: dict[int, tuple[int, Any]] = {}  # with the object, so that its id stays taken

    def reference(self, value: Any, path: str) -> Any:
        """Return a plain value itself, and ``[number of its node]`` for anything else."""
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
        """Return a node of an array, or of a view of one."""
        if value.dtype.kind not in "biuf":
            raise SavedAgentError(f"cannot save {path}: it is an array of {value.dtype}")
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
        place = _place(type(value))
        if value is not self._root and _found(place, type(self._root)) is not type(value):
            raise SavedAgentError(
                f"cannot save {path} ({value!r:.60}): an attribute must be a number, a string, an "
                "array, a collection of these, or an object of a class of the agent's own package"
            )
        if isinstance(value, tuple):
            return ["named", place, self._all(value, path)]
        slots = [name for name in getattr(type(value), "__slots__", ()) if hasattr(value, name)]
        names = [*getattr(value, "__dict__", ()), *slots]
        state = {name: self.reference(getattr(value, name), f"{path}.{name}") for name in names}
        return ["object", place, state]


class _Reader:
    """Objects from nodes and arrays."""

    def __init__(
        self, nodes: list[Any], arrays: dict[str, NDArray[Any]], root_class: type[Any]
    ) -> None:
        self._nodes, self._arrays, self._root_class = nodes, arrays, root_class
        self._made: dict[int, Any] = {}

    def value(self, reference: Any) -> Any:
        """Return the object that a reference stands for."""
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
                require(math.prod(shape) <= memory.size, "a view is part of an array", shape)
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
                require(0 < n <= MAX_ARMS, f"a saved problem has at most {MAX_ARMS:,} arms", n)
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
        raise SavedAgentError(f"it has an unknown node, {self._nodes[number]!r:.60}")

    def _class(self, number: int, place: str) -> Any:
        found = _found(place, self._root_class) if number else self._root_class
        if found is None:
            raise SavedAgentError(
                f"it holds an object of {place}, which is not an imported class of this package or "
                "of the agent's own"
            )
        return found


def _found(place: str, root_class: type[Any]) -> type[Any] | None:
    """Return an imported class of this package or of the root's own, or None."""
    module, _, qualname = place.partition(":")
    package = root_class.__module__.partition(".")[0]
    own = package != "agents" and f"{module}.".startswith(f"{package}.")
    found: Any = sys.modules.get(module) if own or module.startswith(TRUSTED) else None
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) and found.__module__ == module else None


def _place(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _order(array: NDArray[Any]) -> list[int]:
    """Return the axes of an array from the slowest to the fastest."""
    return sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))


def _memory(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array with its axes in the order in which it lies in memory."""
    memory: NDArray[Any] = array.transpose(_order(array))
    return memory


def _generator(state: dict[str, Any]) -> Rng:
    """Return a generator in the given state."""
    kind = state["bit_generator"]
    require(kind in BIT_GENERATORS, "an unknown generator", kind)
    made = np.random.Generator(getattr(np.random, kind)(0))
    made.bit_generator.state = state
    return made


def _registered(header: dict[str, Any]) -> type[Saveable]:
    """Return the class of a registered agent."""
    from agents.registry import find_class, names

    name = header["agent"]
    cls = find_class(name) if name in names() else None
    if not (isinstance(cls, type) and issubclass(cls, Saveable) and _place(cls) == header["class"]):
        raise SavedAgentError(
            f"it was saved by {header['class']}, which is not registered under {name!r}: "
            "load it with load(path, agent_class=...)"
        )
    return cls


def _digest(header: str, arrays: dict[str, NDArray[Any]]) -> str:
    found = hashlib.sha256(header.encode())
    for key in sorted(arrays):
        found.update(arrays[key].tobytes())
    return found.hexdigest()


def _write_atomically(path: Path, data: bytes) -> None:
    """Write a file beside it first: readers see the old file or the new one."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot save {str(path)!r}: there is no folder {str(path.parent)!r}"
        )
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a file, whose sizes are checked first."""
    if not path.is_file():
        raise SavedAgentError("there is no such file")
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise SavedAgentError(f"larger than {MAX_BYTES:,} bytes")
    with path.open("rb") as start:
        header_bytes = int.from_bytes(start.read(8), "little")
    if header_bytes > min(size, MAX_HEADER_BYTES):
        raise SavedAgentError("not a saved agent, or one with too large a header")
    with safe_open(path, framework="numpy") as file:
        about = file.metadata() or {}
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    if about.get("format") != FORMAT:
        raise SavedAgentError("not a saved agent")
    if about["digest"] != _digest(about["header"], arrays):
        raise SavedAgentError("its content is damaged")
    return json.loads(about["header"]), arrays
