"""Agents in files: saved atomically, loaded safely, continued bit for bit.

A saved agent is a NumPy ``.npz`` of plain arrays and one JSON header; no pickle. The header holds
the agent's registered name and settings, the problem, and the state of the random generator before
construction and now: ``load`` makes the same agent again and then puts its state back.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from agents.base import Problem
from agents.plain import (
    generator,
    plain,
    problem_from_plain,
    problem_to_plain,
    put_away,
    take_out,
)

FORMAT = "periodic-gp agent"
VERSION = 1
MAX_BYTES = 2**30
"""Largest file that ``load`` takes, unpacked."""
MAX_HEADER_BYTES = 2**20
"""Largest header: JSON takes many times its length in memory."""
KEYS = {"format", "version", "agent", "class", "settings", "problem", "first_rng", "rng", "state"}

Self = TypeVar("Self", bound="Saveable")


class SavedAgentError(ValueError):
    """A file that is no saved agent, or a damaged one."""


class Saveable:
    """Base of agents that can be saved: remembers what it was made with.

    Subclasses are made with ``(problem, rng, **settings)``, JSON-able settings, and give
    ``state`` and ``restore``. An agent that is not registered under its ``name`` (a class in a
    file of yours) is loaded by ``load(path, agent_class=...)``.
    """

    name: ClassVar[str] = ""
    """The name under which the agent is registered."""
    family: ClassVar[str] = ""
    """Whom it belongs with, such as "GP, periodic"."""

    _problem: Problem
    _rng: np.random.Generator
    _settings: dict[str, Any]
    _first_rng: dict[str, Any]

    def __new__(
        cls: type[Self], problem: Problem, rng: np.random.Generator, **settings: Any
    ) -> Self:
        """Remember the arguments, before anything is drawn from the generator."""
        agent = super().__new__(cls)
        agent._problem, agent._rng, agent._settings = problem, rng, settings
        agent._first_rng = plain(rng.bit_generator.state)
        return agent

    def state(self) -> dict[str, Any]:
        """All that ``update`` and ``act`` have changed: arrays and JSON-able values."""
        raise NotImplementedError

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Write the agent to a file: all of it, or nothing, and only what ``load`` takes.

        Raises:
            SavedAgentError: If it could not be loaded again; what was there before is kept.
        """
        from agents.registry import is_registered

        arrays: dict[str, Any] = {}
        cls = type(self)
        header = {
            "format": FORMAT,
            "version": VERSION,
            "agent": self.name if is_registered(self.name, cls) else "",
            "class": f"{cls.__module__}:{cls.__qualname__}",
            "settings": self._settings,
            "problem": put_away(problem_to_plain(self._problem), arrays),
            "first_rng": self._first_rng,
            "rng": plain(self._rng.bit_generator.state),
            "state": put_away(self.state(), arrays),
        }
        try:
            text = json.dumps(header)
        except TypeError as error:
            raise SavedAgentError(
                f"cannot save settings that JSON does not know: {error}"
            ) from None
        arrays["header"] = np.frombuffer(text.encode(), dtype=np.uint8)
        _write(Path(path), arrays, cls)


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
        return _revived(Path(path), agent_class)
    except SavedAgentError as error:
        raise SavedAgentError(f"cannot load {str(path)!r}: {error}") from None
    except Exception as error:  # a hostile file can fail anywhere; nothing of it is kept
        raise SavedAgentError(
            f"cannot load {str(path)!r}: damaged, or not a saved agent "
            f"({type(error).__name__}: {error})"
        ) from None


def _revived(path: Path, agent_class: type[Saveable] | None) -> Saveable:
    header, arrays = _read(path)
    cls = agent_class or _registered(header)
    rng = generator(header["first_rng"])
    problem = problem_from_plain(take_out(header["problem"], arrays))
    agent = cls(problem, rng, **header["settings"])
    agent.restore(take_out(header["state"], arrays))
    rng.bit_generator.state = generator(header["rng"]).bit_generator.state
    return agent


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


def _write(path: Path, arrays: dict[str, Any], cls: type[Saveable]) -> None:
    """To a file beside it first: whoever reads sees the old agent or the new one."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot save {str(path)!r}: there is no folder {str(path.parent)!r}"
        )
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        _check(Path(temporary), path, cls)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _check(file: Path, path: Path, cls: type[Saveable]) -> None:
    """Refuse to replace a good file by one that cannot be loaded."""
    try:
        _revived(file, cls)
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
    if not path.is_file():
        raise SavedAgentError("there is no such file")
    if not zipfile.is_zipfile(path):
        raise SavedAgentError("not a saved agent")
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > MAX_BYTES:
            raise SavedAgentError(f"larger than {MAX_BYTES:,} bytes unpacked")
        for member in members:
            _check_size(archive, member)
            if member.filename == "header.npy" and member.file_size > MAX_HEADER_BYTES:
                raise SavedAgentError(f"its header is larger than {MAX_HEADER_BYTES:,} bytes")
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    header = json.loads(arrays.pop("header").tobytes())
    if header.get("format") != FORMAT:
        raise SavedAgentError("not a saved agent")
    if header.get("version") != VERSION:
        raise SavedAgentError(
            f"written in version {header.get('version')!r} of the format, this one reads {VERSION}"
        )
    if set(header) != KEYS:
        raise SavedAgentError("its header has other parts than it should")
    return header, arrays


def _check_size(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """An array must not claim to be larger than what is there to read."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise SavedAgentError(f"unknown array format in {member.filename!r}")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    # In Python integers, which do not overflow.
    size = dtype.itemsize
    for length in shape:
        size *= int(length)
    if dtype.hasobject or not 0 <= size <= member.file_size:
        raise SavedAgentError(f"the array {member.filename!r} is not what it claims to be")
