"""Sandbox for untrusted agents: a new Python process inside bubblewrap (``bwrap``).

The world, its seed and the regret stay in the worker. The agent's process (``sandboxed.py``) first
receives the problem. It then receives observations and answers with actions; each message is one
line of JSON. The process has separate namespaces (user, pid, mount, ipc, network, host name), no
privileges, a read-only system and Python environment, and an empty home and ``/tmp`` in memory. It
can read no files of the user except the agent's code, and inherits no environment variables except
those that select BLAS kernels. The process is killed when its worker ends.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pickle
import secrets
import shutil
import subprocess
import sys
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent, Problem
from agents.registry import AgentSpec, place_of
from evaluation.keys import OURS, ROOT
from evaluation.play import Arrived

DID_NOT_START = "the sandbox did not start"
"""Prefix of the failure reason of a run whose sandbox did not start."""
MAX_TEMPORARY_BYTES = 2**26
"""Size limit that applies separately to ``/tmp`` and to the home folder of the agent."""
MAX_ANSWER_BYTES = 2**20
"""Maximum length of an answer of the agent's process."""
_HOME = "/home/agent"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
    *("/etc/localtime", "/sys/devices/system/cpu"),
)
"""System files for the linker, for the time zone, and for the number of processors."""
_BLAS = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS")
"""Environment variables that affect rounding.

The sandbox keeps these variables, so that results are the same inside and outside the sandbox.
"""
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_NAMESPACES = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"),
    *("--hostname", "agent", "--cap-drop", "ALL", "--new-session", "--die-with-parent"),
)


class SandboxError(Exception):
    """Raised if the sandbox does not start; the message begins with ``DID_NOT_START``."""


class AgentFailedError(Exception):
    """Raised if the agent raises an error or its process ends; the message is the reason."""


class SandboxedAgent:
    """Agent in a sandbox, with the interface ``Player`` of ``play``.

    Attributes:
        agent: None, since the agent runs in another process.
        seconds: Seconds for each decision, including its updates, as measured by the worker.

    Args:
        spec: Agent with its settings.
        problem: Information about the world that is available to the agent.
        rng: Random generator of the agent.
        learned: Arrays learned in the agent's training, if any.
        memory_mb: Memory limit of the agent, in addition to the memory of the interpreter.
        code: Pickled class, if it is defined in a notebook or script; otherwise empty.
    """

    agent: Agent | None = None

    def __init__(
        self,
        spec: AgentSpec,
        problem: Problem,
        rng: np.random.Generator,
        learned: Mapping[str, NDArray[Any]] | None = None,
        *,
        memory_mb: float,
        code: bytes = b"",
    ) -> None:
        self.seconds: list[float] = []
        self._token = ""
        spec = _located(spec)
        self._process = self._start(spec)
        weakref.finalize(self, _end, self._process)
        if self._line() != b"started\n":
            raise SandboxError(": ".join([DID_NOT_START, *self._last_words()]))
        # Pickle is safe only in this direction: the worker never unpickles what the agent sends.
        self._write(pickle.dumps((spec, problem, rng, learned, memory_mb, code)))
        self._answer()

    def act(self, arrived: Arrived, observation: NDArray[np.float64] | None) -> Any:
        """Send rewards and the next observation; return the action."""
        values = None if observation is None else observation.tolist()
        # Each answer must repeat the random token of its request. An agent therefore cannot
        # answer before it has received the request.
        self._token = secrets.token_hex(8)
        start = time.perf_counter()
        self._write(json.dumps([arrived, values, self._token]).encode() + b"\n")
        action = self._answer()
        seconds = time.perf_counter() - start
        if observation is None:
            self.seconds[-1] += seconds
        else:
            self.seconds.append(seconds)
        return np.array(action) if isinstance(action, list) else action

    def _start(self, spec: AgentSpec) -> subprocess.Popen[bytes]:
        own = _own_places(spec)
        folders = [os.path.dirname(place) for place in own]
        python = own_python("from evaluation.sandboxed import main; main()", folders=folders)
        command = [shutil.which("bwrap") or "bwrap", *_NAMESPACES, *_mounts(own), "--"]
        try:
            return subprocess.Popen(
                [*command, *python],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},
            )
        except OSError as error:
            raise SandboxError(f"{DID_NOT_START}: {error}") from None

    def _write(self, data: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError):  # the next read reports that the process ended
            stdin.write(data)
            stdin.flush()

    def _line(self) -> bytes:
        stdout = self._process.stdout
        assert stdout is not None
        return stdout.readline(MAX_ANSWER_BYTES)

    def _answer(self) -> Any:
        line = self._line()
        if not line:
            raise AgentFailedError("the agent's process ended without an answer")
        with contextlib.suppress(ValueError):
            match json.loads(line):
                case ["action", action, self._token]:
                    return action
                case ["action", _, str()]:
                    raise AgentFailedError(
                        "the agent's process sent an answer without the token of the current "
                        "request: an answer must repeat the token of its request, and must not be "
                        "sent before the request is received"
                    )
                case ["error", str(reason)]:
                    # A reason with a forged prefix would count as a failure of the sandbox.
                    forged = reason.startswith(DID_NOT_START)
                    raise AgentFailedError(f"the agent reports: {reason}" if forged else reason)
        raise AgentFailedError(
            "the agent's process gave an invalid answer: expected an action or an error as one "
            f"line of JSON, with at most {MAX_ANSWER_BYTES:,} bytes"
        )

    def _last_words(self) -> list[str]:
        _, errors = self._process.communicate()
        return errors.decode(errors="replace").strip().splitlines()[-1:]


