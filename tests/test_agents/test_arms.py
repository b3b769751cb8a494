"""Everything that all agents of arms have in common."""

from dataclasses import replace

import numpy as np
import pytest

from agents.testing import example_problem, observe
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.arms.rewards import RewardScale
from tests.test_agents.playing import arms


class Diary(ArmAgent):
    """Chooses arm 0 and records the rewards that it learns from."""

    def start(self) -> None:
        self.learned: list[tuple[int, float, float]] = []

    def choose(self, t: float, observation: object) -> int:
        return 0

    def learn(self, arm: int, reward: float, t: float) -> None:
        self.learned.append((arm, reward, t))


def diary(kind: str, **settings: object) -> Diary:
    return Diary(example_problem(kind), np.random.default_rng(0), **settings)


def test_arm_agent_learns_from_past_and_late_rewards() -> None:
    agent = diary("warm")
    assert [row[0] for row in agent.learned] == [t % 5 for t in range(12)]
    agent.update(observe(20), 3, 1.0)
    agent.update(observe(20), 3, float("nan"))
    agent.update(observe(15), np.int64(2), np.float32(0.5))
    assert agent.learned[12:] == [(3, 1.0, 20.0), (2, 0.5, 15.0)]


def test_arm_agent_divides_a_box_into_points() -> None:
    agent = diary("box", box_arms=5)
    agent.update(observe(0), np.array([0.6]), 1.0)
    assert (agent.n_arms, agent.learned, agent.act(observe(0))) == (5, [(3, 1.0, 0.0)], -1.0)


def test_arm_agent_breaks_ties_evenly() -> None:
    """Each of three arms has 1/3: 300 draws stray further than this in 1 of 1000 seeds."""
    agent = diary("arms")
    for values in ([1.0, 0.0, 1.0, 1.0], np.array([1.0, 0.0, 1.0, 1.0])):
        drawn = np.bincount([agent.best_of(values) for _ in range(300)], minlength=4)
        assert drawn[1] == 0
        assert (np.abs(drawn[[0, 2, 3]] - 100) < 30).all()


def test_reward_scale_uses_what_the_problem_says() -> None:
    problem = replace(example_problem("arms"), reward_scale=(10.0, 0.3), noise_std=0.4)
    scale = RewardScale(problem)
    assert (scale.sigma, scale.width, scale.interval) == (0.4, 0.8, pytest.approx((9.0, 11.0)))
    assert [scale.unit(y) for y in (0.0, 10.5, 99.0)] == pytest.approx([0.0, 0.75, 1.0])
    assert RewardScale(problem, 3.0).sigma == 3.0


@pytest.mark.parametrize("noise_std", [None, 0.0])
def test_reward_scale_is_learned(noise_std: float | None) -> None:
    scale = RewardScale(arms(5, noise_std=noise_std))
    assert (scale.sigma, scale.unit(7.0), scale.settled) == (0.0, 0.5, False)
    rewards = 1e6 + np.random.default_rng(0).normal(0, 2.0, 50)
    for reward in rewards:
        scale.observe(float(reward))
    assert scale.sigma == pytest.approx(rewards.std(), rel=1e-9)
    assert (scale.settled, scale.known) == (True, False)
    assert [scale.unit(y) for y in (rewards.min(), rewards.max())] == [0.0, 1.0]
