"""Example of an agent in 36 lines, which stores the mean reward of every arm in every phase.

periodic-gp play PeriodicGP-SyntheticDiscrete-v0 examples/custom_agent.py:EpsilonGreedy
periodic-gp play PeriodicGP-RideShare-v0 examples/custom_agent.py:EpsilonGreedy:epsilon=0.2
periodic-gp submit examples/custom_agent.py:EpsilonGreedy --protocol smoke
"""

import numpy as np


class EpsilonGreedy:
    """Epsilon-greedy agent with a mean per phase and arm; in a box, arms are 20 random points."""

    def __init__(self, problem, rng, epsilon=0.1):
        self.rng, self.epsilon, self.period = rng, epsilon, problem.period or 1.0
        finite = problem.n_actions is not None
        self.points = None if finite else np.float32(rng.uniform(-1.0, 1.0, (20, problem.dim)))
        arms = problem.n_actions if finite else len(self.points)
        self.total, self.count = np.zeros((2, int(np.ceil(self.period)), arms))

    def act(self, observation):
        """Return the best arm of the current phase so far, or sometimes a random arm."""
        phase = int(observation[0] % self.period)
        arm = int((self.total[phase] / np.maximum(self.count[phase], 1)).argmax())
        if self.rng.random() < self.epsilon:
            arm = int(self.rng.integers(self.total.shape[1]))
        return arm if self.points is None else self.points[arm].copy()

    def update(self, observation, action, reward):
        """Add a reward to the mean of its phase and arm; ignore a missing reward (NaN)."""
        if not np.isnan(reward):
            known = self.points is None
            arm = action if known else np.abs(self.points - action).sum(axis=1).argmin()
            phase = int(observation[0] % self.period)
            self.total[phase, arm] += reward
            self.count[phase, arm] += 1
