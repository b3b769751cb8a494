"""The agent's side of isolation: a process that has an agent and no world.

It reads what the judge sends, asks the agent, and answers in JSON. It knows neither the world nor
its seed. Whether it was forked from a zygote or started in a sandbox makes no difference here.
"""

from __future__ import annotations

import json
import os
import pickle
import socket
import struct
import sys

import numpy as np
from threadpoolctl import threadpool_limits

from agents.base import Agent
from agents.registry import is_built_in
from evaluation.running.actions import plain
from evaluation.running.decisions import Decisions
from evaluation.running.process import limit_for_good, limit_threads, worded

MAX_QUESTION_BYTES = 2**30
STARTED = b'["started",null,""]'
"""Said before the agent's code is touched: whatever goes wrong later is the agent's."""
_LENGTH = struct.Struct("<Q")
"""Before every message: how many bytes it has."""


def main(number: int) -> None:
    """Be an agent's process in a sandbox.

    Args:
        number: The open file that is the line to the judge.
    """
    line = socket.socket(fileno=number)
    say_nothing()
    limit_threads()
    send(line, STARTED)
    serve(line)


def say_nothing() -> None:
    """What an agent prints is not shown: it could forge the judge's words on the screen."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)


def serve(line: socket.socket, *, from_source: bool = False) -> None:
    """Make the agent, answer the judge's questions until the judge hangs up, and end.

    Args:
        line: To the judge.
        from_source: Whether compiled code is to be left alone, which nobody has hashed.
    """
    try:
        # The judge's own words may be pickled; the agent's may not.
        spec, problem, rng, learned, memory_mb, cpu_seconds = pickle.loads(_heard(line))
        limit_for_good(cpu_seconds, memory_mb)
        if from_source and not is_built_in(spec.name):
            sys.pycache_prefix, sys.dont_write_bytecode = os.devnull, True
        with threadpool_limits(1):
            _answer_all(line, spec.make(problem, rng, learned))
    except _HungUpError:
        pass
    except BaseException as error:  # an agent can fail in any way, sys.exit() included
        memory = isinstance(error, MemoryError)
        reason = "the agent took more memory than it may" if memory else worded(error)
        send(line, json.dumps(["error", reason]).encode())
    finally:
        os._exit(0)


def _answer_all(line: socket.socket, agent: Agent) -> None:
    send(line, b'["ready",null,""]')
    decisions = Decisions()
    while True:
        arrived, shown, token = json.loads(_heard(line))
        decisions.tell(agent, arrived)
        observation = None if shown is None else np.array(shown)
        action = None if observation is None else agent.act(observation)
        decisions.add(observation, action)
        answer = plain(action)
        array = isinstance(answer, np.ndarray)
        said = ["array", answer.tolist(), token] if array else ["value", answer, token]
        send(line, json.dumps(said).encode())


class _HungUpError(BaseException):
    """The judge has hung up. Not an Exception, lest an agent's own be taken for it."""


def _heard(line: socket.socket) -> bytes:
    try:
        return receive(line, MAX_QUESTION_BYTES)
    except (EOFError, OSError):
        raise _HungUpError from None


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
