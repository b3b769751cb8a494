"""Decisions of agents in a few worlds, as ``{agent: {world: actions}}`` in JSON on stdout.

    python -m tests.contract.trajectories STEP

Agents are saved and loaded before a step, or never if STEP is null.

It is run in a process of its own, with the kernel of BLAS that the figures were recorded with.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import agents
import periodic_envs
from tests.contract.conftest import ROOT, numeric_environment, plain, problem_of

STEPS = 60
LATE = "SyntheticDiscrete, late"
"""Every reward arrives three steps late, and every seventh is lost."""
WORLDS = (
    "SyntheticDiscrete",
    "Synthetic",
    "Contextual",
    "HiddenPeriod",
    "Shift",
    "RideShare",
    "MadridSim",  # the one with a warm start
    LATE,
)
TRAINED = {"a2c", "dqn", "in-context-ucb", "ppo", "recurrent-ppo", "sac", "td3"}
"""Agents with networks, which have tests of their own."""
REFUSED = "refused"


def online_names() -> list[str]:
    """The registered agents of this package that the contract covers."""
    return [
        name
        for name, place in agents.names().items()
        if place.startswith("agents.") and name not in TRAINED
    ]


def compute(save_at: int | None) -> dict[str, Any]:
    """The decisions, computed in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.trajectories", json.dumps(save_at)],
        cwd=ROOT,
        env=numeric_environment(),
        stdout=subprocess.PIPE,
        timeout=600,
        check=True,
    )
    return dict(json.loads(done.stdout))


def trajectory(name: str, world: str, folder: Path, save_at: int | None) -> Any:
    """The actions of one agent, which is saved and loaded in the middle if wanted."""
    late = world == LATE
    env_id = f"PeriodicGP-{world.partition(',')[0]}-v0"
    env = gym.make(env_id, horizon=STEPS)
    observation, info = env.reset(seed=1)
    try:
        agent: Any = agents.make_agent(name, problem_of(env, info), np.random.default_rng(5))
    except ValueError:
        return REFUSED
    actions, pending = [], []
    for step in range(STEPS):
        if step == save_at:
            agent.save(folder / "agent")
            agent = agents.load(folder / "agent")
        action = agent.act(observation)
        actions.append(plain(action))
        following, reward, *_ = env.step(action)
        lost = late and step % 7 == 6
        pending.append(partial(_update, observation, action, np.nan if lost else float(reward)))
        if len(pending) > (3 if late else 0):
            pending.pop(0)(agent)
        observation = following
    return actions


def _update(observation: Any, action: Any, reward: float, agent: Any) -> None:
    agent.update(observation, action, reward)


def main() -> None:
    """Print the decisions of all agents."""
    save_at = json.loads(sys.argv[1])
    assert "PeriodicGP-Synthetic-v0" in periodic_envs.ids()
    with tempfile.TemporaryDirectory() as folder:
        decisions = {
            name: {world: trajectory(name, world, Path(folder), save_at) for world in WORLDS}
            for name in online_names()
        }
    json.dump(decisions, sys.stdout)


if __name__ == "__main__":
    main()
