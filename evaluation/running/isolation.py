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
import pickle
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Problem
from agents.registry import AgentSpec, find_class, is_built_in
from evaluation.running.zygote import new_agent, receive, send

MAX_ANSWER_BYTES = 2**20
"""An action is small."""


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
