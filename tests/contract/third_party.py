"""Agents of a third party: one that behaves, and others that each break in their own way."""

import os
import signal
import time
from pathlib import Path

import numpy as np


class Good:
    """Plays the arms in turn, and notes in a file that it was made."""

    def __init__(self, problem, rng, pause=0.0, log=""):
        self.arms, self.pause, self.step = problem.n_actions, pause, 0
        if log:
            with Path(log).open("a") as file:
                file.write("made\n")

    def act(self, observation):
        time.sleep(self.pause)
        self.step += 1
        return self.step % self.arms

    def update(self, observation, action, reward):
        pass


class Raises(Good):
    def act(self, observation):
        raise RuntimeError("a bad day")


class Loops(Good):
    def update(self, observation, action, reward):
        while True:
            pass


class Exits(Good):
    def act(self, observation):
        os._exit(3)


class Killed(Good):
    """Its process is killed, as by another user or by the system."""

    def act(self, observation):
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60.0)
        return 0


class Eats(Good):
    def act(self, observation):
        self.eaten = np.ones(3 * 2**27)  # 3 GB
        return 0
