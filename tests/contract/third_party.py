"""An agent of a third party."""

import time
from pathlib import Path


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
