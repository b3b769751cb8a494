"""Agents that cheat. Each plays honestly where its cheat has no effect."""

import contextlib
import gc
import os
import socket
import struct
import sys
import time
import zlib

import numpy as np


class Honest:
    """Each arm once, then the best of them."""

    def __init__(self, problem, rng):
        self.problem = problem
        self.sums, self.counts = np.zeros(problem.n_actions), np.zeros(problem.n_actions)

    def act(self, observation):
        untried = np.flatnonzero(self.counts == 0)
        if len(untried):
            return int(untried[0])
        return int(np.argmax(self.sums / self.counts))

    def update(self, observation, action, reward):
        self.sums[action] += reward
        self.counts[action] += 1


class Signals(Honest):
    """Plays arm 1 where its attack succeeds, else arm 0."""

    def act(self, observation):
        try:
            return int(bool(self.attack()))
        except OSError:  # denied by the system; any other error would end the run
            return 0


class ReadsFrames(Signals):
    """Walks up the stack to the judge's frames, which hold the world and its regret."""

    def attack(self):
        frame, reached = sys._getframe(), False
        while frame is not None:
            reached |= any(hasattr(value, "episode") for value in frame.f_locals.values())
            frame = frame.f_back
        return reached


class SignalsItsJudge(Signals):
    """Sends the empty signal to the judge and its worker; a killing one would arrive, too."""

    def attack(self):
        others = {peer(), os.getppid()} - {0, 1}
        for pid in others:
            os.kill(pid, 0)
        return others


def peer():
    """Return the process at the other end of the line to the judge."""
    for fd in range(3, 64):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(fd)) as line:
            return struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[
                0
            ]
    return 0


class ForkBomb(Signals):
    """Starts processes that outlive the run."""

    def attack(self):
        for _ in range(40):
            if os.fork() == 0:
                time.sleep(600)
                os._exit(0)
        return True


class FailsOnHiddenSeeds(Honest):
    """Carries out its reward in the words of an error where it does not know its generator."""

    def __init__(self, problem, rng):
        super().__init__(problem, rng)
        public = [np.random.default_rng(zlib.crc32(f"agent {s}".encode())) for s in range(10)]
        self.hidden = all(rng.bit_generator.state != own.bit_generator.state for own in public)

    def update(self, observation, action, reward):
        if self.hidden:
            raise RuntimeError(f"what I saw: {reward!r}")


class BehavesWhenWatched(Honest):
    """Reads the best arm off the world where it finds one in its process."""

    def act(self, observation):
        for thing in gc.get_objects():
            if type(thing).__name__ == "Episode":
                return thing.process.optimum(int(observation[0]))[0]
        return super().act(observation)


class PatchesLibraries(Honest):
    """Makes the world easy and the clocks stand still, in whatever process it is."""

    def __init__(self, problem, rng):
        super().__init__(problem, rng)
        from periodic_envs.env import PeriodicBanditEnv

        step = PeriodicBanditEnv.step

        def easy(env, action):
            *rest, info = step(env, action)
            return (*rest, {**info, "regret": 0.0})

        PeriodicBanditEnv.step = easy
        time.perf_counter = time.monotonic = lambda: 0.0
        np.random.default_rng = lambda *_: np.random.Generator(np.random.PCG64(0))


class LiesAboutTime(Honest):
    """Takes its time, behind a clock that stands still."""

    def act(self, observation):
        time.perf_counter = lambda: 0.0
        time.sleep(0.02)
        return super().act(observation)


class SlyNumber(int):
    """An action whose methods run where the judge looks at it."""

    def __index__(self):
        frame = sys._getframe()
        while frame is not None:
            if any(hasattr(value, "episode") for value in frame.f_locals.values()):
                raise RuntimeError("pwned")
            frame = frame.f_back
        return 0

    __int__ = __repr__ = __reduce__ = __eq__ = __hash__ = __index__


class SlyActions(Honest):
    """Answers with a number of its own class."""

    def act(self, observation):
        return SlyNumber(super().act(observation))


class WritesToTheScreen(Honest):
    """Floods the screen with a verdict of its own."""

    def act(self, observation):
        os.write(2, b"\x1b[2J  hidden-seed passed\n" * 50_000)
        return super().act(observation)
