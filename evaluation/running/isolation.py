"""An agent in a process of its own, in which there is no world.

Each worker forks a *zygote* before it is given anything to run. For every isolated run the zygote
forks an agent's process, which so knows neither the world nor the seed, and talks with the judge
through a socket: the judge sends observations and rewards, the agent answers actions, in JSON. What
the agent says is never unpickled, and the time it takes is measured by the judge.

It keeps an agent from the harness's objects, not from the machine: it runs under the same user.
Run strangers' code in a container.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import secrets
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from agents.base import Problem
from agents.registry import AgentSpec, find_class, is_built_in
from evaluation.running.channel import plain
from evaluation.running.process import (
    adopt_orphans,
    close_files,
    end_children,
    limit_for_good,
    worded,
)

MAX_ANSWER_BYTES = 2**20
"""An action is small."""
MAX_QUESTION_BYTES = 2**30
_LENGTH = struct.Struct("<Q")
"""Before every message: how many bytes it has."""
_zygote: socket.socket | None = None
"""The line to this worker's zygote, where there is one."""


class AgentFailedError(Exception):
    """An agent that raised, or whose process ended: what it said."""


class IsolatedAgent:
    """An agent behind a socket, asked like ``AgentChannel``.

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
        self.seconds: list[float] = []
        self._token = ""
        self._line = new_agent(preload_of(spec.name))
        # The judge's own words may be pickled; the agent's may not.
        send(self._line, pickle.dumps((spec, problem, rng, learned, memory_mb, cpu_seconds)))
        self._answer()

    def act(self, reward: float | None, observation: NDArray[np.float64] | None) -> Any:
        """Say what the last action gave (None at the start), and ask for the next one."""
        shown = None if observation is None else observation.tolist()
        # An answer must repeat what only the question says: it cannot be given ahead.
        self._token = secrets.token_hex(8)
        start = time.perf_counter()
        send(self._line, json.dumps([reward, shown, self._token]).encode())
        action = self._answer()
        took = time.perf_counter() - start
        if observation is None:
            self.seconds[-1] += took
        else:
            self.seconds.append(took)
        return action

    def _answer(self) -> Any:
        try:
            kind, value, *token = json.loads(receive(self._line, MAX_ANSWER_BYTES))
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


def open_zygote() -> None:
    """To be called by a worker before it is given any run."""
    global _zygote
    if not (hasattr(socket, "send_fds") and hasattr(os, "fork")):
        return
    _zygote, theirs = socket.socketpair()
    if os.fork() == 0:
        _zygote.close()
        _fork_agents(theirs)
    theirs.close()


def new_agent(preload: Sequence[str]) -> socket.socket:
    """A line to a new agent's process; the one before it is ended."""
    if _zygote is None:
        raise RuntimeError("isolated agents need worker processes on a system that can fork")
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(_zygote, [json.dumps(list(preload)).encode()], [theirs.fileno()])
    return ours


def zygote_file() -> set[int]:
    """The line to the zygote, where there is one."""
    return set() if _zygote is None else {_zygote.fileno()}


def _fork_agents(control: socket.socket) -> None:
    """Fork one agent's process after the other, until the worker ends."""
    try:
        # What an agent prints is not shown: it could forge the judge's words on the screen.
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nowhere, standard)
        close_files({control.fileno()})
        adopt_orphans()
        while True:
            wish, lines, _, _ = socket.recv_fds(control, 4096, 1)
            end_children()
            if not wish:
                return
            for module in json.loads(wish):
                import_module(module)
            if os.fork() == 0:
                control.close()
                _serve_agent(socket.socket(fileno=lines[0]))
            os.close(lines[0])
    finally:
        os._exit(0)


def _serve_agent(line: socket.socket) -> None:
    """Make the agent, and answer the judge's questions until the judge hangs up."""
    try:
        spec, problem, rng, learned, memory_mb, cpu_seconds = pickle.loads(
            receive(line, MAX_QUESTION_BYTES)
        )
        limit_for_good(cpu_seconds, memory_mb)
        with threadpool_limits(1):
            agent = spec.make(problem, rng, learned)
            send(line, b'["ready",null,""]')
            observation: Any = None
            action: Any = None
            while True:
                reward, shown, token = json.loads(receive(line, MAX_QUESTION_BYTES))
                if reward is not None:
                    agent.update(observation, action, reward)
                observation = None if shown is None else np.array(shown)
                action = None if observation is None else agent.act(observation)
                answer = plain(action)
                array = isinstance(answer, np.ndarray)
                said = ["array", answer.tolist(), token] if array else ["value", answer, token]
                send(line, json.dumps(said).encode())
    except (EOFError, OSError):
        pass
    except BaseException as error:  # an agent can fail in any way, sys.exit() included
        memory = isinstance(error, MemoryError)
        reason = "the agent took more memory than it may" if memory else worded(error)
        send(line, json.dumps(["error", reason]).encode())
    finally:
        os._exit(0)


def send(line: socket.socket, message: bytes) -> None:
    """Send one message."""
    line.sendall(_LENGTH.pack(len(message)) + message)


def receive(line: socket.socket, max_bytes: int) -> bytes:
    """Wait for one message, and refuse one that is too long."""
    (length,) = _LENGTH.unpack(_exactly(line, _LENGTH.size))
    if length > max_bytes:
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
