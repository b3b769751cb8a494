"""Agents defined in a notebook or script, sent to workers by value.

Workers cannot import a class of ``__main__``. The class is therefore pickled by cloudpickle,
together with its dependencies in ``__main__``. Each worker unpickles the class and adds it to the
worker's module ``__main__``.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle

MAIN = "__main__:"
"""Prefix of the names of agents that are defined in a notebook or script."""
_INCIDENTAL = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__annotate_func__"),
    *("__firstlineno__", "__static_attributes__", "__abstractmethods__", "_abc_impl"),
}
"""Attributes of a class that do not affect its behaviour."""


_defined: dict[str, bytes] = {}
"""Pickled agents that ``define`` has added to ``__main__``, by name."""


def pickled(name: str) -> bytes:
    """Return the pickled class or function with a name such as ``__main__:MyAgent``."""
    return bytes(cloudpickle.dumps(getattr(sys.modules["__main__"], name.removeprefix(MAIN))))


def define(name: str, code: bytes) -> None:
    """Add a pickled agent to ``__main__``, unless this process has the same definition already.

    The workers of a cluster outlive a sweep and may have an earlier definition, which is replaced.
    """
    own, main = name.removeprefix(MAIN), sys.modules["__main__"]
    if code and (_defined.get(own, code) != code or not hasattr(main, own)):
        setattr(main, own, cloudpickle.loads(code))
        _defined[own] = code


def fingerprint(made: Any) -> str:
    """Return the SHA-256 of a class or function and of its dependencies in ``__main__``.

    The hash depends neither on the session nor on the position of the code.
    """
    content = hashlib.sha256()
    for part in _parts(made, set()):
        content.update(part + b"\0")
    return content.hexdigest()


def _parts(value: Any, seen: set[int]) -> Iterator[bytes]:
    """Yield the content of a value and of its dependencies, as bytes."""
    if isinstance(value, FunctionType | type | list):  # these may contain themselves
        yield value.__name__.encode() if hasattr(value, "__name__") else b"[]"
        if id(value) in seen:
            return
        seen.add(id(value))
    used: list[Any] = []
    if isinstance(value, CodeType):
        yield value.co_code + repr((value.co_names, value.co_varnames)).encode()
        used = list(value.co_consts)
    elif isinstance(value, FunctionType) and value.__module__ == "__main__":
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        names = sorted(_names(value.__code__) & value.__globals__.keys())
        used = [value.__code__, value.__defaults__, value.__kwdefaults__, *cells, *names]
        used += [value.__globals__[name] for name in names]
    elif isinstance(value, type) and value.__module__ == "__main__":
        own = [(k, vars(value)[k]) for k in sorted(vars(value).keys() - _INCIDENTAL)]
        used = [*value.__bases__, *(part for item in own for part in item)]
    elif isinstance(value, classmethod | staticmethod):
        used = [value.__func__]
    elif isinstance(value, property):
        used = [value.fget, value.fset]
    elif isinstance(value, tuple | list):
        used = list(value)
    elif isinstance(value, set | frozenset):
        used = sorted(value, key=repr)
    elif isinstance(value, ModuleType):
        yield value.__name__.encode()
    else:
        with contextlib.suppress(Exception):  # workers cannot receive unpicklable values
            yield pickle.dumps(value, protocol=4)
    for part in used:
        yield from _parts(part, seen)


def _names(code: CodeType) -> set[str]:
    """Return the names that a function and its nested functions look up."""
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*inner)
