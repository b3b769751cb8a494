"""Agents that do what agents must not, and one that behaves."""

import collections
import contextlib
import gc
import inspect
import io
import itertools
import os
import sys
import time
from pathlib import Path

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


class RaisesAtBirth(Good):
    def __init__(self, problem, rng):
        raise RuntimeError("never born")


class Hangs(Good):
    def update(self, observation, action, reward):
        while True:
            time.sleep(0.01)


class HangsStubbornly(Good):
    """Not even the end of its time stops it."""

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


class WrongShape(Good):
    def act(self, observation):
        return np.zeros(7)


class WrongType(Good):
    def act(self, observation):
        return "left"


class DiesOnce(Good):
    """Kills its process the first time it is run: as somebody from outside might."""

    def __init__(self, problem, rng, marker):
        super().__init__(problem, rng)
        if not Path(marker).exists():
            Path(marker).touch()
            os._exit(9)


class Counts(Good):
    """Writes a line for every life it starts."""

    def __init__(self, problem, rng, log, pause=0.0):
        super().__init__(problem, rng, pause)
        with Path(log).open("a") as file:
            file.write(f"{os.getpid()}\n")


class HangsInC(Good):
    """No signal is looked at while C code runs."""

    def act(self, observation):
        collections.deque(itertools.count(), maxlen=0)


class Leaves(Good):
    """Ends the program."""

    def act(self, observation):
        sys.exit("enough")


class SaysTheUnspeakable(Good):
    def act(self, observation):
        raise RuntimeError("bad \udcff \x1b[31m letters " + "x" * 10_000)


class Spoils(Good):
    """Makes the world easy for everybody who comes after it in the same process."""

    def act(self, observation):
        from periodic_envs.env import PeriodicBanditEnv

        step = PeriodicBanditEnv.step

        def easy(env, action):
            *rest, info = step(env, action)
            return (*rest, {**info, "regret": 0.0})

        PeriodicBanditEnv.step = easy
        return super().act(observation)


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


class SlyInteger(int):
    """Its methods look around wherever they are called."""

    spy = None

    def __index__(self):
        self.spy._look()
        return 0

    def __repr__(self):
        self.spy._look()
        return "0"

    __int__ = __hash__ = __index__


class SlyArray(np.ndarray):
    spy = None

    def copy(self, *_):
        SlyArray.spy._look()
        return np.zeros(1)

    def __repr__(self):
        SlyArray.spy._look()
        return "x"

    __array_wrap__ = __float__ = copy


class Spy(Good):
    """Looks for the world and its regret wherever an agent is likely to look."""

    def __init__(self, problem, rng):
        super().__init__(problem, rng)
        self.found = set()
        self._look(problem, rng)

    def act(self, observation):
        self._look(observation)
        return super().act(observation)

    def update(self, observation, action, reward):
        self._look(observation, action, reward)

    def _look(self, *arguments):
        things = [(f"argument {type(a).__name__}", a) for a in arguments]
        frame = sys._getframe(1)
        while frame is not None:
            name = frame.f_code.co_name
            things += [(f"{name}.{k}", v) for k, v in frame.f_locals.items() if v is not self]
            things += [(f"global {k}", v) for k, v in frame.f_globals.items()]
            frame = frame.f_back
        for info in inspect.stack():
            things += [(f"stack {k}", v) for k, v in info.frame.f_locals.items()]
        self.found |= {name for name, thing in things if knows_too_much(thing)}


class SlySpy(Spy):
    """Hands out actions whose methods look around."""

    def act(self, observation):
        if self.problem.n_actions is not None:
            SlyInteger.spy = self
            return SlyInteger(0)
        SlyArray.spy = self
        return np.zeros(self.problem.dim).view(SlyArray)


class SlyFailure(SlySpy):
    """The same, with an action that no world takes."""

    def act(self, observation):
        SlyArray.spy = self
        return np.zeros(9).view(SlyArray)


def knows_too_much(thing, depth=3):
    """Whether regret, the optimum or the world can be reached from here."""
    if isinstance(thing, dict):
        return "regret" in thing or (depth > 0 and any(_deeper(v, depth) for v in thing.values()))
    if hasattr(thing, "episode") or (hasattr(thing, "optimum") and not inspect.isclass(thing)):
        return True
    if inspect.ismodule(thing) or inspect.isclass(thing) or inspect.isroutine(thing):
        return False
    return depth > 0 and any(_deeper(v, depth) for v in getattr(thing, "__dict__", {}).values())


