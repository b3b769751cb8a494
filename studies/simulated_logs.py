"""Logs of known policies in worlds of this suite, drawn in bulk from the tables of the worlds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from periodic_decisions.logs.log import DecisionLog, Integers
from periodic_decisions.tables.series import TimeGrid
from periodic_envs.arrays import Array
from periodic_envs.process import FiniteProcess
from periodic_envs.worlds.ride_share import RideShare
from periodic_envs.worlds.stationary import Stationary
from periodic_envs.worlds.synthetic_discrete import SyntheticDiscrete

SEASONS = 40
"""Whole seasons in each log."""
MORE = 4
"""How many times as many there are in a long log."""
EPSILON = 0.3
"""Share of the decisions that a policy which prefers an arm makes at random."""
PLAN_PARTS = 4
"""Parts of a season in each of which a logging schedule keeps to one arm."""


@dataclass(frozen=True)
class Setting:
    """A world to draw logs in.

    Attributes:
        title: What the page calls it.
        env_id: Id of the world.
        world: The world itself.
        poisson: Whether rewards are counts; else they have Gaussian noise of deviation 1.
        day_deviation: Deviation of a level that all arms share within a season, drawn for
            each: good days and bad days.
        seasons: Whole seasons in each log.
    """

    title: str
    env_id: str
    world: Stationary | SyntheticDiscrete | RideShare
    poisson: bool = False
    day_deviation: float = 0.0
    seasons: int = SEASONS


_SEASONAL = "PeriodicGP-SyntheticDiscrete-v0"
_FIVE = SyntheticDiscrete(n_actions=5)
SETTINGS = {
    "stationary": Setting(
        "Stationary, 5 arms", "PeriodicGP-Stationary-v0", Stationary(n_actions=5)
    ),
    "seasonal": Setting("Seasonal, 5 arms", _SEASONAL, _FIVE),
    "days": Setting("Seasonal, 5 arms, good and bad days", _SEASONAL, _FIVE, day_deviation=1.0),
    "rides": Setting("Ride share, 12 arms", "PeriodicGP-RideShare-v0", RideShare(), poisson=True),
}
LONG = {
    f"{name}, long": replace(SETTINGS[name], seasons=MORE * SEASONS)
    for name in ("seasonal", "rides")
}
"""The same with longer logs, to see whether what is wrong goes away with them."""
LOGGING = {
    "uniform": "uniform",
    "epsilon-greedy": f"epsilon-greedy, epsilon {EPSILON:g}",
    "schedule": f"a schedule, {EPSILON:.0%} at random",
}


@dataclass(frozen=True, eq=False)
class Simulated:
    """Logs of one policy, each in a separate world, with values that are unknown in practice.

    Attributes:
        period: Of the worlds.
        means: Mean reward of each arm at each step, good and bad days left out; shape
            (logs, steps, arms).
        arm: What was chosen, shape (logs, steps).
        reward: What it brought, shape (logs, steps).
        probability: With what probability it was chosen, shape (logs, steps).
    """

    period: float
    means: Array
    arm: Integers
    reward: Array
    probability: Array

    def log(self, number: int) -> DecisionLog:
        """Return one of the logs, as it would be read from a file."""
        steps, arms = self.means.shape[1:]
        return DecisionLog(
            source=f"log {number}",
            grid=TimeGrid(0.0, 1.0),
            names=tuple(f"arm {i}" for i in range(arms)),
            step=np.arange(steps),
            arm=self.arm[number],
            reward=self.reward[number],
            probability=self.probability[number],
        )


def simulate(setting: Setting, logging: str, logs: int, seed: int) -> Simulated:
    """Draw worlds, and a log of one policy in each.

    Args:
        setting: The world.
        logging: The policy, of ``LOGGING``.
        logs: How many.
        seed: Of everything random.
    """
    rng = np.random.default_rng([seed, list(LOGGING).index(logging), *setting.title.encode()])
    period = float(setting.world.public.periods[0])
    steps = round(period * setting.seasons)
    processes = [setting.world.draw(rng, steps) for _ in range(logs)]
    means = np.stack([_table(process) for process in processes])
    rewards = _rewards(setting, means, period, rng)
    plan = _plan(means.shape, period, rng)
    uniform = rng.random((logs, steps))
    arms = means.shape[2]
    preferred = plan if logging == "schedule" else np.full((logs, steps), -1)
    epsilon = 1.0 if logging == "uniform" else EPSILON
    sums, counts = np.zeros((logs, arms)), np.zeros((logs, arms))
    every = np.arange(logs)
    arm = np.zeros((logs, steps), dtype=np.intp)
    for t in range(steps):
        if logging == "epsilon-greedy":
            preferred[:, t] = (sums / np.maximum(counts, 1.0)).argmax(1)
        # One uniform number decides both whether to explore and where.
        explored = np.minimum((uniform[:, t] / epsilon * arms).astype(np.intp), arms - 1)
        arm[:, t] = np.where(uniform[:, t] < epsilon, explored, preferred[:, t])
        sums[every, arm[:, t]] += rewards[every, t, arm[:, t]]
        counts[every, arm[:, t]] += 1.0
    probability = epsilon / arms + (1.0 - epsilon) * (arm == preferred)
    reward = np.take_along_axis(rewards, arm[:, :, None], axis=2)[:, :, 0]
    return Simulated(period, means, arm, reward, probability)


def _table(process: Any) -> Array:
    assert isinstance(process, FiniteProcess)
    return np.asarray(process.values[process.rows])


def _rewards(setting: Setting, means: Array, period: float, rng: np.random.Generator) -> Array:
    """Return the reward of every arm at every step, whichever is chosen."""
    if setting.poisson:
        return rng.poisson(means).astype(np.float64)
    logs, steps = means.shape[:2]
    season = (np.arange(steps) // period).astype(np.intp)
    days = setting.day_deviation * rng.standard_normal((logs, setting.seasons))
    return np.asarray(means + rng.standard_normal(means.shape) + days[:, season, None])


def _plan(shape: tuple[int, ...], period: float, rng: np.random.Generator) -> Integers:
    """Return a random arm for each part of the season and log, shape (logs, steps)."""
    logs, steps, arms = shape
    parts = rng.integers(0, arms, (logs, PLAN_PARTS))
    part = (np.arange(steps) % period / period * PLAN_PARTS).astype(np.intp)
    return np.asarray(parts[:, part])
