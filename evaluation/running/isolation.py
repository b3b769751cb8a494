"""An agent in a process of its own, in which there is no world.

The judge talks with it through a socket: it sends observations and rewards, the agent answers
actions, in JSON. What the agent says is never unpickled, and the time it takes is measured by the
judge. The process is in a sandbox where the system has one (``sandbox.py``); elsewhere it is forked
from one that never knew a run (``zygote.py``), under the same user, which keeps an agent from the
harness's objects, but not from the machine.
"""

from __future__ import annotations

import json
import math
import pickle
import secrets
import socket
import time
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Problem
from agents.registry import AgentSpec
from evaluation import sandbox
from evaluation.running.agent_process import receive, send
from evaluation.running.decisions import Arrived
from evaluation.running.zygote import new_agent, preload_of

SANDBOX, PROCESS, NONE = "sandbox", "process", "none"
"""Kinds of isolation, the strongest first. With NONE, agents are in the judge's process."""
MAX_ANSWER_BYTES = 2**20
"""An action is small."""
ENDED = "the agent's process ended"


def strongest() -> str:
    """The best isolation that this system has."""
    return PROCESS if sandbox.available() is None else SANDBOX


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
        isolation: str = PROCESS,
        memory_mb: float = math.inf,
        cpu_seconds: float = math.inf,
    ) -> None:
        self.seconds: list[float] = []
        self._token = ""
        spec = sandbox.located(spec)
        self._line = (
            self._in_sandbox(spec) if isolation == SANDBOX else new_agent(preload_of(spec.name))
        )
        # The judge's own words may be pickled; the agent's may not.
        send(self._line, pickle.dumps((spec, problem, rng, learned, memory_mb, cpu_seconds)))
        self._answer()

    def _in_sandbox(self, spec: AgentSpec) -> socket.socket:
        line, process = sandbox.start(spec)
        weakref.finalize(self, process.kill)  # where the judge's process goes on
        return line

    def act(self, arrived: Arrived, observation: NDArray[np.float64] | None) -> Any:
        """Say what past decisions gave, and ask for the next one."""
        shown = None if observation is None else observation.tolist()
        # An answer must repeat what only the question says: it cannot be given ahead.
        self._token = secrets.token_hex(8)
        start = time.perf_counter()
        try:
            send(self._line, json.dumps([arrived, shown, self._token]).encode())
        except OSError:
            raise AgentFailedError(ENDED) from None
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
            raise AgentFailedError(ENDED) from None
        except Exception:
            raise AgentFailedError("the agent's process gave no answer to the question") from None
        if kind == "error":
            said = str(value)[:2000]
            # Words of ours are not for agents: these would be nobody's failure.
            forged = said.startswith(sandbox.DID_NOT_START)
            raise AgentFailedError(f"the agent says: {said}" if forged else said)
        if token != [self._token]:
            raise AgentFailedError("the agent's process spoke before it was asked")
        return value