def own_python(code: str, *, folders: Sequence[str] = ()) -> list[str]:
    """Return the command of a Python process that does not import from the current folder.

    Args:
        code: Code to run; ``sys`` is already imported.
        folders: Folders to append to ``sys.path``, in addition to the folder of this project.
    """
    path = f"import sys; sys.path += {[ROOT, *folders]!r}; "
    return [sys.executable, "-I", "-B", "-c", path + code]


def available() -> bool:
    """Return True if sandboxes work on this system."""
    return not why_not()


@functools.cache
def why_not() -> str:
    """Return the reason why sandboxes do not work, with a remedy; an empty string if they work."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return "bubblewrap is not installed (command: bwrap, Debian package: bubblewrap)"
    command = [bwrap, *_NAMESPACES, *_mounts([]), "--", sys.executable, "-I", "-c", ""]
    done = subprocess.run(command, env={}, capture_output=True, text=True, check=False)
    if not done.returncode:
        return ""
    reason = ": ".join([DID_NOT_START, *done.stderr.strip().splitlines()[-1:]])
    return f"{reason} (bubblewrap 0.8 or newer and user namespaces are required)"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()


def _located(spec: AgentSpec) -> AgentSpec:
    """Return the spec of an agent, with an absolute path if the agent is defined in a file."""
    place, colon, attribute = spec.name.partition(":")
    if not place.endswith(".py"):
        return spec
    return replace(spec, name=f"{os.path.realpath(place)}{colon}{attribute}")


def _own_places(spec: AgentSpec) -> list[str]:
    """Return the file or package folders of a third-party agent; an empty list for other agents."""
    place = place_of(spec.name).partition(":")[0]
    if place.endswith(".py"):
        return [place]
    top = place.partition(".")[0]
    if top in (*OURS, "__main__"):
        return []
    package = find_spec(top)
    places = (
        [*(package.submodule_search_locations or ())] or [package.origin or ""] if package else []
    )
    return [os.path.realpath(place) for place in places if place]


def _mounts(own: Iterable[str]) -> Iterator[str]:
    """Yield the options of ``bwrap`` for visible files and environment variables."""
    for place in _SYSTEM:
        if os.path.islink(place):
            yield from ("--symlink", os.readlink(place), place)
        elif os.path.isdir(place):
            yield from ("--ro-bind", place, place)
    for place in _SETTINGS:
        yield from ("--ro-bind-try", place, place)
    for place in ("/tmp", _HOME):
        yield from ("--size", str(MAX_TEMPORARY_BYTES), "--tmpfs", place)
    yield from ("--proc", "/proc", "--dev", "/dev")
    for place in _outermost([*_environment(), *own]):
        yield from ("--ro-bind", place, place)
    # Otherwise, root in the user namespace could write to files owned by root, such as /proc/sys.
    for place in ("/proc", "/dev", "/"):
        yield from ("--remount-ro", place)
    yield from ("--clearenv", "--chdir", _HOME)
    variables = {"HOME": _HOME, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    variables |= dict.fromkeys(_THREADS, "1")
    variables |= {name: os.environ[name] for name in _BLAS if name in os.environ}
    for name, value in variables.items():
        yield from ("--setenv", name, value)


@functools.cache
def _environment() -> tuple[str, ...]:
    """Return the files and folders that an isolated Python process needs."""
    printed = subprocess.run(
        own_python("print(*sys.path, sep='\\n')"), capture_output=True, text=True, check=False
    )
    folders = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
    # Only the packages of the project are visible, not the other files in its folder.
    folders |= set(printed.stdout.splitlines()) - {ROOT}
    folders |= {f"{ROOT}/{package}" for package in OURS} | set(_links(sys.executable))
    return tuple(filter(os.path.exists, folders))


def _outermost(places: Iterable[str]) -> Iterator[str]:
    """Yield the paths that are not inside a system folder or inside another path of the list."""
    seen = list(_SYSTEM)
    for place in sorted(places):
        if not any(place == outer or place.startswith(f"{outer}/") for outer in seen):
            seen.append(place)
            yield place


def _links(path: str) -> Iterator[str]:
    """Yield the targets of a chain of symbolic links."""
    while os.path.islink(path):
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
        yield path
