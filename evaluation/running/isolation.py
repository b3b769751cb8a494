"""An agent in a process of its own, in which there is no world.

Each worker forks a *zygote* before it is given anything to run. For every run of an isolated run
the zygote forks an agent's process, which so knows neither the world nor the seed, and talks with
the judge through a socket: the judge tells observations and rewards, the agent answers actions, in
JSON. What the agent says is never unpickled, and the time it takes is measured by the judge.

It keeps an agent from the harness's objects, not from the machine: it runs under the same user.
Run strangers' code in a container.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import pickle
import secrets
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from agents.base import Problem
from agents.registry import AgentSpec, find_class, is_built_in
from evaluation.running.channel import plain

if sys.platform != "win32":
    import resource

MOST_ANSWER = 2**20
"""Bytes of an answer: an action is small."""
_LENGTH = struct.Struct("<Q")


class AgentFailedError(Exception):
    """An agent that raised, or whose process ended: what it said."""


class Zygote:
    """A process that forks agents' processes, one at a time."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        if os.fork() == 0:
            self._control.close()
            _raise_agents(theirs)
        theirs.close()

    def fileno(self) -> int:
        """Of the line to it."""
        return self._control.fileno()

    def new_agent(self, preload: Sequence[str]) -> socket.socket:
        """A line to a new agent's process; the one before it is ended."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [json.dumps(list(preload)).encode()], [theirs.fileno()])
        return ours


_zygote: Zygote | None = None


def open_zygote() -> None:
    """To be called by a worker before it is given any run."""
    global _zygote
    if hasattr(socket, "send_fds") and hasattr(os, "fork"):
        _zygote = Zygote()


def zygote_file() -> set[int]:
    """The line to the zygote, where there is one."""
    return set() if _zygote is None else {_zygote.fileno()}


class IsolatedAgent:
    """An agent behind a socket, asked and told like ``AgentChannel``.

    Attributes:
        agent: None: it is elsewhere.
        seconds: What each answer took: learning from the last reward and the next decision.
    """

    agent: None = None

    def __init__(
        self,
        spec: AgentSpec,
        problem: Problem,
        rng: np.random.Generator,
        learned: Mapping[str, NDArray[Any]] | None = None,
        *,
        memory_mb: float = math.inf,
        cpu_seconds: float = math.inf,
    ) -> None:
        if _zygote is None:
            raise RuntimeError("isolated agents need worker processes on a system that can fork")
        self.seconds: list[float] = []
        self._token = ""
        self._line = _zygote.new_agent(preload_of(spec.name))
        # The judge's own words may be pickled; the agent's may not.
        _send(self._line, pickle.dumps((spec, problem, rng, learned, memory_mb, cpu_seconds)))
        self._answer()

    def act(self, reward: float | None, observation: NDArray[np.float64] | None) -> Any:
        """Tell what the last action gave (None at the start), and ask for the next one."""
        shown = None if observation is None else observation.tolist()
        # An answer must repeat what only the question says: it cannot be given ahead.
        self._token = secrets.token_hex(8)
        start = time.perf_counter()
        _send(self._line, json.dumps([reward, shown, self._token]).encode())
        action = self._answer()
        took = time.perf_counter() - start
        if observation is None:
            self.seconds[-1] += took
        else:
            self.seconds.append(took)
        return action

    def _answer(self) -> Any:
        try:
            kind, value, *token = json.loads(_receive(self._line, MOST_ANSWER))
            if kind == "array":
                value = np.array(value)
        except (EOFError, OSError):
            raise AgentFailedError("the agent's process ended") from None
        except Exception:
            raise AgentFailedError("the agent's process gave no answer to the question") from None
        if kind == "error":
            raise AgentFailedError(str(value)[:2000])
        if token != [self._token]:
            raise AgentFailedError("the agent's process spoke before it was asked")
        return value


def preload_of(name: str) -> Sequence[str]:
    """Modules worth importing once for all processes of an agent of ours."""
    if not is_built_in(name):
        return ()  # the code of others is run by agents' processes only
    try:
        return tuple(getattr(find_class(name), "preload", ()))
    except Exception:  # the agent's process will say what is missing
        return ()


def _raise_agents(control: socket.socket) -> None:
    """The zygote's life: it ends with its worker."""
    try:
        # What an agent prints is not shown: it could forge the judge's words on the screen.
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nowhere, standard)
        close_files({control.fileno()})
        _adopt_orphans()
        while True:
            wish, lines, _, _ = socket.recv_fds(control, 4096, 1)
            _end_children()
            if not wish:
                return
            for module in json.loads(wish):
                import_module(module)
            if os.fork() == 0:
                control.close()
                _live(socket.socket(fileno=lines[0]))
            os.close(lines[0])
    finally:
        os._exit(0)


