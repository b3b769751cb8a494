"""Example of decisions without Gymnasium: ask for actions, report rewards, save and restore.

A kiosk chooses one of five displays every hour. The sales are known two hours later, and sometimes
not at all. Every night the agent is saved to a file, from which it is restored in the morning.
"""

import tempfile
from pathlib import Path

import numpy as np
from gymnasium import spaces

from agents import Problem, load, make_agent

problem = Problem(
    action_space=spaces.Discrete(5),
    observation_space=spaces.Box(0.0, np.inf, (1,), np.float64),
    periods=(24.0,),  # hours
)
rng = np.random.default_rng(0)
agent = make_agent("periodic-gp-ucb:time_length_scale=1", problem, rng)


def sales(display: int, hour: int) -> float:
    """Return the sales in an hour, or NaN if it is lost. The agent does not know this function."""
    mean = 20 + 8 * np.cos(2 * np.pi * (hour / 24 - display / 5))
    return float(rng.poisson(mean)) if rng.random() > 0.1 else float("nan")


total, late = [], []
with tempfile.TemporaryDirectory() as folder:
    for hour in range(24 * 30):
        observation = np.array([hour], dtype=np.float64)
        display = agent.act(observation)  # ask for a choice
        late.append((observation, display, sales(display, hour)))
        if len(late) > 2:
            agent.update(*late.pop(0))  # report the reward two hours late
        total.append(20 + 8 * np.cos(2 * np.pi * (hour / 24 - display / 5)))
        if hour % 24 == 23:
            agent.save(Path(folder) / "agent.safetensors")
            agent = load(Path(folder) / "agent.safetensors")

print(f"expected sales per hour, first week {np.mean(total[:168]):.1f}, ", end="")
print(f"last week {np.mean(total[-168:]):.1f}; a fixed display would sell 20.0")
