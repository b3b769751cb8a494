"""Agents under delay, and the study of what it costs."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from agents.registry import AgentSpec
from evaluation.running.delayed import play_delayed
from evaluation.running.play import play
from evaluation.studies.delay import study
from evaluation.studies.stamp import stamps_in
from periodic_envs import DelayedReward

LISTENER = """
class Listener:
    def __init__(self, problem, rng):
        self.heard = []
        self.asked = 0

    def act(self, observation):
        self.asked += 1
        return self.asked % 3

    def update(self, observation, action, reward):
        self.heard.append((self.asked, int(observation[0]), action, reward))
"""


@pytest.mark.parametrize("world", ["SyntheticDiscrete", "Synthetic"])
def test_without_delay_it_is_play(world: str) -> None:
    env = gym.make(f"PeriodicGP-{world}-v0", horizon=40)
    spec = AgentSpec.parse("gp-ucb")
    expected, found = play(env, spec, 1), play_delayed(DelayedReward(env), spec, 1)
    for name in ("t", "action", "reward", "regret"):
        assert np.array_equal(getattr(expected, name), getattr(found, name)), name


def test_agents_hear_of_each_reward_when_it_arrives(tmp_path: Path) -> None:
    file = tmp_path / "listener.py"
    file.write_text(LISTENER)
    env = DelayedReward(gym.make("PeriodicGP-SyntheticDiscrete-v0", horizon=30), delay=4)
    found = play_delayed(env, AgentSpec.parse(f"{file}:Listener"), 0)
    agent: Any = found.agent
    assert [(asked, t) for asked, t, *_ in agent.heard] == [(t + 5, t) for t in range(26)]
    assert [action for _, _, action, _ in agent.heard] == found.action[:26].tolist()
    assert [reward for *_, reward in agent.heard] == found.reward[4:].tolist()


def test_the_study_writes_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(study, "AGENTS", ("ucb1", "linucb"))
    study.main(["--docs", str(tmp_path), "--seeds", "0:2", "--workers", "0"])
    page = (tmp_path / "delay.md").read_text()
    assert page.count("| linucb |") == 2
    assert "20 % lost" in page
    (stamp,) = stamps_in(page)
    assert stamp.command == "python -m evaluation.studies.delay --docs docs --seeds 0:2"
    assert set(stamp.code["agents"]) == {"ucb1", "linucb"}
    assert capsys.readouterr().out.startswith("# Rewards that come late")