def _deeper(value, depth):
    return not isinstance(value, np.ndarray) and knows_too_much(value, depth - 1)


class DeterminedSpy(Good):
    """What is not prevented, as the documentation says: searching all objects of the process."""

    found = False

    def act(self, observation):
        type(self).found |= any(type(o).__name__ == "Episode" for o in gc.get_objects())
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
    """What it learns is not always fit to be kept."""

    def __init__(self, problem, rng, what):
        super().__init__(problem, rng)

    @classmethod
    def train(cls, problem, envs, *, steps, rng, settings):
        what = settings["what"]
        odd = {"t": np.array(1.0), "file": np.zeros(2), "seconds": np.ones(1), "regret": np.ones(3)}
        bad = {
            "list": [1.0],
            "objects": {"x": np.array([None])},
            "texts": {"x": np.array(["a"])},
            "names": {3: np.zeros(2)},
            "much": {"x": np.zeros(2**24)},
            "odd": odd,
        }
        if what in bad:
            return bad[what]
        return {"x": np.zeros(1)} if Path(what).exists() else "not yet"

    @classmethod
    def after_training(cls, problem, rng, learned, settings):
        if settings["what"] == "odd":
            assert set(learned) == {"t", "file", "seconds", "regret"}, set(learned)
        return cls(problem, rng, **settings)


class SearchesMemory(Good):
    """Says 1 where any object in its process is a world, a seed of a run or a judge's record."""

    def act(self, observation):
        wanted = {"PeriodicBanditEnv", "Episode", "Run"}
        return int(any(type(thing).__name__ in wanted for thing in gc.get_objects()))


class SearchesFiles(Good):
    """Says how many lines to other processes it holds, but for its own three and the judge's."""

    def act(self, observation):
        links = [os.readlink(f"/proc/self/fd/{fd}") for fd in range(3, 200) if is_open(fd)]
        return len([link for link in links if link.startswith(("socket", "pipe"))]) - 1


def is_open(fd):
    with contextlib.suppress(OSError):
        os.fstat(fd)
        return True
    return False


class Rambles(Good):
    """Writes into the judge's ear."""

    def act(self, observation):
        for fd in range(3, 200):
            with contextlib.suppress(OSError):
                os.write(fd, b"\xff" * 64)
        return 0


class FailsUntil(Good):
    """Until a file is there."""

    def __init__(self, problem, rng, marker):
        super().__init__(problem, rng)
        if not Path(marker).exists():
            raise RuntimeError("not yet")


class AnswersAhead(Good):
    """Says the next actions before it is asked, to look quick."""

    def act(self, observation):
        for fd in range(3, 200):
            with contextlib.suppress(OSError):
                os.write(fd, b"\x0b" + b"\0" * 7 + b'["value",0]')
        return 0


class LeavesSomebody(Good):
    """Starts a process that outlives it."""

    def __init__(self, problem, rng, log):
        super().__init__(problem, rng)
        child = os.fork()
        if child == 0:
            if os.fork() == 0:
                Path(log).write_text(str(os.getpid()))
                time.sleep(600)
            os._exit(0)
        os.waitpid(child, 0)


class Forges(Good):
    """Puts something else in the place of the record of its run."""

    def __init__(self, problem, rng, what):
        super().__init__(problem, rng)
        from evaluation.running import worker

        steps = 3
        forged = {
            "text": {"reward": np.full(steps, "much")},
            "endless": {"regret": np.full(steps, np.nan)},
            "more": {"more": np.zeros(steps)},
            "less": {},
        }

        def pack(columns):
            if what == "junk":
                return b"junk"
            columns = {**columns, **forged[what]}
            if what == "less":
                del columns["regret"]
            file = io.BytesIO()
            np.savez_compressed(file, **columns)
            return file.getvalue()

        worker.pack = pack


class LiftsItsLimits(Good):
    """Raises its limit of memory, then takes more than it was given."""

    def act(self, observation):
        import resource

        endless = (resource.RLIM_INFINITY,) * 2
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, endless)
        self.eaten = np.ones(2**27)  # 1 GB
        return 0


class Chatters(Good):
    """Prints without end."""

    def act(self, observation):
        print("so much to say " * 100_000, flush=True)
        return super().act(observation)
