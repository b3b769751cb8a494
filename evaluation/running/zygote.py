"""The process that agents' processes are forked from, and what happens in those.

It is forked by a worker before the worker is given anything to run, so that neither it nor an
agent's process knows a world or a seed.
"""

from __future__ import annotations

import json
import os
import pickle
import socket
import struct
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from evaluation.running.channel import plain
from evaluation.running.process import (
    adopt_orphans,
    close_files,
    end_children,
    limit_for_good,
    worded,
)

MAX_QUESTION_BYTES = 2**30
_LENGTH = struct.Struct("<Q")
"""Before every message: how many bytes it has."""


_zygote: socket.socket | None = None
"""The line to this worker's zygote, where there is one."""


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
