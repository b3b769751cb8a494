"""Saving of agents to files, and loading from files that are not trusted.

A saved agent is a safetensors file. It contains the arrays of the agent and one JSON header that
lists its objects (:mod:`agents.objects`). Loading runs no code that the file names, and takes time
and memory in proportion to the size of the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import require
from agents.objects import Arrays, SavedAgentError, pack, place_of, unpack

FORMAT = "periodic-gp agent"
"""Name of the format in the metadata of a file."""
MAX_BYTES = 2**30
"""Maximum size of a file that ``load`` accepts, in bytes."""
MAX_HEADER_BYTES = 2**25
"""Maximum size of a header, in bytes. The limit is lower than ``MAX_BYTES``, since parsed JSON
takes many times the memory of its text."""
MAX_NUMBER = 10**9
"""Largest magnitude of a whole number among the settings of a saved agent."""

Self = TypeVar("Self", bound="Saveable")


class Saveable:
    """Base class of agents that can be saved with all their attributes.

    An attribute may be a number, a string, None, an array, a random generator, an object of a class
    of the agent's own package, or a list, tuple, set, deque or dictionary of these. Functions and
    classes cannot be saved: define them as methods or as attributes of the class.

    Args:
        problem: Description of the problem.
        rng: The only source of randomness; it also breaks ties.
        settings: Settings of the agent, which its class documents.
    """

    name: ClassVar[str] = ""
    """Registered name of the agent."""

    _problem: Problem
    _rng: Rng
    _settings: dict[str, Any]

    def __new__(cls: type[Self], problem: Problem, rng: Rng, **settings: Any) -> Self:
        """Store the arguments, so that subclasses do not have to store them."""
        agent = super().__new__(cls)
        agent._problem, agent._rng, agent._settings = problem, rng, settings
        return agent

    def save(self, path: str | Path) -> None:
        """Write the agent to a file for ``load``; an error leaves an existing file unchanged.

        Raises:
            SavedAgentError: If an attribute cannot be saved, or if the agent is too large.
        """
        arrays: Arrays = {}
        header = json.dumps({"agent": self.name, **pack(self, arrays)})
        about = {"format": FORMAT, "header": header, "digest": _digest(header, arrays)}
        data = to_bytes(arrays, about)
        # The file stores the header as a string within JSON, where escapes can double its length.
        if len(data) > MAX_BYTES or len(header) > MAX_HEADER_BYTES // 2:
            raise SavedAgentError(
                "file-too-large",
                f"cannot save {str(path)!r}: the agent must take at most {MAX_BYTES:,} bytes, and "
                f"its header at most {MAX_HEADER_BYTES // 2:,} bytes, got {len(data):,} and "
                f"{len(header):,}",
            )
        _write_atomically(Path(path), data)


def load(path: str | Path, agent_class: type[Saveable] | None = None) -> Any:
    """Return a saved agent, which continues exactly from its saved state.

    Args:
        path: Path of the file.
        agent_class: Class of the agent, if it is not registered. A file can name only registered
            agents, not modules to import.

    Raises:
        SavedAgentError: If the file is missing, too large, damaged, or not a saved agent.
    """
    try:
        header, arrays = _read(Path(path))
        agent = unpack(header, arrays, agent_class or _registered(header))
        for setting, value in agent._settings.items():
            too_large = isinstance(value, int) and abs(value) > MAX_NUMBER
            require(not too_large, f"{setting} must be at most {MAX_NUMBER:,} in magnitude", value)
        return agent
    except SavedAgentError as error:
        raise SavedAgentError(error.code, f"cannot load {str(path)!r}: {error}") from None
    except Exception as error:  # a malicious file can fail anywhere
        raise SavedAgentError(
            "damaged-file",
            f"cannot load {str(path)!r}: the file is damaged, or is not a saved agent "
            f"({type(error).__name__}: {error})",
        ) from None


def _registered(header: dict[str, Any]) -> type[Saveable]:
    """Return the class of the registered agent that a header names."""
    from agents.registry import find_class, names

    name = header["agent"]
    cls = find_class(name) if name in names() else None
    if isinstance(cls, type) and issubclass(cls, Saveable) and place_of(cls) == header["class"]:
        return cls
    raise SavedAgentError(
        "unknown-agent",
        f"the agent is of class {header['class']}, which is not registered under {name!r}: "
        "call load(path, agent_class=...)",
    )


def _digest(header: str, arrays: Arrays) -> str:
    digest = hashlib.sha256(header.encode())
    for key in sorted(arrays):
        digest.update(arrays[key].tobytes())
    return digest.hexdigest()


def _write_atomically(path: Path, data: bytes) -> None:
    """Write a temporary file and rename it, so that an incomplete file is never read."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot save {str(path)!r}: the folder {str(path.parent)!r} does not exist"
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


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file, after checking its size."""
    if not path.is_file():
        raise SavedAgentError("file-not-found", "the file does not exist")
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise SavedAgentError(
            "file-too-large", f"the file has {size:,} bytes, but at most {MAX_BYTES:,} are allowed"
        )
    with path.open("rb") as start:
        header_bytes = int.from_bytes(start.read(8), "little")
    if header_bytes > min(size, MAX_HEADER_BYTES):
        raise SavedAgentError(
            "wrong-format",
            f"the file is not a saved agent, or its header exceeds {MAX_HEADER_BYTES:,} bytes",
        )
    with safe_open(path, framework="numpy") as file:
        about = file.metadata() or {}
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    if about.get("format") != FORMAT:
        raise SavedAgentError("wrong-format", "the file is not a saved agent")
    if about["digest"] != _digest(about["header"], arrays):
        raise SavedAgentError(
            "damaged-file", "the file is damaged: its content does not match its digest"
        )
    return json.loads(about["header"]), arrays
