"""An agent of your own in 25 lines: remembers the mean reward of every (phase, arm).

periodic-gp play PeriodicGP-SyntheticDiscrete-v0 examples/custom_agent.py:EpsilonGreedy
periodic-gp play PeriodicGP-RideShare-v0 examples/custom_agent.py:EpsilonGreedy:epsilon=0.2
"""

import numpy as np


class EpsilonGreedy:
    """Mostly the best arm of this phase so far, sometimes any arm."""

    def __init__(self, problem, rng, epsilon=0.1):
        if problem.n_actions is None or problem.period is None:
            raise ValueError("epsilon-greedy needs finitely many actions and a known period")
        self.rng, self.epsilon, self.period = rng, epsilon, problem.period
        self.total, self.count = np.zeros((2, int(np.ceil(problem.period)), problem.n_actions))

    def act(self, observation):
        """Choose."""
        if self.rng.random() < self.epsilon:
            return int(self.rng.integers(self.total.shape[1]))
        phase = int(observation[0] % self.period)
        return int((self.total[phase] / np.maximum(self.count[phase], 1)).argmax())

    def update(self, observation, action, reward):
        """Learn."""
        if not np.isnan(reward):
            phase = int(observation[0] % self.period)
            self.total[phase, action] += reward
            self.count[phase, action] += 1
