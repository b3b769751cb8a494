"""Agents that are defined in a notebook or script: sent to workers by value.

A class of ``__main__`` is in no module that a worker could import. It is pickled with all that it
uses there (cloudpickle), and a worker puts it into its own ``__main__``.
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
"""Begins the names of such agents."""
_INCIDENTAL = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__annotate_func__"),
    *("__firstlineno__", "__static_attributes__", "__abstractmethods__", "_abc_impl"),
}
"""Attributes of a class that do not decide what it does, or where it was typed."""


_defined: dict[str, bytes] = {}
"""Agents that ``define`` has put into ``__main__``, by value."""


def pickled(name: str) -> bytes:
    """Return an agent of ``__main__`` by value: workers cannot import it."""
    return bytes(cloudpickle.dumps(getattr(sys.modules["__main__"], name.removeprefix(MAIN))))


def define(name: str, code: bytes) -> None:
    """Put a pickled agent where its name says, unless this is the process that defined it.

    The workers of a cluster outlive a sweep, and may have an earlier definition.
    """
    own, main = name.removeprefix(MAIN), sys.modules["__main__"]
    if code and (_defined.get(own, code) != code or not hasattr(main, own)):
        setattr(main, own, cloudpickle.loads(code))
        _defined[own] = code


def fingerprint(made: Any) -> str:
    """Return the SHA-256 of a class or function and of all that it uses of ``__main__``.

    It is the same in every session, wherever the code was typed.
    """
    content = hashlib.sha256()
    for part in _parts(made, set()):
        content.update(part + b"\0")
    return content.hexdigest()


def _parts(value: Any, seen: set[int]) -> Iterator[bytes]:
    """Yield what a value does, with what it uses."""
    if isinstance(value, FunctionType | type | list):  # these may lead back to themselves
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
        with contextlib.suppress(Exception):  # what cannot be pickled cannot be sent either
            yield pickle.dumps(value, protocol=4)
    for part in used:
        yield from _parts(part, seen)


def _names(code: CodeType) -> set[str]:
    """Return the names that a function and those within it look up."""
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*inner)
