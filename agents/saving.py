"""Saving agents to files, and loading them without trusting the file.

A saved agent is a safetensors file: its arrays, and one JSON header that lists its objects
(:mod:`agents.objects`). Loading runs no code that the file names, and takes time and memory in
proportion to the size of the file.
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
MAX_BYTES = 2**30
"""Largest file that ``load`` accepts."""
MAX_HEADER_BYTES = 2**25
"""Largest header, since parsed JSON needs many times its length in memory."""
MAX_NUMBER = 10**9
"""Largest whole number among the settings of a saved agent."""

Self = TypeVar("Self", bound="Saveable")


class Saveable:
    """Base of agents that can be saved; every attribute is saved.

    Attributes may be numbers, strings, None, arrays, random generators, lists, tuples, sets, deques
    and dictionaries of these, and objects of classes of the agent's own package. Functions and
    classes cannot be saved: make them methods, or attributes of the class.

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
        """Store the arguments, so that subclasses need not."""
        agent = super().__new__(cls)
        agent._problem, agent._rng, agent._settings = problem, rng, settings
        return agent

    def save(self, path: str | Path) -> None:
        """Write the agent to a file that ``load`` reads; an error leaves an old file unchanged.

        Raises:
            SavedAgentError: If an attribute cannot be saved.
        """
        arrays: Arrays = {}
        header = json.dumps({"agent": self.name, **pack(self, arrays)})
        about = {"format": FORMAT, "header": header, "digest": _digest(header, arrays)}
        data = to_bytes(arrays, about)
        if len(data) > MAX_BYTES or len(header) > MAX_HEADER_BYTES // 2:
            raise SavedAgentError(
                "file-too-large", f"cannot save {str(path)!r}: the agent is too large"
            )
        _write_atomically(Path(path), data)


def load(path: str | Path, agent_class: type[Saveable] | None = None) -> Any:
    """Return a saved agent, which continues exactly where it was saved.

    Args:
        path: The file.
        agent_class: The class of the agent, if it is not registered. Files can name only registered
            agents, not modules to import.

    Raises:
        SavedAgentError: If the file is missing, too large, damaged, or not a saved agent.
    """
    try:
        header, arrays = _read(Path(path))
        agent = unpack(header, arrays, agent_class or _registered(header))
        for setting, value in agent._settings.items():
            too_large = isinstance(value, int) and abs(value) > MAX_NUMBER
            require(not too_large, f"{setting} must be at most {MAX_NUMBER:,}", value)
        return agent
    except SavedAgentError as error:
        raise SavedAgentError(error.code, f"cannot load {str(path)!r}: {error}") from None
    except Exception as error:  # a malicious file can fail anywhere
        raise SavedAgentError(
            "damaged-file",
            f"cannot load {str(path)!r}: damaged, or not a saved agent "
            f"({type(error).__name__}: {error})",
        ) from None


def _registered(header: dict[str, Any]) -> type[Saveable]:
    """Return the class of a registered agent."""
    from agents.registry import find_class, names

    name = header["agent"]
    cls = find_class(name) if name in names() else None
    if isinstance(cls, type) and issubclass(cls, Saveable) and place_of(cls) == header["class"]:
        return cls
    raise SavedAgentError(
        "unknown-agent",
        f"it was saved by {header['class']}, which is not registered under {name!r}: "
        "load it with load(path, agent_class=...)",
    )


def _digest(header: str, arrays: Arrays) -> str:
    digest = hashlib.sha256(header.encode())
    for key in sorted(arrays):
        digest.update(arrays[key].tobytes())
    return digest.hexdigest()


def _write_atomically(path: Path, data: bytes) -> None:
    """Write a file by renaming a temporary one, so that readers never see a part."""
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
        raise SavedAgentError("file-too-large", f"larger than {MAX_BYTES:,} bytes")
    with path.open("rb") as start:
        header_bytes = int.from_bytes(start.read(8), "little")
    if header_bytes > min(size, MAX_HEADER_BYTES):
        raise SavedAgentError("wrong-format", "not a saved agent, or one with too large a header")
    with safe_open(path, framework="numpy") as file:
        about = file.metadata() or {}
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    if about.get("format") != FORMAT:
        raise SavedAgentError("wrong-format", "not a saved agent")
    if about["digest"] != _digest(about["header"], arrays):
        raise SavedAgentError("damaged-file", "its content is damaged")
    return json.loads(about["header"]), arrays
