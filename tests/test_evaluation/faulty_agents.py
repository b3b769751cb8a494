"""Agents that fail, each in its own way, and one that works."""

import collections
import contextlib
import itertools
import os
import sys
import threading
import time
from pathlib import Path
from types import MappingProxyType

import numpy as np


class Good:
    """Always the first action."""

    def __init__(self, problem, rng, pause=0.0):
        self.problem, self.pause = problem, pause

    def act(self, observation):
        time.sleep(self.pause)
        return 0 if self.problem.n_actions is not None else np.zeros(self.problem.dim)

    def update(self, observation, action, reward):
        pass


class Raises(Good):
    def act(self, observation):
        raise RuntimeError("a bad day")


class RaisesInInit(Good):
    def __init__(self, problem, rng):
        raise RuntimeError("never born")


class Hangs(Good):
    def update(self, observation, action, reward):
        while True:
            time.sleep(0.01)


class HangsStubbornly(Good):
    """Suppresses every exception, also that of its time limit."""

    def act(self, observation):
        while True:
            with contextlib.suppress(BaseException):
                time.sleep(60.0)


class Eats(Good):
    def act(self, observation):
        self.eaten = [np.empty(10_000_000) for _ in range(1_000)]
        return 0


class Exits(Good):
    def act(self, observation):
        os._exit(3)


class ReturnsNaN(Good):
    def act(self, observation):
        return float("nan")


class WrongType(Good):
    def act(self, observation):
        return "left"


class DiesOnce(Good):
    """Its process ends the first time that it is run."""

    def __init__(self, problem, rng, marker):
        super().__init__(problem, rng)
        if not Path(marker).exists():
            Path(marker).touch()
            os._exit(9)


class Counts(Good):
    """Writes a line for every instance."""

    def __init__(self, problem, rng, log, pause=0.0):
        super().__init__(problem, rng, pause)
        with Path(log).open("a") as file:
            file.write(f"{os.getpid()}\n")


class HangsInC(Good):
    """Hangs in C code, which handles no signals."""

    def act(self, observation):
        collections.deque(itertools.count(), maxlen=0)


class Leaves(Good):
    """Ends the program."""

    def act(self, observation):
        sys.exit("enough")


class LeavesThread(Good):
    """Starts a thread that ends the process after the run."""

    def __init__(self, problem, rng):
        super().__init__(problem, rng)
        threading.Timer(0.5, os._exit, (1,)).start()


class RaisesUnprintable(Good):
    def act(self, observation):
        raise RuntimeError("bad \udcff \x1b[31m letters " + "x" * 10_000)


class Talks(Good):
    def act(self, observation):
        print("hello from the agent")
        os.write(1, b"and again")
        return super().act(observation)


class CountsThreads(Good):
    def act(self, observation):
        import threadpoolctl

        assert all(pool["num_threads"] == 1 for pool in threadpoolctl.threadpool_info())
        return super().act(observation)


class Learns(Good):
    """Learns which of its actions was best, in as many steps as it may."""

    @classmethod
    def train(cls, problem, envs, *, steps, rng, settings):
        envs.reset(seed=0)
        gained = np.zeros(problem.n_actions)
        for number in range(steps // envs.num_envs):
            action = number % problem.n_actions
            step = envs.step(np.full(envs.num_envs, action))
            assert set(step[4]) <= {"final_obs"}, "the judge's info is not for agents"
            gained[action] += step[1].sum()
        return {"best": np.array(gained.argmax()), "gained": gained}

    @classmethod
    def after_training(cls, problem, rng, learned, settings):
        agent = cls(problem, rng, **settings)
        agent.best = int(learned["best"])
        return agent

    def act(self, observation):
        return self.best


class Overspends(Learns):
    @classmethod
    def train(cls, problem, envs, *, steps, rng, settings):
        return super().train(problem, envs, steps=2 * steps, rng=rng, settings=settings)


class Returns(Good):
    """Returns state of a kind that is usually invalid."""

    states = MappingProxyType(
        {
            "list": [1.0],
            "objects": {"x": np.array([None])},
            "texts": {"x": np.array(["a"])},
            "names": {3: np.zeros(2)},
            "much": {"x": np.zeros(2**24)},
            "odd": {name: np.ones(3) for name in ("t", "file", "seconds", "regret")},
        }
    )

    def __init__(self, problem, rng, what):
        super().__init__(problem, rng)

    @classmethod
    def train(cls, problem, envs, *, steps, rng, settings):
        ready = {"x": np.zeros(1)} if Path(settings["what"]).exists() else "not yet"
        return cls.states.get(settings["what"], ready)

    @classmethod
    def after_training(cls, problem, rng, learned, settings):
        if settings["what"] == "odd":
            assert set(learned) == {"t", "file", "seconds", "regret"}, set(learned)
        return cls(problem, rng, **settings)


class Rambles(Good):
    """Writes noise to every open file."""

    def act(self, observation):
        for fd in range(3, 200):
            with contextlib.suppress(OSError):
                os.write(fd, b"\xff" * 64)
        return 0


class AnswersAhead(Good):
    """Sends actions before they are requested, to appear fast."""

    def act(self, observation):
        for fd in range(3, 200):
            with contextlib.suppress(OSError):
                os.write(fd, b'["action", 0, "x"]\n')
        return 0