def close_files(kept: set[int]) -> None:
    """Close what was inherited but for these: the worker's lines to its driver are not for agents.

    What comes through them is unpickled there.
    """
    edges = [2, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for low, high in pairwise(edges):
        os.closerange(low + 1, high)


def hide_from_others() -> None:
    """Let no other process of this user look into this one's memory and files (Linux).

    It does not keep out root: do not run strangers' agents as root.
    """
    _prctl(4, 0)  # PR_SET_DUMPABLE


def _adopt_orphans() -> None:
    """Children of an agent whose parent has ended become ours, so that they can be ended."""
    _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(Exception):  # not on this system
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _end_children() -> None:
    """The agent before, and whatever it has started."""
    me = os.getpid()
    while True:
        try:
            with open(f"/proc/{me}/task/{me}/children") as file:
                children = [int(child) for child in file.read().split()]
        except OSError:  # not on this system: the agent itself is waited for
            children = []
        for child in children:
            os.kill(child, signal.SIGKILL)
        try:
            os.waitpid(-1, 0 if children else os.WNOHANG)
        except ChildProcessError:
            return


def _live(line: socket.socket) -> None:
    """The agent's life: it ends when the judge hangs up."""
    try:
        told = pickle.loads(_receive(line, 2**30))
        spec, problem, rng, learned, memory_mb, cpu_seconds = told
        _limit(memory_mb, cpu_seconds)
        with threadpool_limits(1):
            agent = spec.make(problem, rng, learned)
            _send(line, b'["ready",null,""]')
            observation: Any = None
            action: Any = None
            while True:
                reward, shown, token = json.loads(_receive(line, 2**30))
                if reward is not None:
                    agent.update(observation, action, reward)
                observation = None if shown is None else np.array(shown)
                action = None if observation is None else agent.act(observation)
                _send(line, _worded(plain(action), token))
    except (EOFError, OSError):
        pass
    except BaseException as error:  # an agent can fail in any way, sys.exit() included
        _send(line, json.dumps(["error", _told(error)]).encode())
    finally:
        os._exit(0)


def _told(error: BaseException) -> str:
    """With the place: the author of the agent needs it."""
    if isinstance(error, MemoryError):
        return "the agent took more memory than it may"
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(where.filename)}, line {where.lineno}"
    return f"{type(error).__name__}: {error} ({place})"


def _worded(action: Any, token: str) -> bytes:
    if isinstance(action, np.ndarray):
        return json.dumps(["array", action.tolist(), token]).encode()
    return json.dumps(["value", action, token]).encode()


def _limit(memory_mb: float, cpu_seconds: float) -> None:
    """Of the whole process, never to be raised again. The judge's clock is the stricter one."""
    if math.isfinite(memory_mb) and os.path.exists("/proc/self/statm"):
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        most = used + int(memory_mb * 2**20)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if math.isfinite(cpu_seconds):
        most = math.ceil(cpu_seconds) + 5
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))


def _send(line: socket.socket, message: bytes) -> None:
    line.sendall(_LENGTH.pack(len(message)) + message)


def _receive(line: socket.socket, most: int) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(line, _LENGTH.size))
    if length > most:
        raise ValueError("too long a message")
    return _exactly(line, length)


def _exactly(line: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = line.recv(min(size, 2**20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
