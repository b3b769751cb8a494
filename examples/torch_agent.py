"""Example of an actor-critic agent in a single file of plain PyTorch, in the style of CleanRL.

    periodic-gp play PeriodicGP-SyntheticDiscrete-v0 examples/torch_agent.py:ActorCritic:lr=0.01

The agent requires finitely many actions. After every few rewards, it takes one gradient step on
these rewards.
"""

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


def layers(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """Return a network with two hidden layers of 32 units."""
    stack = nn.Sequential(
        nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, outputs)
    )
    nn.init.orthogonal_(stack[-1].weight, gain)
    return stack


class ActorCritic:
    """Policy-gradient agent with a learned baseline."""

    def __init__(self, problem, rng, lr=0.01, every=8, entropy=0.01):
        if problem.n_actions is None:
            raise ValueError(
                f"ActorCritic requires finitely many actions, got {problem.action_space}"
            )
        space = problem.observation_space
        self.low, self.span = space.low, np.maximum(space.high - space.low, 1e-9)
        self.rng, self.every, self.entropy = rng, every, entropy
        with torch.random.fork_rng():  # the state of torch's global generator is restored
            torch.manual_seed(int(rng.integers(2**31)))
            self.actor = layers(space.shape[0], problem.n_actions, 0.01)
            self.critic = layers(space.shape[0], 1, 1.0)
        weights = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(weights, lr=lr)
        self.batch, self.seen = [], []

    def features(self, observation):
        """Return an observation as a tensor with entries scaled to [-1, 1]."""
        return torch.as_tensor(2 * (observation - self.low) / self.span - 1, dtype=torch.float32)

    def act(self, observation):
        """Return an action of the policy, drawn with the random generator of the agent."""
        with torch.no_grad():
            chances = torch.softmax(self.actor(self.features(observation)), -1).numpy()
        return int(self.rng.choice(len(chances), p=chances / chances.sum(dtype=np.float64)))

    def update(self, observation, action, reward):
        """Store a reward; take a gradient step when there are ``every`` rewards."""
        if not np.isfinite(reward):
            return
        self.seen.append(reward)
        self.batch.append((self.features(observation), action, reward))
        if len(self.batch) < self.every:
            return
        x, a, r = zip(*self.batch, strict=True)
        x, a = torch.stack(x), torch.tensor(a)
        r = (torch.tensor(r) - np.mean(self.seen)) / (np.std(self.seen) + 1e-8)
        policy, value = Categorical(logits=self.actor(x)), self.critic(x)[:, 0]
        gain = (policy.log_prob(a) * (r - value.detach())).mean()
        gain = gain + self.entropy * policy.entropy().mean()
        loss = ((value - r) ** 2).mean() - gain
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.batch = []
