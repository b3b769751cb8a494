"""Agents in files: saved atomically, loaded safely, continued bit for bit.

A saved agent is a safetensors file: plain arrays, none larger than the file, and one JSON header;
no pickle. The header holds the agent's registered name and settings, the problem, and the state of
the random generator before construction and now: ``load`` makes the same agent again and then puts
its state back.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from agents.arrays import Rng
from agents.base import Problem
from agents.plain import generator, plain, problem_from_plain, problem_to_plain, put_away, take_out
from agents.state import Stateful

FORMAT = "periodic-gp agent"
VERSION = 2
MAX_BYTES = 2**30
"""Largest file that ``load`` takes."""
MAX_HEADER_BYTES = 2**20
"""Largest header: JSON takes many times its length in memory."""
KEYS = {"agent", "class", "settings", "problem", "first_rng", "rng", "state"}

Self = TypeVar("Self", bound="Saveable")


class SavedAgentError(ValueError):
    """A file that is no saved agent, or a damaged one."""


class Saveable(Stateful):
    """Base of agents that can be saved: remembers what it was made with.

    ``kept`` names what ``update`` and ``act`` change (:class:`agents.state.Stateful`). An agent
    that is not registered under its ``name`` (a class in a file of yours) is loaded by
    ``load(path, agent_class=...)``.

    Args:
        problem: What is known.
        rng: The only source of randomness; it also breaks ties.
        settings: Those of the agent, which its class documents; JSON-able.
    """

    name: ClassVar[str] = ""
    """The name under which the agent is registered."""
    """Whom it belongs with, such as "GP, periodic"."""

    _problem: Problem
    _rng: Rng
    _settings: dict[str, Any]
    _first_rng: dict[str, Any]

    def __new__(cls: type[Self], problem: Problem, rng: Rng, **settings: Any) -> Self:
        """Remember the arguments, before anything is drawn from the generator."""
        agent = super().__new__(cls)
        agent._problem, agent._rng, agent._settings = problem, rng, settings
        agent._first_rng = plain(rng.bit_generator.state)
        return agent

    def save(self, path: str | Path) -> None:
        """Write the agent to a file: all of it, or nothing, and only what ``load`` takes.

        Raises:
            SavedAgentError: If it could not be loaded again; what was there before is kept.
        """
        arrays: dict[str, Any] = {}
        header, cls = packed(self, arrays), type(self)
        try:
            text = json.dumps(header)
        except TypeError as error:
            raise SavedAgentError(
                f"cannot save settings that JSON does not know: {error}"
            ) from None
        for odd in (array.dtype for array in arrays.values() if array.dtype.kind not in "biuf"):
            raise SavedAgentError(f"cannot save an array that does not hold numbers: {odd}")
        said = {"format": FORMAT, "version": str(VERSION), "header": text}
        write_atomically(Path(path), to_bytes(arrays, said), lambda file: _check(file, path, cls))


def packed(agent: Saveable, arrays: dict[str, Any]) -> dict[str, Any]:
    """All of an agent: a header for JSON, and arrays, which are added to ``arrays``."""
    from agents.registry import find_class, names

    cls = type(agent)
    return {
        "agent": agent.name if agent.name in names() and find_class(agent.name) is cls else "",
        "class": f"{cls.__module__}:{cls.__qualname__}",
        "settings": agent._settings,
        "problem": put_away(problem_to_plain(agent._problem), arrays),
        "first_rng": agent._first_rng,
        "rng": plain(agent._rng.bit_generator.state),
        "state": put_away(agent.state(), arrays),
    }


def unpacked(header: dict[str, Any], arrays: dict[str, Any], cls: type[Self]) -> tuple[Self, Rng]:
    """The agent that was packed, and the generator that it draws from."""
    rng = generator(header["first_rng"])
    problem = problem_from_plain(take_out(header["problem"], arrays))
    agent = cls(problem, rng, **header["settings"])
    agent.restore(take_out(header["state"], arrays))
    rng.bit_generator.state = generator(header["rng"]).bit_generator.state
    return agent, rng


def load(path: str | Path, agent_class: type[Saveable] | None = None) -> Any:
    """The agent that ``save`` wrote; it goes on as if nothing had happened.

    Args:
        path: The file.
        agent_class: What to make of it, for agents that are not registered. A file can name
            registered agents only, never a place to import from.

    Raises:
        SavedAgentError: If the file is missing, too large, damaged, or holds something else.
    """
    try:
        return _made_again(Path(path), agent_class)
    except SavedAgentError as error:
        raise SavedAgentError(f"cannot load {str(path)!r}: {error}") from None
    except Exception as error:  # a hostile file can fail anywhere; nothing of it is kept
        raise SavedAgentError(
            f"cannot load {str(path)!r}: damaged, or not a saved agent "
            f"({type(error).__name__}: {error})"
        ) from None


def _made_again(path: Path, agent_class: type[Saveable] | None) -> Saveable:
    header, arrays = _read(path)
    return unpacked(header, arrays, agent_class or _registered(header))[0]


def _registered(header: dict[str, Any]) -> type[Saveable]:
    from agents.registry import find_class, names

    name = header["agent"]
    if name not in names():
        raise SavedAgentError(
            f"it was saved by {header['class']}, which is not registered under {name!r}: "
            "load it with load(path, agent_class=...)"
        )
    cls = find_class(name)
    if not (isinstance(cls, type) and issubclass(cls, Saveable)):
        raise SavedAgentError(f"{name} cannot be saved")
    return cls


def write_atomically(path: Path, data: bytes, check: Callable[[Path], object]) -> None:
    """Write a file beside it first, and check that: whoever reads sees the old one or the new."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot save {str(path)!r}: there is no folder {str(path.parent)!r}"
        )
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        check(Path(temporary))
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _check(file: Path, path: str | Path, cls: type[Saveable]) -> None:
    """Refuse to replace a good file by one that cannot be loaded."""
    try:
        _made_again(file, cls)
    except Exception as error:
        raise SavedAgentError(
            f"cannot save {str(path)!r}: the agent could not be loaded again "
            f"({type(error).__name__}: {error})"
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a file."""
    _check_bytes(path)
    with safe_open(path, framework="numpy") as file:
        said = file.metadata() or {}
        if said.get("format") != FORMAT:
            raise SavedAgentError("not a saved agent")
        if said.get("version") != str(VERSION):
            raise SavedAgentError(
                f"written in version {said.get('version')} of the format, this one reads {VERSION}"
            )
        header = json.loads(said["header"])
        if set(header) != KEYS:
            raise SavedAgentError("its header has other parts than it should")
        return header, {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118


def _check_bytes(path: Path) -> None:
    """Refuse what is no such file, or would take too much memory, before it is opened."""
    if not path.is_file():
        raise SavedAgentError("there is no such file")
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise SavedAgentError(f"larger than {MAX_BYTES:,} bytes")
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(b"PK"):
        raise SavedAgentError("it was written by version 0.1, whose files cannot be read any more")
    header_bytes = int.from_bytes(start, "little")
    if len(start) < 8 or header_bytes > size:
        raise SavedAgentError("not a saved agent")
    if header_bytes > MAX_HEADER_BYTES:
        raise SavedAgentError(f"its header is larger than {MAX_HEADER_BYTES:,} bytes")
