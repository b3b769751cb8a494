"""An agent on a stack of its own.

The judge's frames hold the world and its regret. Were the agent called from them, it could read
them through ``sys._getframe().f_back``. So it runs in a greenlet: its outermost frame is ``_serve``
below, which knows observations, actions and rewards and nothing else.

What this does not prevent: an agent in the same process that searches the garbage collector, the
greenlet's parent or the memory will find what it looks for. Results that matter are checked by
re-running the agent in a process without the world.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet
from numpy.typing import NDArray

from agents.base import Agent, Problem
from agents.registry import AgentSpec
from evaluation.running.actions import plain
from evaluation.running.decisions import Arrived, Decisions


class AgentChannel:
    """An agent that is asked through a narrow door: one switch of stacks per step.

    Attributes:
        agent: For pictures, once the run is over.
        seconds: What the agent took for each decision and what it learned from it.
    """

    def __init__(
        self,
        spec: AgentSpec,
        problem: Problem,
        rng: np.random.Generator,
        learned: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self._stack = greenlet(_serve)
        self.seconds: list[float] = []
        self.agent: Agent = self._stack.switch(spec, problem, rng, learned)

    def act(self, arrived: Arrived, observation: NDArray[np.float64] | None) -> Any:
        """Say what past decisions gave, and ask for the next one.

        Without an observation there is no next one: the run is over.
        """
        action, learning, thinking = self._stack.switch(arrived, observation)
        if self.seconds:
            self.seconds[-1] += learning
        if observation is not None:
            self.seconds.append(thinking)
        return action


def _serve(
    spec: AgentSpec,
    problem: Problem,
    rng: np.random.Generator,
    learned: Mapping[str, NDArray[Any]] | None,
) -> None:
    """The agent's side. The judge is never named here, lest the agent find it in this frame."""
    clock = time.perf_counter
    agent = spec.make(problem, rng, learned)
    arrived, observation = getcurrent().parent.switch(agent)
    decisions = Decisions()
    while True:
        start = clock()
        decisions.tell(agent, arrived)
        middle = clock()
        action = agent.act(observation) if observation is not None else None
        decisions.add(observation, action)
        answer = plain(action)
        times = (middle - start, clock() - middle)
        arrived, observation = getcurrent().parent.switch((answer, *times))
